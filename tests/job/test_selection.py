"""Which traces are the ranks of the job."""

import pytest
from tests.job.builder import Trace, judged

from longpole.errors import UsageError
from longpole.job.selection import select


def trace(rank: int | None, source: str, *, empty: bool = False) -> Trace:
    made = Trace(rank=rank, source=source)
    return made if empty else made.launch(0, 5)


def chosen(*traces: Trace) -> tuple[list[tuple[int | None, str]], list[str]]:
    found, notes = select([t.build() for t in traces])
    return [(t.rank, t.source) for t in found], notes


def test_ranks_come_in_order() -> None:
    assert chosen(trace(2, "c"), trace(0, "a"), trace(1, "b")) == ([(0, "a"), (1, "b"), (2, "c")], [])


def test_of_two_of_one_rank_the_first_is_read_and_the_other_said() -> None:
    found, notes = chosen(trace(0, "a"), trace(0, "again"), trace(1, "b"))
    assert found == [(0, "a"), (1, "b")]
    assert notes == ["again says it is rank 0, as a does; only the first was read"]


def test_empty_traces_are_left_out_and_said() -> None:
    found, notes = chosen(trace(0, "a"), trace(1, "hollow", empty=True))
    assert found == [(0, "a")]
    assert notes == ["hollow holds no events and was left out"]


def test_traces_without_a_rank_are_numbered_in_order() -> None:
    found, notes = chosen(trace(None, "a"), trace(None, "b"))
    assert found == [(0, "a"), (1, "b")]
    assert notes == ["2 traces name no rank; they were numbered in the order of their names"]


def test_numbers_that_are_free_are_given_out() -> None:
    found, _ = chosen(trace(None, "x"), trace(0, "a"), trace(2, "c"))
    assert found == [(0, "a"), (1, "x"), (2, "c")]


def test_one_trace_needs_no_rank() -> None:
    assert chosen(trace(None, "only")) == ([(None, "only")], [])


def test_what_selection_says_is_in_the_verdict() -> None:
    v = judged(trace(0, "a"), trace(0, "again"))
    assert v.subject.kind == "job" and not v.parts
    assert "only the first was read" in v.notes[0]


def test_parts_are_named_by_their_rank() -> None:
    v = judged(trace(3, "d"), trace(1, "b"))
    assert [part.subject.name for part in v.parts] == ["rank 1", "rank 3"]
    assert v.subject.name.endswith(" and 1 more")


def test_cycles_of_one_process_are_no_ranks() -> None:
    first, second = trace(None, "a"), trace(None, "b")
    second.rows = [row._replace(start_ns=row.start_ns + 10**9, end_ns=row.end_ns + 10**9) for row in second.rows]
    found, notes = chosen(second, first)
    assert found == [(None, "b")]
    assert "cycles of its profiler; only the last was judged: b" in notes[0]


def test_traces_that_share_neither_ranks_nor_collectives_are_refused() -> None:
    with pytest.raises(UsageError, match="a, b: no rank is named and no collective is shared"):
        judged(trace(None, "a"), trace(None, "b"))


def test_traces_without_ranks_that_share_collectives_are_one_job() -> None:
    def rank(source: str) -> Trace:
        made = Trace(rank=None, source=source)
        for at in range(0, 50, 10):
            made.launch(at, 3).collective(at + 4, 2, group="all", size=2)
        return made

    assert judged(rank("a"), rank("b")).share("network.collective").amount
