"""The rate of large collectives, as NCCL counts its bus bandwidth."""

import pytest
from tests.job.builder import Trace, judged, told
from tests.job.ranks import job, only

from longpole.verdict import Evidence

GB = 1 << 30


def sized(traces: list[Trace], size_bytes: int) -> list[Trace]:
    """The same job, whose collectives move that much."""
    for trace in traces:
        trace.rows = [row._replace(talk=(*row.talk[:3], size_bytes)) if row.talk else row for row in trace.rows]
    return traces


def rate(*traces: Trace) -> Evidence:
    verdict = judged(*traces)
    return told(verdict.parts[0] if verdict.parts else verdict, "collective_rate")[0]


PASSES = {
    "allreduce": 2,
    "_allgather_base": 1,
    "reduce_scatter": 1,
    "_reduce_scatter_base": 1,
    "all_to_all": 1,
    "alltoallv": 1,
}


@pytest.mark.parametrize(("operation", "passes"), PASSES.items())
def test_a_collective_carries_its_bytes_as_often_as_the_operation_needs(operation: str, passes: int) -> None:
    fact = rate(*sized(job(ranks=4, wire=10, operation=operation), GB))
    assert fact.measured == pytest.approx(passes * GB * 3 / 4 / 0.010, rel=0.001)


def test_waiting_for_a_late_rank_is_not_on_the_wire() -> None:
    fact = rate(*sized(job(wire=10, late=only(1, 30)), GB))
    assert fact.measured == pytest.approx(GB / 0.010, rel=0.001)
    assert fact.detail is not None and fact.detail.endswith("after the last rank came")


def test_one_rank_alone_includes_the_waiting_and_says_so() -> None:
    fact = rate(*sized(job(wire=10, late=only(1, 30), given=1), GB))
    assert fact.measured == pytest.approx(GB / 0.040, rel=0.001)
    assert fact.detail is not None and fact.detail.endswith("waiting for late ranks included")


def test_a_rate_far_under_the_links_is_slow() -> None:
    assert rate(*sized(job(wire=100), GB)).status == "slow"
    assert rate(*sized(job(wire=3), GB)).status == "ok"


@pytest.mark.parametrize("operation", ["broadcast", "send_recv", "barrier"])
def test_operations_whose_load_on_a_link_is_not_known_have_no_rate(operation: str) -> None:
    assert not told(judged(*sized(job(operation=operation, given=1), GB)), "collective_rate")


def test_small_collectives_and_unknown_sizes_have_none() -> None:
    assert not told(judged(*sized(job(given=1), 4096)), "collective_rate")
    assert not told(judged(*sized(job(given=1), -1)), "collective_rate")
    assert not told(judged(*job(given=1, told=False)), "collective_rate")
