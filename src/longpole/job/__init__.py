"""The wing that answers "what binds this job": attribute, compare the ranks, judge."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from longpole.errors import UnreadableError, UsageError
from longpole.job.attribution import Attribution, attribute
from longpole.job.judge import judge_job, judge_rank
from longpole.job.ranks import Meeting, Waits, meet, split
from longpole.job.selection import select
from longpole.timeline.columns import Timeline
from longpole.verdict import Verdict


def why(timelines: Sequence[Timeline], *, bare_step_ns: int | None = None) -> Verdict:
    """Say what binds a job, from one timeline a rank.

    `bare_step_ns` is the mean time of a step without the profiler; what a traced step takes longer is charged to it.
    Raises UnreadableError where there is nothing to judge, UsageError where `bare_step_ns` meets a trace without steps.
    """
    chosen, notes = select(timelines)
    if not chosen:
        raise UnreadableError("no events to judge: the traces hold nothing but metadata")
    attributions = [attribute(timeline) for timeline in chosen]
    if len(attributions) == 1:
        only, alone = attributions[0], Waits()
        name, charged = only.timeline.source, split(only, alone)
        return _noted(judge_rank(only, charged, alone, kind="job", name=name, bare_step_ns=bare_step_ns), notes)
    meeting = meet(attributions)
    _same_job(timelines, attributions, meeting)
    charges = [split(a, waits) for a, waits in zip(attributions, meeting.waits, strict=True)]
    parts = [
        judge_rank(a, charged, waits, kind="rank", name=f"rank {a.timeline.rank}", bare_step_ns=bare_step_ns)
        for a, charged, waits in zip(attributions, charges, meeting.waits, strict=True)
    ]
    name = f"{attributions[0].timeline.file} and {len(parts) - 1} more"
    return _noted(judge_job(attributions, charges, meeting, parts, name=name, bare_step_ns=bare_step_ns), notes)


def _same_job(timelines: Sequence[Timeline], attributions: Sequence[Attribution], meeting: Meeting) -> None:
    """Raises UsageError for traces that name no rank and share no collective with the others."""
    told = {timeline.rank for timeline in timelines}
    met = {position for matched in meeting.matched for position in matched.ranks}
    strangers = [a.timeline.file for i, a in enumerate(attributions) if a.timeline.rank not in told and i not in met]
    if strangers:
        more = f" and {len(strangers) - 3} more" if len(strangers) > 3 else ""
        raise UsageError(
            f"{', '.join(strangers[:3])}{more}: no rank is named and no collective is shared with the other traces, so "
            "these are not ranks of one job; give them one at a time"
        )


def _noted(verdict: Verdict, notes: Sequence[str]) -> Verdict:
    return msgspec.structs.replace(verdict, notes=(*notes, *verdict.notes))
