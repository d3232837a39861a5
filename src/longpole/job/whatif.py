"""How much of the window would go if one cause were infinitely fast and all else as it is.

For what the device was charged with, that is not the charge: while a kernel runs the host hands over the next ones,
and that work stays. What goes is the time the host waits for the device, as far as this cause's own work is in the
same unbroken run of device work. For what the host was charged with (the device idle), it is the charge less the time
in which another feeding thread was at work.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from longpole.job.attribution import Attribution
from longpole.timeline.columns import Kind
from longpole.timeline.intervals import Spans, holds, intersect, join, overlap, subtract, union

#: Device work with shorter gaps than this is one run: the queue is not empty, the device only changes kernels.
RUN_GAP_NS = 20_000
#: What one recorded operator, call or kernel adds to the time of the thread that makes it, at least: 15 ms more a step
#: of 3,000 launches on an H200 (three records a launch) under torch.profiler.
RECORD_NS = 1_600


class Gain(NamedTuple):
    """What the window loses if the cause goes, in ns: the best estimate and its bounds."""

    best: int
    low: int
    high: int


def gains_of(
    attribution: Attribution, charged: Mapping[str, Spans], able: Mapping[str, Spans] | None = None
) -> dict[str, Gain]:
    """The gain of every cause in `charged`; of the causes in `able`, only that part of the time can go at all."""
    device = attribution.device
    busy = join([device.kernels, device.collectives, device.copies])
    runs = union(busy.start, busy.end + RUN_GAP_NS)
    blocked = overlap(attribution.host.blocked, runs.start, runs.end)
    hosted = attribution.host.feeding.any()  # without host events nobody knows what the device waits for
    beneath = {
        "gpu.compute": join([device.collectives, device.copies]),
        **dict.fromkeys(("network", "network.collective", "network.imbalance"), device.copies),
    }
    out = {}
    for cause, whole in charged.items():
        spans = intersect(whole, able[cause]) if able and cause in able else whole
        working = intersect(spans, busy)
        alone = subtract(working, beneath[cause]) if cause in beneath else working
        mine = overlap(alone, runs.start, runs.end)
        waited = int((np.minimum(mine, blocked) if hosted else mine).sum())
        idle = subtract(spans, busy)
        goes = idle.total - intersect(idle, attribution.host.elsewhere).total
        high = max(alone.total, waited) + goes
        if cause == "launch":
            goes = max(goes - slowed(attribution, idle), 0)
        out[cause] = Gain(best=waited + goes, low=(waited if hosted else 0) + goes, high=high)
    return out


def slowed(attribution: Attribution, spans: Spans) -> int:
    """How much of some dispatching time the profiler's own records make up, in ns, at least; an estimate."""
    timeline = attribution.timeline
    rows = timeline.rows(Kind.OPERATOR, Kind.CALL)
    return int(np.count_nonzero(holds(spans, timeline.start_ns[rows]))) * RECORD_NS
