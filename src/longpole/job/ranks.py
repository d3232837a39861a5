"""Put the ranks of a job on one clock, and split what they spend in collectives into the wire and waiting.

A synchronising collective ends on all its ranks at once, but for some microseconds, and its wire is in use from the
moment the last rank arrives. So the n-th collective of each group, matched across the ranks, tells the offset of the
clocks, the rank that came last, and what that rank was doing while the others waited.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from longpole.job.attribution import Attribution
from longpole.timeline.columns import I64
from longpole.timeline.intervals import NONE, Spans, clip, intersect, join, overlap, subtract, union

#: Operations that do not end together: who gives may leave before the others have all of it. (Sends and receives may be
#: an all-to-all, which NCCL builds of them; whether they end together decides.)
_LOOSE = r"(?i)broadcast|(?<!reduce)(?<!reduce_)scatter$|(?<!all)(?<!all_)gather$|^reduce$"
_OPERATION = re.compile(
    r"all_?reduce|all_?gather|reduce_?scatter|all_?to_?all|broadcast|send_?recv|barrier|reduce|dispatch|combine",
    re.IGNORECASE,
)
#: Ends of one collective on one host agree within 20 us; several hosts, a busy stream or busy cores loosen that, and
#: a clock is still good if the ends disagree by less than this part of the time from one collective to the next.
AGREE_NS = 200_000
AGREE_SHARE = 0.25
#: Less waiting than this is how far the ends of one collective lie apart anyway; nobody was late.
FELT_NS = 20_000
#: Fewer matched collectives than this do not carry a clock.
LEAST_MATCHES = 3
#: A trace may begin a few collectives before another.
MOST_SHIFT = 16


class Matched(NamedTuple):
    """The matched collectives of one group: arrays of [rank, collective], ns on the clock of the first rank."""

    group: str
    ranks: tuple[int, ...]
    start_ns: I64
    end_ns: I64

    @property
    def agrees(self) -> bool:
        """Whether the ends of each collective lie together on all ranks, but for a quarter of them."""
        if not self.end_ns.size:
            return False
        return bool(np.percentile(np.ptp(self.end_ns, axis=0), 75) <= 2 * AGREE_NS)


class Ends(NamedTuple):
    """One rank's collectives of one group, in order, ns on its own clock; `size` counts its ranks, 0 if unknown."""

    start_ns: I64
    end_ns: I64
    size: int


class Clock(NamedTuple):
    """A rank's clock against the first rank's: ns to subtract, and how far the ends still disagree; None if unknown."""

    offset_ns: int | None
    spread_ns: int | None
    matches: int


@dataclass
class Waits:
    """One rank's time in collectives (sets, on its own clock) and its lateness.

    `waiting` is before the last rank came, `wire` after; `early` is the part of waiting that an evenly loaded job would
    have too (before the median rank came). `holding` is when this rank kept others waiting, and `late_ns` that time
    with `last_in` the collectives in which it was the last and the others felt it.
    """

    waiting: Spans = NONE
    early: Spans = NONE
    wire: Spans = NONE
    holding: Spans = NONE
    late_ns: int = 0
    last_in: int = 0


@dataclass(frozen=True)
class Meeting:
    """What matching the ranks gave: a clock and waits for each (by position), and the collectives that matched."""

    clocks: tuple[Clock, ...]
    waits: tuple[Waits, ...]
    matched: tuple[Matched, ...] = field(default=())

    @property
    def count(self) -> int:
        """The number of matched collectives."""
        return sum(m.start_ns.shape[1] for m in self.matched)


def meet(attributions: Sequence[Attribution]) -> Meeting:
    """Match the collectives of several ranks' attributions; ranks are positions in the sequence."""
    groups = [_groups(a) for a in attributions]
    clocks = _clocks(groups)
    waits = tuple(Waits() for _ in attributions)
    worlds = [a.timeline.world_size for a in attributions if a.timeline.world_size]
    matched: dict[tuple[int, ...], list[Matched]] = {}
    for name in sorted({g for mine in groups for g in mine}):
        members = [i for i, mine in enumerate(groups) if name in mine and clocks[i].offset_ns is not None]
        size = max((groups[i][name].size for i in members), default=0) or max(worlds, default=None)
        if len(members) > 1 and size in (None, len(members)):  # more than its size: several groups of one name
            found = _match(name, members, groups, clocks)
            if _ends_together(name) or found.agrees:
                matched.setdefault(found.ranks, []).append(found)
    met = tuple(_together(same) for same in matched.values())
    for found in met:
        _hold(found, attributions, clocks, waits)
    return Meeting(clocks, waits, met)


