"""From attributions to a verdict: shares, noise, evidence, fixes, and what must be said beside them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from longpole import units
from longpole.errors import UsageError
from longpole.job import ranks, tables
from longpole.job.attribution import Attribution
from longpole.job.evidence import alone_facts, facts_of
from longpole.job.fixes import Culprit, fixes_of
from longpole.job.notes import notes_of
from longpole.job.ranks import Meeting, Waits
from longpole.job.roster import facts_of_job, facts_of_part, notes_of_job
from longpole.job.whatif import Gain, gains_of
from longpole.timeline.intervals import Spans, join, subtract
from longpole.verdict import UNBINDABLE, Evidence, Share, Subject, Table, Verdict, Window

#: Two removable amounts that differ by less than this part of the work can't be told apart: run to run, the traces of
#: one job on one H200 differ by one to two percent.
NOISE = 0.02
#: A device that works this part of the window paces the job as much as a host that would give no more than this.
PACED = 0.75
SLACK = 0.15
#: What the profiler's slow-down is taken from, in this order: it adds to every operator and call, so to dispatching.
SLOWED = ("launch", "alloc", "cpu")
#: A slow-down that leaves more than this part of the window unaccounted for is not the profiler's.
FAR = 0.1


Charge = Mapping[str, Spans]


def judge_rank(
    attribution: Attribution, charged: Charge, waits: Waits, *, kind: str, name: str, bare_step_ns: int | None
) -> Verdict:
    """The verdict of one rank, from its charge with the collectives split; of the job where it is the only one."""
    gains = gains_of(attribution, charged, {"network.imbalance": subtract(waits.waiting, waits.early)})
    shares = _shares(charged, gains)
    if bare_step_ns is not None:
        shares = _corrected(shares, attribution.window_ns, len(attribution.steps), bare_step_ns)
    return _verdict(
        subject=Subject(kind, name),
        window_ns=attribution.window_ns,
        shares=shares,
        facts=[*facts_of(attribution, charged, waits), *(alone_facts(attribution) if kind == "job" else ())],
        tables_={**tables.of_steps(attribution, charged), **tables.of_kernels(attribution)},
        notes=notes_of(attribution, charged),
    )


def judge_job(
    attributions: Sequence[Attribution],
    charges: Sequence[Charge],
    meeting: Meeting,
    parts: Sequence[Verdict],
    *,
    name: str,
    bare_step_ns: int | None,
) -> Verdict:
    """The verdict of several ranks: rank-time, charged on the merged timeline."""
    amounts: dict[str, int] = {}
    gains: dict[str, Gain] = {}
    behind: list[dict[str, int]] = []
    for attribution, charged, waits in zip(attributions, charges, meeting.waits, strict=True):
        behind.append(ranks.behind(charged, waits))
        merged = ranks.shared(attribution, charged, waits)
        able = {"network.imbalance": join([subtract(waits.waiting, waits.early), waits.holding])}
        for cause, gain in gains_of(attribution, merged, able).items():
            amounts[cause] = amounts.get(cause, 0) + merged[cause].total
            so_far = gains.get(cause, Gain(0, 0, 0))
            gains[cause] = Gain(so_far.best + gain.best, so_far.low + gain.low, so_far.high + gain.high)
    window_ns, names = sum(a.window_ns for a in attributions), [p.subject.name for p in parts]
    shares = tuple(_share(cause, amounts[cause], gains[cause]) for cause in amounts)
    culprit = _culprit(meeting, behind, names)
    if bare_step_ns is not None:
        shares = _corrected(shares, window_ns, sum(len(a.steps) for a in attributions), bare_step_ns)
    return _verdict(
        subject=Subject("job", name),
        window_ns=window_ns,
        shares=shares,
        facts=[*facts_of_job(attributions, meeting, behind, names), *facts_of_part(_telling(parts, shares, culprit))],
        tables_=tables.of_ranks(attributions, meeting, parts),
        notes=notes_of_job(attributions, meeting, names),
        parts=tuple(parts),
        culprit=culprit,
    )


def _telling(parts: Sequence[Verdict], shares: Sequence[Share], culprit: Culprit | None) -> Verdict:
    """The rank whose evidence tells most of the job's: the late one, else the one that loses most to what leads."""
    leader = max(shares, key=lambda s: s.removable if s.cause not in UNBINDABLE else -1).cause
    if leader == "network.imbalance" and culprit is not None:
        return next(part for part in parts if part.subject.name == culprit.rank)
    return max(parts, key=lambda part: part.share(leader).removable)


