"""Which timelines are the ranks of the job: one each, in order, each with a number."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from longpole.timeline.columns import Timeline


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
    if unnumbered and (chosen or len(unnumbered) > 1):
        notes.append(f"{len(unnumbered)} traces name no rank; they were numbered in the order of their names")
    free = (n for n in range(len(timelines)) if n not in chosen)
    for timeline in unnumbered:
        number = next(free)
        chosen[number] = replace(timeline, rank=number) if len(timelines) > 1 else timeline
    return [chosen[n] for n in sorted(chosen)], notes
