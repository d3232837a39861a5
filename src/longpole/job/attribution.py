"""Charge every nanosecond of one rank's window to exactly one cause.

Device work comes first (kernels, then collectives, then copies, so that hidden communication costs nothing); what is
left is idle time of the device, and is explained by what the threads that feed it were doing. `LAYERS` is the whole
rule: the first layer that covers a nanosecond is charged, and what no layer covers is `unknown`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from longpole.job import activities, host
from longpole.job.activities import Call, Calls
from longpole.job.checkpoints import Saves, saves_of
from longpole.job.host import Host
from longpole.job.steps import Steps, marks_of, paced, steps_of
from longpole.timeline.columns import I64, Kind, Timeline, partners
from longpole.timeline.intervals import NONE, Spans, Strip, among, join, paint, subtract, union

#: A wait for the device that goes on while nothing is seen to run on it is a round trip if it is short; if it is long,
#: something ran that was not recorded.
ROUND_TRIP_NS = 1_000_000
#: At the edges of a trace some launches have their kernel outside; if more of them do, kernels were not recorded.
LOST_SHARE = 0.05


class Device(NamedTuple):
    """The device's work as sets of time; `hidden` is when something ran that was not recorded.

    `work` are the rows of all of it, `talk` those of the collectives: kernels, or on a job without a device the
    ranges of the CPU's.
    """

    kernels: Spans
    collectives: Spans
    copies: Spans
    hidden: Spans
    busy: Spans
    first_ns: int
    work: I64
    talk: I64


@dataclass(frozen=True)
class Attribution:
    """One rank's window, painted: `causes[strip.label[i]]` is charged with piece i."""

    timeline: Timeline
    start_ns: int
    end_ns: int
    strip: Strip
    causes: tuple[str, ...]
    device: Device
    host: Host
    saves: Saves
    steps: Steps

    @property
    def window_ns(self) -> int:
        """The length of the window."""
        return self.end_ns - self.start_ns

    @cached_property
    def charged(self) -> dict[str, Spans]:
        """The set of time charged to each cause; the sets share nothing and cover the window."""
        names = list(dict.fromkeys(self.causes))
        merged = np.array([names.index(cause) for cause in self.causes])[self.strip.label]
        order = np.argsort(merged, kind="stable")
        first = np.searchsorted(merged[order], np.arange(len(names) + 1))
        pieces = {name: order[first[i] : first[i + 1]] for i, name in enumerate(names)}
        return {name: union(self.strip.edge[at], self.strip.edge[at + 1]) for name, at in pieces.items() if len(at)}

    def spans(self, cause: str) -> Spans:
        """The set of time charged to a cause."""
        return self.charged.get(cause, NONE)


class Layer(NamedTuple):
    """What a cause is charged for: a set of time, computed from what was seen."""

    cause: str
    covers: Callable[[Device, Host, Saves], Spans]


#: The order is the rule. Device work first, then the measuring, then what the feeding threads were in.
LAYERS: tuple[Layer, ...] = (
    Layer("gpu.compute", lambda d, h, s: d.kernels),
    Layer("network", lambda d, h, s: d.collectives),
    Layer("checkpoint", lambda d, h, s: s.copies),
    Layer("copy", lambda d, h, s: d.copies),
    Layer("profiler", lambda d, h, s: h.overhead),
    Layer("unknown", lambda d, h, s: d.hidden),
    Layer("input", lambda d, h, s: h.input),
    Layer("checkpoint", lambda d, h, s: s.spans),
    Layer("network", lambda d, h, s: h.collective),
    Layer("startup", lambda d, h, s: h.startup),
    Layer("alloc", lambda d, h, s: h.alloc),
    Layer("compile", lambda d, h, s: h.compile),
    Layer("launch", lambda d, h, s: short(subtract(join([h.syncing, h.copying]), d.busy), ROUND_TRIP_NS)),
    Layer("copy", lambda d, h, s: h.staging),
    Layer("unknown", lambda d, h, s: join([h.syncing, h.copying])),
    Layer("launch", lambda d, h, s: h.dispatch),
    Layer("startup", lambda d, h, s: h.starting),
    Layer("wait", lambda d, h, s: h.waiting),
    Layer("disk", lambda d, h, s: h.filing),
    Layer("metadata", lambda d, h, s: h.looking),
    Layer("network.io", lambda d, h, s: h.talking),
    Layer("serial", lambda d, h, s: _between(h.alive)),
)
#: The same for a job in whose trace no device appears: what its threads compute is the work.
CPU_LAYERS: tuple[Layer, ...] = (
    Layer("profiler", lambda d, h, s: h.overhead),
    Layer("unknown", lambda d, h, s: d.hidden),
    Layer("input", lambda d, h, s: h.input),
    Layer("checkpoint", lambda d, h, s: s.spans),
    Layer("compile", lambda d, h, s: h.compile),
    Layer("cpu", lambda d, h, s: h.computing),
    Layer("network", lambda d, h, s: h.collective),
    Layer("cpu", lambda d, h, s: h.dispatch),
    *LAYERS[-5:],
)