def _together(same: Sequence[Matched]) -> Matched:
    """The collectives of all groups that have the same members."""
    starts, ends = ([m.start_ns for m in same], [m.end_ns for m in same])
    name = same[0].group if len(same) == 1 else f"{len(same)} groups"
    return Matched(name, same[0].ranks, np.concatenate(starts, axis=1), np.concatenate(ends, axis=1))


def split(attribution: Attribution, waits: Waits) -> dict[str, Spans]:
    """The rank's charge with `network` split; what did not match stays `network`."""
    out = dict(attribution.charged)
    exposed = out.pop("network", NONE)
    waiting = intersect(exposed, waits.waiting)
    wire = subtract(intersect(exposed, waits.wire), waiting)
    rest = subtract(exposed, join([waiting, wire]))
    for cause, spans in (("network.imbalance", waiting), ("network.collective", wire), ("network", rest)):
        if spans.total:
            out[cause] = spans
    return out


def shared(attribution: Attribution, charged: Mapping[str, Spans], waits: Waits) -> dict[str, Spans]:
    """The rank's charge in the job's merged timeline: what it did while it kept others waiting counts as imbalance."""
    holding = clip(waits.holding, attribution.start_ns, attribution.end_ns)
    out = {cause: subtract(spans, holding) for cause, spans in charged.items()}
    out["network.imbalance"] = join([out.get("network.imbalance", NONE), holding])
    return {cause: spans for cause, spans in out.items() if spans.total}


def _groups(attribution: Attribution) -> dict[str, Ends]:
    """The rank's synchronising collectives by process group and operation, in the order they ran."""
    timeline, talk = attribution.timeline, attribution.device.talk
    known = timeline.collectives
    at = np.minimum(np.searchsorted(known.row, talk), max(len(known.row) - 1, 0))
    told = known.row[at] == talk if len(known.row) else np.zeros(len(talk), bool)
    keys: dict[str, list[int]] = {}
    sizes: dict[str, int] = {}
    for row, i, has in zip(talk.tolist(), at.tolist(), told.tolist(), strict=True):
        operation = timeline.names[known.operation[i]] if has and known.operation[i] >= 0 else ""
        word = re.search(_OPERATION, operation or timeline.names[timeline.name[row]])
        if word is None or re.search(_LOOSE, operation or word[0]):
            continue
        group = timeline.names[known.group[i]] if has and known.group[i] >= 0 else ""
        key = f"{group}/{word[0].lower().replace('_', '')}"
        keys.setdefault(key, []).append(row)
        sizes[key] = max(sizes.get(key, 0), int(known.group_size[i]) if has else 0)
    out = {}
    for key, rows in keys.items():
        at = np.array(rows, np.int64)
        out[key] = Ends(timeline.start_ns[at], timeline.end_ns[at], max(sizes[key], 0))
    return out


def _ends_together(name: str) -> bool:
    """Whether an operation synchronises its ranks by what it is; others do if their ends say so."""
    return name.rpartition("/")[2] in ("allreduce", "allgather", "reducescatter", "alltoall", "barrier")


def _clocks(groups: Sequence[dict[str, Ends]]) -> tuple[Clock, ...]:
    """Every rank's clock against the first's, through any chain of groups that two ranks share."""
    clocks: list[Clock] = [Clock(0, 0, 0)] + [Clock(None, None, 0)] * (len(groups) - 1)
    todo = list(range(1, len(groups)))
    reached = [0]
    while reached:
        known = reached.pop(0)
        for other in list(todo):
            pair = _offset(groups[known], groups[other])
            if pair.offset_ns is None:
                clocks[other] = max(clocks[other], pair, key=lambda clock: clock.matches)
                continue
            base = clocks[known].offset_ns or 0
            clocks[other] = Clock(base + pair.offset_ns, pair.spread_ns, pair.matches)
            todo.remove(other)
            reached.append(other)
    return tuple(clocks)


def _offset(a: dict[str, Ends], b: dict[str, Ends]) -> Clock:
    """The clock of one rank against another by the ends of the collectives both took part in."""
    shared_names = sorted(a.keys() & b.keys())
    # What ends together by what it is tells a clock; the rest only where there is too little of that.
    sure = [name for name in shared_names if _ends_together(name)]
    enough = sum(min(len(a[name].end_ns), len(b[name].end_ns)) for name in sure) >= LEAST_MATCHES
    differences = []
    used = sure if enough else shared_names
    for name in used:
        shift = _shift(a[name].end_ns, b[name].end_ns)
        mine, theirs = _overlap(len(a[name].end_ns), len(b[name].end_ns), shift)
        differences.append(b[name].end_ns[theirs] - a[name].end_ns[mine])
    if not differences:
        return Clock(None, None, 0)
    all_of = np.concatenate(differences)
    if len(all_of) < LEAST_MATCHES:
        return Clock(None, None, len(all_of))
    offset, spread = _centre(all_of)
    often = max(_tolerance(a[name].end_ns) for name in used)
    return Clock(offset if spread <= often else None, spread, len(all_of))


