"""The facts of a job of several ranks: who is late, what that rank was doing, whose clock could be aligned."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import msgspec

from longpole import units
from longpole.job.attribution import Attribution
from longpole.job.ranks import Meeting
from longpole.verdict import Evidence, Verdict

#: A rank that kept the others waiting for less than this part of the window is no straggler.
LATE = 0.05
#: Clocks further apart than this are said to differ; on one host they agree within microseconds.
APART_NS = 1_000_000


def facts_of_job(
    attributions: Sequence[Attribution], meeting: Meeting, behind: Sequence[Mapping[str, int]], names: Sequence[str]
) -> list[Evidence]:
    """Stragglers first, then the clocks, then who is missing."""
    return [
        *_stragglers(attributions, meeting, behind, names),
        *_clocks(attributions, meeting, names),
        *_missing(attributions),
    ]


def facts_of_part(part: Verdict) -> list[Evidence]:
    """What one rank's evidence adds to the job's: its steps, and all that is not well."""
    told = [
        e for e in part.evidence if e.what in ("steps", "collective_rate") or e.status not in ("ok", "not applicable")
    ]
    return [msgspec.structs.replace(e, where=f"{part.subject.name}, {e.where}") for e in told]


def notes_of_job(attributions: Sequence[Attribution], meeting: Meeting, names: Sequence[str]) -> list[str]:
    """What must be said beside the numbers of a job of several ranks."""
    notes = [f"{names[i]}: {note}" for i, a in enumerate(attributions) for note in a.timeline.notes]
    for i, clock in enumerate(meeting.clocks):
        if clock.offset_ns is None:
            notes.append(_unaligned(names[i], clock.matches, clock.spread_ns))
        elif abs(clock.offset_ns) > APART_NS:
            notes.append(
                f"the clock of {names[i]} is {units.duration(abs(clock.offset_ns))} "
                f"{'ahead of' if clock.offset_ns > 0 else 'behind'} that of {names[0]}; "
                f"aligned on the ends of {clock.matches} collectives"
            )
    short = _missing_ranks(attributions)
    if short:
        notes.append(short)
    elif any(a.spans("network").total for a in attributions) and not meeting.count:
        notes.append("no collective could be matched across the ranks: their time in collectives is not split")
    return notes


def _unaligned(name: str, matches: int, spread_ns: int | None) -> str:
    why = (
        f"only {matches} collectives match"
        if spread_ns is None
        else f"the ends of {matches} collectives disagree by {units.duration(spread_ns)}"
    )
    return f"the clock of {name} can't be aligned ({why}); nothing is concluded across it"


def _stragglers(
    attributions: Sequence[Attribution], meeting: Meeting, behind: Sequence[Mapping[str, int]], names: Sequence[str]
) -> Iterator[Evidence]:
    late = sorted(range(len(attributions)), key=lambda i: -meeting.waits[i].late_ns)
    for i in late[:3]:
        waits, window = meeting.waits[i], attributions[i].window_ns
        blur = max((clock.spread_ns or 0 for clock in meeting.clocks), default=0)
        if waits.late_ns < max(LATE * window, 2 * blur * waits.last_in):  # no lateness within the clocks' own error
            continue
        doing = list(behind[i].items())
        total = sum(behind[i].values()) or 1
        what = (
            " and ".join(f"{cause} ({ns / total:.0%})" for cause, ns in doing[:2] if ns / total >= 0.1)
            or "nothing that was seen"
        )
        yield Evidence(
            what="straggler",
            where=names[i],
            measured=waits.late_ns,
            unit="ns",
            status="slow",
            source=f"{meeting.count:,} collectives matched across {len(attributions)} ranks",
            detail=f"the others waited {units.duration(waits.late_ns)} for it, in {waits.last_in:,} of "
            f"{meeting.count:,} collectives; meanwhile it was in {what}",
        )


def _clocks(attributions: Sequence[Attribution], meeting: Meeting, names: Sequence[str]) -> Iterator[Evidence]:
    known = [c for c in meeting.clocks[1:] if c.offset_ns is not None]
    if known:
        spread = max(c.spread_ns or 0 for c in known)
        yield Evidence(
            what="clock_alignment",
            where=f"{len(known) + 1} of {len(names)} ranks",
            measured=spread,
            unit="ns",
            status="ok" if len(known) + 1 == len(names) else "unknown",
            source=f"the ends of {min(c.matches for c in known):,} collectives or more",
            detail="how far the ends of one collective still lie apart on the ranks",
        )
    elif len(names) > 1:
        yield Evidence(
            what="clock_alignment",
            where=f"{len(names)} ranks",
            unit="ns",
            status="unknown",
            source="collectives",
            detail="no clock could be aligned",
        )


def _missing(attributions: Sequence[Attribution]) -> Iterator[Evidence]:
    worlds = [a.timeline.world_size for a in attributions if a.timeline.world_size]
    if worlds and max(worlds) > len(attributions):
        yield Evidence(
            what="missing_ranks",
            where="job",
            measured=len(attributions),
            limit=max(worlds),
            status="unknown",
            source="distributedInfo",
        )


def _missing_ranks(attributions: Sequence[Attribution]) -> str | None:
    worlds = [a.timeline.world_size for a in attributions if a.timeline.world_size]
    if not worlds or max(worlds) <= len(attributions):
        return None
    return f"{len(attributions)} of {max(worlds)} ranks were given: who is late can't be told without the others"
