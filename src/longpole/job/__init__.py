"""The wing that answers "what binds this job": attribute, compare the ranks, judge."""

from __future__ import annotations

from collections.abc import Sequence

from longpole.errors import UnreadableError
from longpole.job.attribution import attribute
from longpole.job.judge import judge_job, judge_rank
from longpole.job.ranks import Waits, meet
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
        only = attributions[0]
        return _noted(
            judge_rank(only, Waits(), kind="job", name=only.timeline.source, bare_step_ns=bare_step_ns), notes
        )
    meeting = meet(attributions)
    parts = [
        judge_rank(a, waits, kind="rank", name=f"rank {a.timeline.rank}", bare_step_ns=bare_step_ns)
        for a, waits in zip(attributions, meeting.waits, strict=True)
    ]
    name = f"{len(parts)} ranks"
    return _noted(judge_job(attributions, meeting, parts, name=name, bare_step_ns=bare_step_ns), notes)


def _noted(verdict: Verdict, notes: Sequence[str]) -> Verdict:
    if not notes:
        return verdict
    fields = {field: getattr(verdict, field) for field in verdict.__struct_fields__}
    return Verdict(**fields | {"notes": (*notes, *verdict.notes)})
