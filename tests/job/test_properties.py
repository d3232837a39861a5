"""What holds for every trace, sensible or not."""

from __future__ import annotations

import contextlib
import copy
import itertools

from hypothesis import assume, given, settings
from hypothesis import strategies as st
from tests.job.builder import Row, Trace, judged, ns, on_stream
from tests.job.ranks import job
from tests.job.strategies import TICK_NS, ticks, traces

from longpole.errors import UsageError
from longpole.job.attribution import attribute
from longpole.job.causes import CAUSES, EVIDENCE
from longpole.timeline.columns import Kind
from longpole.verdict import Verdict

Numbers = dict[str, tuple[int, int, int, int]]


def numbers(verdict: Verdict) -> Numbers:
    """All that was charged and all that could go, by cause."""
    return {s.cause: (s.amount, s.removable, s.low, s.high) for s in verdict.shares}


def changed(trace: Trace, rows: list[Row]) -> Trace:
    """The same trace with other rows."""
    other = copy.copy(trace)
    other.rows = rows
    return other


@given(traces())
def test_shares_add_up_and_bounds_keep_their_order(trace: Trace) -> None:
    verdict = judged(trace)  # checks it
    assert {evidence.what for evidence in verdict.evidence} <= {finding.word for finding in EVIDENCE}
    assert {share.cause for share in verdict.shares} <= {cause.word for cause in CAUSES}


@given(traces())
def test_every_moment_of_the_window_has_one_cause(trace: Trace) -> None:
    attribution = attribute(trace.build())
    pieces = sorted(
        (int(start), int(end))
        for spans in attribution.charged.values()
        for start, end in zip(spans.start, spans.end, strict=True)
    )
    assert pieces[0][0] == attribution.start_ns
    assert pieces[-1][1] == attribution.end_ns
    assert all(this[1] == following[0] for this, following in itertools.pairwise(pieces))


@given(traces(), st.randoms(use_true_random=False))
def test_the_order_of_the_rows_does_not_matter(trace: Trace, random: object) -> None:
    rows = list(trace.rows)
    random.shuffle(rows)  # type: ignore[attr-defined]
    assert numbers(judged(changed(trace, rows))) == numbers(judged(trace))


@given(traces(), st.integers(-(10**18), 10**18))
def test_the_time_of_day_does_not_matter(trace: Trace, shift_ns: int) -> None:
    rows = [row._replace(start_ns=row.start_ns + shift_ns, end_ns=row.end_ns + shift_ns) for row in trace.rows]
    assert numbers(judged(changed(trace, rows))) == numbers(judged(trace))


@given(traces(seen=True), st.data())
def test_an_interval_in_two_touching_pieces_is_the_same(trace: Trace, data: st.DataObject) -> None:
    whole = [row for row in trace.rows if row.end_ns - row.start_ns > 1 and splittable(row)]
    assume(whole)
    row = data.draw(st.sampled_from(whole))
    cut = data.draw(st.integers(row.start_ns + 1, row.end_ns - 1))
    rows = [other for other in trace.rows if other is not row]
    rows += [row._replace(end_ns=cut), row._replace(start_ns=cut)]
    assert numbers(judged(changed(trace, rows))) == numbers(judged(trace))


def splittable(row: Row) -> bool:
    """Kernels, frames, and copies to the device that no call is known for (how many copies there are tells a save)."""
    return row.kind in (Kind.KERNEL, Kind.PYTHON) or (row.kind == Kind.COPY and row.correlation < 0)


