"""Several ranks on one clock: the wire, the waiting, and who is waited for."""

import pytest
from tests.job.builder import MS, Trace, charged, every, judged, removable, told
from tests.job.ranks import job, only

from longpole.verdict import Verdict

HOUR = 3_600_000.0


def kept_waiting(v: Verdict) -> dict[str, float]:
    """How long each straggler kept the others waiting, ms."""
    return {fact.where: float(fact.measured or 0) / MS for fact in told(v, "straggler")}


def clock_offsets(v: Verdict) -> list[object]:
    names = [column.name for column in v.tables["ranks"].columns]
    return [row[names.index("clock_offset")] for row in v.tables["ranks"].rows]


def test_ranks_that_come_together_pay_for_the_wire() -> None:
    v = judged(*job(wire=9))
    assert v.binding == "network.collective"
    assert charged(v)["network.collective"] == pytest.approx(2 * 8 * 9, rel=0.01)
    assert "network" not in charged(v) and "network.imbalance" not in charged(v)
    assert not told(v, "straggler")
    names = [column.name for column in v.tables["ranks"].columns]
    assert [row[names.index("last_in")] for row in v.tables["ranks"].rows] == [0, 0]


def test_the_straggler_is_named_with_what_it_was_doing() -> None:
    v = judged(*job(late=only(1, 12)))
    assert v.binding == "network.imbalance"
    assert kept_waiting(v) == pytest.approx({"rank 1": 8 * 12})
    (fact,) = told(v, "straggler")
    assert fact.detail is not None and fact.detail.startswith(
        "the others waited 96.0 ms for it, in 8 of 8 collectives; "
    )
    assert "meanwhile it was in serial" in fact.detail
    assert v.fixes[0].do.startswith("on rank 1, which is late: ")
    # Waiting on the one rank, and what the other did meanwhile, both go with it.
    assert charged(v)["network.imbalance"] == pytest.approx(2 * 8 * 12, rel=0.01)
    assert removable(v)["network.imbalance"] == pytest.approx(2 * 8 * 12, rel=0.01)
    assert v.ceiling == pytest.approx(17.2 / 5.2, rel=0.02)


def test_each_rank_is_a_part_with_its_own_view() -> None:
    waiting, late = judged(*job(late=only(1, 12))).parts
    assert waiting.binding == "network.imbalance"
    assert late.binding == "serial"


def test_a_late_rank_that_waits_for_its_loader_is_late_for_input() -> None:
    v = judged(*job(late=only(0, 12), busy_with="torch/utils/data/dataloader.py(700): __next__"))
    assert kept_waiting(v).keys() == {"rank 0"}
    assert "meanwhile it was in input" in (told(v, "straggler")[0].detail or "")
    assert any("num_workers" in fix.do and fix.do.startswith("on rank 0") for fix in v.fixes)


def test_stragglers_by_turns_are_all_named() -> None:
    v = judged(*job(late=lambda rank, step: 12 if step % 2 == rank else 0))
    assert v.binding == "network.imbalance"
    assert kept_waiting(v) == pytest.approx({"rank 0": 4 * 12, "rank 1": 4 * 12})
    assert charged(v)["network.imbalance"] == pytest.approx(2 * 8 * 12, rel=0.01)


def test_of_eight_ranks_the_late_one_is_named() -> None:
    v = judged(*job(ranks=8, late=lambda rank, step: 12 if rank == 7 and step < 5 else 0))
    assert v.binding == "network.imbalance"
    assert kept_waiting(v) == pytest.approx({"rank 7": 5 * 12})
    assert "in 5 of 8 collectives" in (told(v, "straggler")[0].detail or "")
    assert charged(v)["network.imbalance"] == pytest.approx(8 * 5 * 12, rel=0.01)


def test_of_eight_ranks_one_that_comes_early_makes_no_straggler_of_the_others() -> None:
    """Seven of eight come at the same time: nobody would be faster if the eighth were slower."""
    v = judged(*job(ranks=8, wire=4, late=lambda rank, step: 0 if rank == 0 else 10))
    assert not told(v, "straggler")
    assert charged(v)["network.imbalance"] == pytest.approx(8 * 10, rel=0.01)
    assert removable(v).get("network.imbalance", 0) < 1
    assert v.parts[0].share("network.imbalance").removable < 1 * MS
    assert v.binding == "serial"


def test_waiting_that_kernels_hide_keeps_nobody_waiting() -> None:
    traces = job(late=only(1, 12))
    for at in every(17.2, 8):
        traces[0].launch(at + 3.2, 14, ms=0.005)  # rank 0 has other work while it waits
    v = judged(*traces)
    assert removable(v).get("network.imbalance", 0) < 2 * 8
    assert kept_waiting(v).get("rank 1", 0) < 8