def _tolerance(end_ns: I64) -> int:
    """How far the ends of collectives that come this often may disagree, ns."""
    if len(end_ns) < 2:
        return AGREE_NS
    return max(AGREE_NS, int(AGREE_SHARE * (int(end_ns[-1]) - int(end_ns[0])) / (len(end_ns) - 1)))


def _centre(differences: I64) -> tuple[int, int]:
    """The median, and how far three quarters of the values lie from it at most."""
    offset = int(np.median(differences))
    return offset, int(np.percentile(np.abs(differences - offset), 75))


def _shift(a: I64, b: I64) -> int:
    """How many collectives later than a's the first of b's is, in a's order: 0 unless the clocks tell otherwise."""
    fits = []
    for shift in sorted(range(-MOST_SHIFT, MOST_SHIFT + 1), key=abs):
        mine, theirs = _overlap(len(a), len(b), shift)
        if mine.stop - mine.start < max(LEAST_MATCHES, min(len(a), len(b)) // 2):
            continue
        offset, spread = _centre(b[theirs] - a[mine])
        if spread <= _tolerance(a):
            fits.append((abs(offset), shift))
    same_clock = [fit for fit in fits if fit[0] <= 5 * AGREE_NS]
    return min(same_clock)[1] if same_clock else (0 if len(a) == len(b) or not fits else fits[0][1])


def _overlap(n: int, m: int, shift: int) -> tuple[slice, slice]:
    """Which of n and of m entries face each other when the second sequence begins `shift` entries later."""
    begin = max(shift, 0)
    length = max(min(n - begin, m - max(-shift, 0)), 0)
    return slice(begin, begin + length), slice(max(-shift, 0), max(-shift, 0) + length)


def _match(name: str, members: Sequence[int], groups: Sequence[dict[str, Ends]], clocks: Sequence[Clock]) -> Matched:
    """The collectives of one group that all its members have, on the first rank's clock."""
    lead = groups[members[0]][name]
    shifts = [0] + [_shift(lead.end_ns, groups[i][name].end_ns) for i in members[1:]]
    begin = max(0, *shifts)
    length = min(len(groups[i][name].end_ns) - begin + s for i, s in zip(members, shifts, strict=True))
    start, end = [], []
    for i, s in zip(members, shifts, strict=True):
        at = slice(begin - s, begin - s + max(length, 0))
        offset = clocks[i].offset_ns or 0
        start.append(groups[i][name].start_ns[at] - offset)
        end.append(groups[i][name].end_ns[at] - offset)
    return Matched(name, tuple(members), np.array(start), np.array(end))


def _hold(found: Matched, attributions: Sequence[Attribution], clocks: Sequence[Clock], waits: Sequence[Waits]) -> None:
    """Add one group's waiting, wire and lateness to the ranks' accounts."""
    last = found.start_ns.max(axis=0)
    usual = np.sort(found.start_ns, axis=0)[(len(found.ranks) - 1) // 2]
    last_rank = found.start_ns.argmax(axis=0)
    exposed = np.zeros(found.start_ns.shape, np.int64)
    for at, rank in enumerate(found.ranks):
        offset, account = clocks[rank].offset_ns or 0, waits[rank]
        start, end = found.start_ns[at], found.end_ns[at]
        until = np.minimum(last, end)
        account.waiting = join([account.waiting, union(start + offset, until + offset)])
        account.early = join([account.early, union(start + offset, np.minimum(until, usual) + offset)])
        account.wire = join([account.wire, union(np.maximum(start, last) + offset, end + offset)])
        felt = attributions[rank].spans("network")
        exposed[at] = overlap(felt, np.maximum(start, usual) + offset, np.maximum(until, usual) + offset)
    cost = exposed.max(axis=0)
    for at, rank in enumerate(found.ranks):
        offset, account = clocks[rank].offset_ns or 0, waits[rank]
        begin = np.maximum(last - cost, usual)
        held = union(begin + offset, found.start_ns[at] + offset)
        account.holding = join([account.holding, held])
        mine = (last_rank == at) & (cost > FELT_NS)
        account.late_ns += int(cost[mine].sum())
        account.last_in += int(mine.sum())


def behind(charged: Mapping[str, Spans], waits: Waits) -> dict[str, int]:
    """What a rank was doing while it kept others waiting: ns by cause, the largest first."""
    found = {cause: intersect(spans, waits.holding).total for cause, spans in charged.items()}
    return dict(sorted(((c, n) for c, n in found.items() if n), key=lambda item: -item[1]))