@given(traces())
def test_the_stronger_cause_gets_its_whole_union(trace: Trace) -> None:
    verdict = judged(trace)
    attribution = attribute(trace.build())
    window = set(range(attribution.start_ns // TICK_NS, attribution.end_ns // TICK_NS))
    assume(window)
    device = [row for row in trace.rows if row.kind in (Kind.KERNEL, Kind.COPY, Kind.FILL)]
    kernels = ticks(row for row in device if row.name == "gemm") & window
    talk = ticks(row for row in device if row.name.startswith("nccl")) & window - kernels
    moved = ticks(row for row in device if row.kind != Kind.KERNEL) & window - kernels - talk
    assert verdict.share("gpu.compute").amount == len(kernels) * TICK_NS
    assert attribution.spans("network").total >= len(talk) * TICK_NS
    idle = verdict.window.amount - sum(len(part) for part in (kernels, talk, moved)) * TICK_NS
    on_the_host = set(numbers(verdict)) - {"gpu.compute", "network", "copy", "checkpoint"}
    assert sum(verdict.share(cause).amount for cause in on_the_host) <= idle


@given(traces(seen=True), st.data())
def test_a_hidden_collective_changes_no_charge(trace: Trace, data: st.DataObject) -> None:
    kernels = [row for row in trace.rows if row.name == "gemm" and row.end_ns > row.start_ns]
    assume(kernels)
    kernel = data.draw(st.sampled_from(kernels))
    start = data.draw(st.integers(kernel.start_ns, kernel.end_ns - 1))
    end = data.draw(st.integers(start + 1, kernel.end_ns))
    hidden = Row(Kind.KERNEL, "ncclDevKernel_AllReduce", on_stream(21), start, end)
    before, after = numbers(judged(trace)), numbers(judged(changed(trace, [*trace.rows, hidden])))
    assert {cause: both[0] for cause, both in before.items()} == {cause: both[0] for cause, both in after.items()}
    # What would go with the kernels is less, for the collective would stay; nothing else is touched.
    compute = before.pop("gpu.compute", None), after.pop("gpu.compute", None)
    assert before == after
    if compute[0] and compute[1]:
        assert compute[1][1] <= compute[0][1]


@given(traces())
def test_nothing_that_was_not_seen_can_bind(trace: Trace) -> None:
    verdict = judged(trace)
    assert verdict.binding not in ("unknown", "profiler")
    assert verdict.exit_code == (0 if verdict.answered else 3)


lateness = st.lists(st.lists(st.integers(0, 12), min_size=6, max_size=6), min_size=2, max_size=5)


def late_ranks(late: list[list[int]], clocks: dict[int, float] | None = None) -> list[Trace]:
    return job(ranks=len(late), steps=6, late=lambda rank, step: float(late[rank][step]), clocks=clocks)


@given(st.lists(traces(), min_size=2, max_size=4))
@settings(max_examples=50)
def test_any_traces_given_together_keep_the_rules(ranks: list[Trace]) -> None:
    for number, trace in enumerate(ranks):
        trace.rank = number if trace.rank == 0 else None
    with contextlib.suppress(UsageError):  # they need not be one job
        judged(*ranks)


@given(lateness)
@settings(max_examples=50)
def test_several_ranks_keep_the_rules_too(late: list[list[int]]) -> None:
    verdict = judged(*late_ranks(late))
    assert "network" not in numbers(verdict)
    waiting = sum(max(step) - mine for step in zip(*late, strict=True) for mine in step)
    assert sum(part.share("network.imbalance").amount for part in verdict.parts) == ns(waiting)


@given(lateness, st.randoms(use_true_random=False))
@settings(max_examples=50)
def test_the_numbers_of_the_ranks_do_not_matter(late: list[list[int]], random: object) -> None:
    order = list(range(len(late)))
    random.shuffle(order)  # type: ignore[attr-defined]
    straight = judged(*late_ranks(late))
    renumbered = late_ranks(late)
    for trace, number in zip(renumbered, order, strict=True):
        trace.rank = number
    shuffled = judged(*renumbered)
    assert numbers(shuffled) == numbers(straight)
    assert [numbers(shuffled.parts[number]) for number in order] == [numbers(part) for part in straight.parts]


#: An offset of about a step of a regular job can't be told from a trace that begins a step later.
offsets = st.integers(100, 10**7) | st.integers(-(10**7), -100)


@given(lateness, offsets, st.data())
@settings(max_examples=50)
def test_the_clock_of_a_rank_does_not_matter(late: list[list[int]], offset_ms: int, data: st.DataObject) -> None:
    rank = data.draw(st.integers(0, len(late) - 1))
    assert numbers(judged(*late_ranks(late, {rank: offset_ms}))) == numbers(judged(*late_ranks(late)))