def test_an_hour_between_the_clocks_is_aligned_and_said() -> None:
    straight, skewed = judged(*job(late=only(1, 12))), judged(*job(late=only(1, 12), clocks={1: HOUR}))
    assert {s.cause: (s.amount, s.removable) for s in skewed.shares} == {
        s.cause: (s.amount, s.removable) for s in straight.shares
    }
    assert kept_waiting(skewed) == kept_waiting(straight)
    assert clock_offsets(skewed) == [0, HOUR * MS]
    assert any("rank 1 is 1 h 0 min ahead of that of rank 0" in note for note in skewed.notes)
    behind = judged(*job(late=only(1, 12), clocks={1: -HOUR}))
    assert any("behind" in note for note in behind.notes)


def test_clocks_that_agree_are_not_worth_a_note() -> None:
    v = judged(*job(clocks={1: 0.02}))
    assert not any("clock" in note for note in v.notes)
    (fact,) = told(v, "clock_alignment")
    assert (fact.where, fact.status, fact.measured) == ("2 of 2 ranks", "ok", 0)


def test_clocks_that_cannot_be_aligned_are_said_and_nothing_is_split() -> None:
    """The ends of what is called one collective lie anywhere: it was not the same one."""
    v = judged(*job(late=only(1, 12), leaves=lambda rank, step: (37 * step) % 23 if rank else 0))
    assert "network.imbalance" not in charged(v)
    assert "network.collective" not in charged(v)
    assert charged(v)["network"] > 100
    assert any("can't be aligned" in note for note in v.notes)
    assert clock_offsets(v) == [0, None]
    (fact,) = told(v, "clock_alignment")
    assert fact.status == "unknown"


def test_why_a_clock_cannot_be_aligned_is_said() -> None:
    v = judged(*job(leaves=lambda rank, step: (37 * step) % 23 if rank else 0))
    assert any("the ends of 8 collectives disagree by" in note for note in v.notes)


def test_two_collectives_do_not_carry_a_clock() -> None:
    v = judged(*job(steps=2, late=only(1, 12)))
    assert clock_offsets(v) == [0, None]
    assert "network" in charged(v)


def test_one_of_eight_clocks_that_cannot_be_aligned_is_named_alone() -> None:
    v = judged(*job(ranks=8, leaves=lambda rank, step: (37 * step) % 23 if rank == 3 else 0))
    assert [i for i, offset in enumerate(clock_offsets(v)) if offset is None] == [3]
    assert told(v, "clock_alignment")[0].where == "7 of 8 ranks"


def test_missing_ranks_leave_the_network_unsplit_and_are_said() -> None:
    v = judged(*job(ranks=4, late=only(3, 12), given=2))
    assert "network.imbalance" not in charged(v) and "network.collective" not in charged(v)
    assert v.binding == "network"
    fact = told(v, "missing_ranks")[0]
    assert (fact.measured, fact.limit, fact.status) == (2, 4, "unknown")
    assert any("2 of 4 ranks were given" in note for note in v.notes)
    assert any("record every rank" in fix.do for fix in v.fixes)


def test_missing_ranks_are_said_once() -> None:
    assert len(told(judged(*job(ranks=4, given=2)), "missing_ranks")) == 1


def test_one_rank_of_a_job_says_that_it_is_one() -> None:
    v = judged(*job(late=only(1, 12), given=1))
    assert v.binding == "network"
    assert told(v, "missing_ranks")[0].limit == 2
    assert any("rank 0 of 2" in note for note in v.notes)


def test_one_trace_that_begins_later_is_matched_from_where_it_begins() -> None:
    v = judged(*job(steps=10, late=lambda rank, step: 12 if rank == 1 and step % 3 else 0, begins={1: 2}))
    assert charged(v)["network"] == pytest.approx(2 * 2 + 12, abs=0.5)  # two that only rank 0 has
    assert kept_waiting(v)["rank 1"] == pytest.approx(5 * 12)
    assert clock_offsets(v) == [0, 0]


def test_a_trace_that_begins_later_is_matched_across_clocks_if_the_rhythm_tells() -> None:
    late = lambda rank, step: float((7 * step) % 11) if rank == 1 else 0.0  # noqa: E731
    v = judged(*job(steps=12, late=late, begins={1: 2}, clocks={1: HOUR}))
    assert clock_offsets(v) == [0, HOUR * MS]


def test_collectives_known_by_name_alone_are_matched_too() -> None:
    v = judged(*job(late=only(1, 12), told=False))
    assert kept_waiting(v) == pytest.approx({"rank 1": 8 * 12})


LOOSE = ("broadcast", "scatter", "gather", "reduce")


@pytest.mark.parametrize("operation", LOOSE)
def test_operations_that_one_side_may_leave_early_are_not_split(operation: str) -> None:
    v = judged(*job(late=only(1, 12), operation=operation))
    assert "network.imbalance" not in charged(v)
    assert "network" in charged(v)


@pytest.mark.parametrize("operation", ["allgather", "_allgather_base", "reduce_scatter", "all_to_all", "alltoall_base"])
def test_operations_that_end_together_are_split(operation: str) -> None:
    v = judged(*job(late=only(1, 12), operation=operation))
    assert kept_waiting(v) == pytest.approx({"rank 1": 8 * 12})


