"""Recognise a checkpoint in a trace that shows neither file writes nor fsync.

Saving a state looks like a run of device-to-host copies with no kernel handed over between them, host time in
between and after (pickling, writing), and no data coming back. Offloading brings it back, and evaluating on the CPU
copies a result or two: both can still look alike, so the finding says how sure it is.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from longpole.job import activities
from longpole.job.activities import Call, Calls
from longpole.timeline.columns import I64, Kind, Timeline, partners
from longpole.timeline.intervals import NONE, Spans, distinct, holds, join, overlap, union

#: A state worth saving is many megabytes in several tensors.
LEAST_BYTES = 4 << 20
LEAST_COPIES = 4
#: The part of a save that is host time between and after its copies; a plain read-back has next to none.
LEAST_HOST_SHARE = 0.2


@dataclass(frozen=True)
class Saves:
    """The time spent saving, its device-to-host copies, and how it was recognised.

    `inferred` counts those told by their copies alone; `recurring` are runs of copies that look like saves and were not
    taken for any, because they come back in every step.
    """

    spans: Spans
    copies: Spans
    count: int
    size_bytes: int
    inferred: int
    recurring: int


def saves_of(timeline: Timeline, named: Spans, calls: Calls, end_ns: int, steps: int) -> Saves:
    """Find the saves: those that are `named`, and runs of copies out between two hand-overs of kernels.

    `calls` are those of the feeding threads. What happens in every one of the `steps` reads results back; nobody
    saves that often.
    """
    copies = timeline.rows(Kind.COPY)
    out, back = activities.named(timeline, copies, "DtoH"), activities.named(timeline, copies, "HtoD")
    inferred = _inferred(timeline, out, back, calls, end_ns)
    recurring = len(inferred.start) if steps > 1 and len(inferred.start) >= steps - 1 else 0
    if recurring:
        inferred = NONE
    inferred = _apart(inferred, named)
    spans = join([named, inferred])
    inside = out[holds(spans, timeline.start_ns[out])]
    size = timeline.size_bytes[inside]
    return Saves(
        spans=spans,
        copies=union(timeline.start_ns[inside], timeline.end_ns[inside]),
        count=len(spans.start),
        size_bytes=int(size[size > 0].sum()),
        inferred=len(inferred.start),
        recurring=recurring,
    )


def _inferred(timeline: Timeline, out: I64, back: I64, calls: Calls, end_ns: int) -> Spans:
    launches = timeline.start_ns[calls.of(Call.LAUNCH, Call.GRAPH)]
    if len(out) < LEAST_COPIES or not len(launches):
        return NONE
    begin = _begins(timeline, out, calls)
    quiet = np.searchsorted(launches, begin, "right")
    edges = np.append(launches, end_ns)
    usual = _longest_silence(launches, quiet)
    found_start, found_end = [], []
    for mine in _crowds(quiet, timeline.size_bytes[out].clip(0)):
        start, end = int(begin[mine].min()), int(edges[quiet[mine[0]]])
        size = int(timeline.size_bytes[out[mine]].clip(0).sum())
        busy = int((timeline.end_ns[out[mine]] - timeline.start_ns[out[mine]]).sum())
        returns = (timeline.start_ns[back] > start) & (timeline.start_ns[back] < end)
        returned = int(timeline.size_bytes[back[returns]].clip(0).sum())
        before = int(launches[quiet[mine[0]] - 1]) if quiet[mine[0]] else start
        if start - before > usual:
            start = before
        if returned * 2 < size and busy < (1 - LEAST_HOST_SHARE) * (end - start):
            found_start.append(start)
            found_end.append(end)
    return union(np.array(found_start, np.int64), np.array(found_end, np.int64))


def _apart(inferred: Spans, named: Spans) -> Spans:
    """The inferred saves that no named one overlaps."""
    alone = overlap(named, inferred.start, inferred.end) == 0
    return Spans(inferred.start[alone], inferred.end[alone])


def _crowds(group: I64, size: I64) -> list[I64]:
    """The members (indices) of each group that has enough copies and bytes to be a save."""
    order = np.argsort(group, kind="stable")
    first = np.flatnonzero(np.append(True, np.diff(group[order]) != 0))
    count = np.diff(np.append(first, len(group)))
    total = np.add.reduceat(size[order], first)
    enough = (count >= LEAST_COPIES) & (total >= LEAST_BYTES)
    return [order[b : b + n] for b, n in zip(first[enough].tolist(), count[enough].tolist(), strict=True)]


def _longest_silence(launches: I64, saving: I64) -> int:
    """The longest time without a launch that no save lies in: silence before a save that is longer belongs to it
    (opening and truncating the file), silence of a length that is usual in the job does not."""
    gaps = np.diff(launches)
    usual = np.delete(gaps, distinct(saving[(saving > 0) & (saving <= len(gaps))]) - 1)
    return int(usual.max()) if len(usual) else 0


def _begins(timeline: Timeline, out: I64, calls: Calls) -> I64:
    """When each copy was asked for: the start of its call where that is known, of the copy itself where it is not."""
    asked = calls.of(Call.COPY)
    cause = partners(timeline.correlation[asked], timeline.correlation[out])
    begin = timeline.start_ns[out].copy()
    begin[cause >= 0] = timeline.start_ns[asked[cause[cause >= 0]]]
    return begin
