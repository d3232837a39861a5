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
#: What one recorded operator or call adds to the time of the thread that makes it under torch.profiler, usually and at
#: most: 1.8 to 5.8 us, median 2.5, on eleven jobs on one H200 that wait for dispatching (bench/RESULTS.md), 2.0 on the
#: one with the most launches. It made up half of the dispatching time at most, and is taken for no more.
RECORD_NS = 2_000
RECORD_MOST_NS = 4_000


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
        least = goes
        if cause == "launch":
            records = records_in(attribution, idle)
            slower, slowest = min(records * RECORD_NS, goes // 2), min(records * RECORD_MOST_NS, 3 * goes // 4)
            goes, least = goes - slower, goes - slowest
        out[cause] = Gain(best=waited + goes, low=(waited if hosted else 0) + least, high=high)
    return out


def records_in(attribution: Attribution, spans: Spans) -> int:
    """How many operators and calls were recorded in some time; each made it longer than it is without the profiler."""
    timeline = attribution.timeline
    rows = timeline.rows(Kind.OPERATOR, Kind.CALL)
    return int(np.count_nonzero(holds(spans, timeline.start_ns[rows])))