def test_sends_and_receives_that_end_together_are_an_all_to_all() -> None:
    v = judged(*job(late=only(1, 12), operation="send_recv"))
    assert kept_waiting(v).keys() == {"rank 1"}


def beside(traces: list[Trace], count: int) -> list[Trace]:
    """Let a pipeline's sends run beside the collectives; the receiver's end 0.7 ms later, or 1.4, or 2.1."""
    for rank, trace in enumerate(traces):
        for step, at in enumerate(every(5.2, count)):
            begin, ms = at + 3.2 + 0.7 * rank, 0.5 + rank * 0.7 * (1 + step % 3)
            trace.collective(begin, ms, "send_recv", group="pipe", stream=21, size=2)
    return traces


def test_sends_and_receives_that_do_not_end_together_are_not_split() -> None:
    v = judged(*beside(job(), 4))
    assert "network.imbalance" not in charged(v)


def test_only_what_ends_together_tells_the_clocks() -> None:
    v = judged(*beside(job(), 8))
    assert clock_offsets(v) == [0, 0]


def test_sub_groups_meet_among_themselves() -> None:
    """Two pairs: within the second one rank is late, and only its partner waits."""
    first, second = job(late=only(1, 0)), job(late=only(1, 12))
    traces = []
    for rank, (pair, trace) in enumerate([(0, first[0]), (0, first[1]), (1, second[0]), (1, second[1])]):
        trace.rank, trace.world, trace.source = rank, 4, f"rank{rank}.json"
        trace.rows = [
            row._replace(talk=(row.talk[0], f"pair {pair}", 2, row.talk[3])) if row.talk else row for row in trace.rows
        ]
        for at in every(1, 4, begin=200):
            trace.collective(at, 0.5, group="world", size=4)
        traces.append(trace)
    v = judged(*traces)
    assert kept_waiting(v) == pytest.approx({"rank 3": 8 * 12})
    assert [part.share("network.imbalance").amount > 0 for part in v.parts] == [False, False, True, False]


def test_a_clock_is_carried_from_rank_to_rank_through_groups() -> None:
    """Rank 0 and 2 never meet; both meet rank 1."""
    traces = [Trace(rank=rank, source=f"rank{rank}", clock_ms=rank * HOUR) for rank in range(3)]
    for at in every(10, 6):
        traces[0].launch(at, 1).collective(at + 1, 2, group="left", size=2)
        traces[1].launch(at, 1).collective(at + 1, 2, group="left", size=2).collective(at + 5, 2, group="right", size=2)
        traces[2].launch(at, 1).collective(at + 5, 2, group="right", size=2)
    assert clock_offsets(judged(*traces)) == [0, HOUR * MS, 2 * HOUR * MS]


def test_groups_of_one_name_that_hold_more_ranks_than_their_size_are_not_matched_as_one() -> None:
    """Some call each pair "tp": four traces with groups of two are two pairs in step, and nobody says which."""
    slow_wire, late_rank = job(wire=14), job(wire=2, late=only(1, 12))
    traces = []
    for rank, trace in enumerate([*slow_wire, *late_rank]):
        trace.rank, trace.world, trace.source = rank, 4, f"rank{rank}.json"
        trace.rows = [row._replace(talk=(row.talk[0], "tp", 2, 0)) if row.talk else row for row in trace.rows]
        traces.append(trace)
    v = judged(*traces)
    assert v.parts[0].share("network.imbalance").amount == 0


def test_the_table_of_ranks_has_a_row_a_rank() -> None:
    v = judged(*job(late=only(1, 12)))
    table = v.tables["ranks"]
    names = [column.name for column in table.columns]
    rows = [dict(zip(names, row, strict=True)) for row in table.rows]
    assert [row["rank"] for row in rows] == [0, 1]
    assert [row["binding"] for row in rows] == ["network.imbalance", "serial"]
    assert rows[0]["waiting"] == pytest.approx(8 * 12 * MS)
    assert rows[1]["kept_waiting"] == pytest.approx(8 * 12 * MS)
    assert [row["last_in"] for row in rows] == [0, 8] or rows[1]["last_in"] == 8


def test_ranks_of_a_cpu_job_meet_in_gloo() -> None:
    traces = [Trace(rank=rank, world=2, device=None, source=f"rank{rank}.json") for rank in range(2)]
    for at in every(20, 6):
        traces[0].op("aten::mm", at, 3).range("gloo:all_reduce", at + 3, 14, thread="gloo").op("aten::add", at + 17, 1)
        traces[1].op("aten::mm", at, 15).range("gloo:all_reduce", at + 15, 2, thread="gloo").op("aten::add", at + 17, 1)
    v = judged(*traces)
    assert v.binding == "network.imbalance"
    assert kept_waiting(v) == pytest.approx({"rank 1": 6 * 12})
    assert "meanwhile it was in cpu" in (told(v, "straggler")[0].detail or "")