def _culprit(meeting: Meeting, behind: Sequence[Mapping[str, int]], names: Sequence[str]) -> Culprit | None:
    """The rank that kept the others waiting longest, and the cause it was in most of that time."""
    late = [w.late_ns for w in meeting.waits]
    worst = max(range(len(late)), key=late.__getitem__)
    if not late[worst] or not behind[worst]:
        return None
    return Culprit(names[worst], next(iter(behind[worst])))


def _verdict(
    *,
    subject: Subject,
    window_ns: int,
    shares: tuple[Share, ...],
    facts: Sequence[Evidence],
    tables_: Mapping[str, Table],
    notes: Sequence[str],
    parts: tuple[Verdict, ...] = (),
    culprit: Culprit | None = None,
) -> Verdict:
    ordered = tuple(sorted(_paced(shares, window_ns), key=lambda s: (-s.removable, -s.amount, s.cause)))
    draft = Verdict(
        subject=subject,
        window=Window(window_ns, "ns"),
        shares=ordered,
        evidence=tuple(facts),
        notes=tuple(dict.fromkeys(notes)),
        noise=_noise(ordered, window_ns),
        tables=dict(tables_),
        parts=parts,
    )
    return msgspec.structs.replace(draft, fixes=fixes_of(draft, culprit))


def _shares(charged: Mapping[str, Spans], gains: Mapping[str, Gain]) -> tuple[Share, ...]:
    return tuple(_share(cause, spans.total, gains[cause]) for cause, spans in charged.items() if spans.total)


def _share(cause: str, amount: int, gain: Gain) -> Share:
    return Share(cause=cause, amount=amount, removable=gain.best, removable_low=gain.low, removable_high=gain.high)


def _paced(shares: Sequence[Share], window_ns: int) -> tuple[Share, ...]:
    """The shares; kernels that run nearly all the time give no less than a host that has next to no lead on them.

    What they would give lies anywhere in their range: neither gives much without the other, and it is a tie.
    """
    leader = max((s for s in shares if s.cause not in UNBINDABLE), key=lambda s: s.removable, default=None)
    kernels = next((s for s in shares if s.cause == "gpu.compute" and s.amount >= PACED * window_ns), None)
    if (
        leader is None
        or kernels is None
        or not kernels.removable < leader.removable <= SLACK * window_ns < kernels.high
    ):
        return tuple(shares)
    lifted = msgspec.structs.replace(kernels, removable=leader.removable)
    return tuple(lifted if s is kernels else s for s in shares)


def _noise(shares: Sequence[Share], window_ns: int) -> int:
    """How far the two largest removable amounts must lie apart; the profiler's slow-down counts as noise."""
    able = [s for s in shares if s.cause not in UNBINDABLE]
    first = able[0].removable - able[0].low if able and able[0].cause in SLOWED else 0
    second = able[1].high - able[1].removable if len(able) > 1 and able[1].cause in SLOWED else 0
    return max(int(NOISE * window_ns), first, second)


def _corrected(shares: Sequence[Share], window_ns: int, steps: int, bare_step_ns: int) -> tuple[Share, ...]:
    """Charge the profiler with what a traced step takes longer than a bare one, and what it slowed with as much less.

    The measured slow-down takes the place of the estimated one, so what is left has one number and no range.
    """
    if not steps:
        raise UsageError("--bare-step needs steps, and none were found in this trace: mark them with profiler.step()")
    traced = window_ns // steps
    if bare_step_ns > traced + traced // 10:
        raise UsageError(
            f"--bare-step {units.duration(bare_step_ns)} is longer than a step of this trace, {units.duration(traced)}"
        )
    by_cause = {s.cause: s for s in shares}
    known = by_cause["profiler"].amount if "profiler" in by_cause else 0
    excess = window_ns - steps * bare_step_ns - known
    taken = 0
    for cause in SLOWED:
        share = by_cause.get(cause)
        if share is None or excess <= taken:
            continue
        part = min(share.amount, excess - taken)
        taken += part
        left = share.amount - part
        best = min(max(share.high - part, 0), left)
        by_cause[cause] = Share(cause=cause, amount=left, removable=best)
    if excess - taken > FAR * window_ns:
        raise UsageError(
            f"--bare-step: a traced step takes {units.duration(window_ns // steps)} and dispatching is too little to "
            "account for the difference; such a trace does not stand for a bare run"
        )
    if taken:
        by_cause["profiler"] = Share(cause="profiler", amount=known + taken, removable=known + taken)
    return tuple(s for s in by_cause.values() if s.amount)
