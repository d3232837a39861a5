"""Which timelines are the ranks of the job: one each, in order, each with a number."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np

from longpole.timeline.columns import Kind, Timeline


def select(timelines: Sequence[Timeline]) -> tuple[list[Timeline], list[str]]:
    """One timeline a rank, ascending, and what must be said of those left out. Empty timelines are left out."""
    notes: list[str] = []
    chosen: dict[int, Timeline] = {}
    unnumbered: list[Timeline] = []
    for timeline in timelines:
        if not len(timeline):
            notes.append(f"{timeline.source} holds no events and was left out")
        elif timeline.rank is None:
            unnumbered.append(timeline)
        elif timeline.rank in chosen:
            first = chosen[timeline.rank].source
            notes.append(f"{timeline.source} says it is rank {timeline.rank}, as {first} does; only the first was read")
        else:
            chosen[timeline.rank] = timeline
    unnumbered = _latest_cycles(unnumbered, notes)
    if unnumbered and (chosen or len(unnumbered) > 1):
        notes.append(f"{len(unnumbered)} traces name no rank; they were numbered in the order of their names")
    many = len(unnumbered) + len(chosen) > 1
    free = (n for n in range(len(timelines)) if n not in chosen)
    for timeline in unnumbered:
        number = next(free)
        chosen[number] = replace(timeline, rank=number) if many else timeline
    return [chosen[n] for n in sorted(chosen)], notes


def _latest_cycles(timelines: Sequence[Timeline], notes: list[str]) -> list[Timeline]:
    """Of the traces of one process that follow each other (a profiler's cycles), the last: the others are no ranks."""
    by_process: dict[int, list[Timeline]] = {}
    kept: list[Timeline] = []
    for timeline in timelines:
        process = _process(timeline)
        if process is None:
            kept.append(timeline)
        else:
            by_process.setdefault(process, []).append(timeline)
    for process, cycles in by_process.items():
        cycles.sort(key=lambda t: int(t.start_ns[0]))
        if len(cycles) > 1 and all(_end(a) <= int(b.start_ns[0]) for a, b in pairwise(cycles)):
            notes.append(
                f"{len(cycles)} traces of process {process}, one after the other, are cycles of its profiler; "
                f"only the last was judged: {cycles[-1].source}"
            )
            kept.append(cycles[-1])
        else:
            kept.extend(cycles)
    return sorted(kept, key=lambda t: t.source)


def _process(timeline: Timeline) -> int | None:
    """The process that ran most operators, None where the trace does not say."""
    rows = timeline.rows(Kind.OPERATOR, Kind.CALL)
    if not len(rows):
        return None
    return timeline.lanes[int(np.bincount(timeline.lane[rows]).argmax())].pid


def _end(timeline: Timeline) -> int:
    """When the last operator or call ended."""
    return int(timeline.end_ns[timeline.rows(Kind.OPERATOR, Kind.CALL)].max())