def attribute(timeline: Timeline) -> Attribution:
    """Paint one rank's window. The timeline must hold at least one interval."""
    steps = steps_of(timeline)
    start_ns, end_ns = window_of(timeline)
    calls = activities.calls_of(timeline)
    device = device_work(timeline, calls)
    threads = host.observe(timeline, calls, device.busy, device.first_ns)
    saves = saves_of(timeline, threads.saving, threads.calls, end_ns, len(steps))
    layers = LAYERS if len(device.busy.start) or len(calls.row) else CPU_LAYERS
    steps = paced(timeline, steps, calls, device.work, end_ns)
    strip = paint(start_ns, end_ns, [layer.covers(device, threads, saves) for layer in layers])
    causes = (*(layer.cause for layer in layers), "unknown")
    return Attribution(timeline, start_ns, end_ns, strip, causes, device, threads, saves, steps)


def window_of(timeline: Timeline) -> tuple[int, int]:
    """The wall-clock that was recorded: the marked steps with the device work they left queued, or all that was seen.

    The recorder's own span is not the window: before the first and after the last event of any thread or device it
    sets itself up and writes its buffers.
    """
    seen = timeline.kind != Kind.SPAN
    if not seen.any():
        seen = ~seen
    start, end = int(timeline.start_ns[seen].min()), int(timeline.end_ns[seen].max())
    marks = marks_of(timeline)
    if marks:
        queued = timeline.rows(Kind.KERNEL, Kind.COPY, Kind.FILL, Kind.CALL)
        start, end = marks[0], int(timeline.end_ns[queued].max(initial=marks[1]))
    return start, max(end, start + 1)


def device_work(timeline: Timeline, calls: Calls) -> Device:
    """Unions of the device's intervals by what they are; first_ns is the end of the window where there are none."""
    kernels = timeline.rows(Kind.KERNEL)
    talk = activities.collective_rows(timeline, kernels)
    kernels = kernels[~among(kernels, talk)]
    moves = timeline.rows(Kind.COPY, Kind.FILL)
    work = timeline.rows(Kind.KERNEL, Kind.COPY, Kind.FILL)
    if not len(work):
        talk = activities.named(timeline, timeline.rows(Kind.RANGE, Kind.OPERATOR), activities.HOST_BACKEND)
    busy = host.spans_of(timeline, work)
    return Device(
        kernels=host.spans_of(timeline, kernels),
        collectives=host.spans_of(timeline, talk) if len(work) else NONE,
        copies=host.spans_of(timeline, moves),
        hidden=_hidden(timeline, calls, work),
        busy=busy,
        first_ns=int(busy.start[0]) if len(busy.start) else int(timeline.end_ns.max()),
        work=work,
        talk=talk,
    )


def _hidden(timeline: Timeline, calls: Calls, work: I64) -> Spans:
    """When the device may have run unseen: from a launch without recorded work to the next sign that it is over.

    Graph launches count always (their kernels are missing where the profiler was not asked for them), plain ones only
    where too many lack their kernel to be a matter of the trace's edges, or where the file breaks off: a profiler
    writes the device's events last.
    """
    correlation = timeline.correlation[calls.row]
    unseen = (correlation >= 0) & ~among(correlation, timeline.correlation[work])
    launches, graphs = calls.are(Call.LAUNCH), calls.are(Call.GRAPH) & unseen
    lost = launches & unseen
    many = lost.sum() > LOST_SHARE * launches.sum() or not timeline.whole
    silent = calls.row[graphs | lost] if many else calls.row[graphs]
    if not len(work) and (not timeline.whole or names_device(timeline)):
        return union(timeline.start_ns.min(keepdims=True), timeline.end_ns.max(keepdims=True))
    if not len(silent):
        return NONE
    begin = timeline.start_ns[silent]
    ends = np.append(np.sort(timeline.end_ns[calls.of(Call.SYNC, Call.COPY)]), timeline.end_ns.max())
    waited = ends[np.minimum(np.searchsorted(ends, begin, "right"), len(ends) - 1)]
    return union(begin, np.minimum(waited, _next_work(timeline, calls, work, begin)))


def _next_work(timeline: Timeline, calls: Calls, work: I64, after: I64) -> I64:
    """When the first device work begins that was launched after each of these times; the trace's end if none was.

    What was queued before says nothing: it runs before what came after it.
    """
    end = np.array([timeline.end_ns.max()])
    cause = partners(timeline.correlation[calls.row], timeline.correlation[work])
    launched = timeline.start_ns[work].copy()
    launched[cause >= 0] = timeline.start_ns[calls.row[cause[cause >= 0]]]
    by_launch = np.argsort(launched, kind="stable")
    first = np.minimum.accumulate(np.append(timeline.start_ns[work][by_launch], end)[::-1])[::-1]
    return np.asarray(first[np.searchsorted(launched[by_launch], after, "right")])


def names_device(timeline: Timeline) -> bool:
    """Whether the trace tells of a GPU: by its properties, or by collectives that only GPUs take part in."""
    told = timeline.rows(Kind.RANGE, Kind.OPERATOR)
    return any(timeline.devices) or len(activities.named(timeline, told, activities.DEVICE_COLLECTIVE)) > 0


def short(spans: Spans, most_ns: int) -> Spans:
    """The pieces of a set that are no longer than this."""
    keep = spans.end - spans.start <= most_ns
    return Spans(spans.start[keep], spans.end[keep])


def _between(alive: Spans) -> Spans:
    """From the first sign of life of the feeding threads to their last."""
    return Spans(alive.start[:1], alive.end[-1:])
