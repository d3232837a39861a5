"""What is said of the ranks together."""

import pytest
from tests.job.builder import MS, Trace, every, judged, told
from tests.job.ranks import job, only


def test_stragglers_are_named_the_worst_first_and_three_at_most() -> None:
    lateness = {1: 4.0, 2: 9.0, 3: 6.0, 4: 5.0}
    v = judged(*job(ranks=8, steps=20, late=lambda rank, step: lateness.get(rank, 0) if 1 + step % 4 == rank else 0))
    assert [fact.where for fact in told(v, "straggler")] == ["rank 2", "rank 3", "rank 4"]


def test_a_little_lateness_is_no_straggler() -> None:
    v = judged(*job(work=20, late=only(1, 0.3)))
    assert not told(v, "straggler")


def test_several_things_at_once_are_told_with_their_part() -> None:
    traces = job(late=only(1, 12))
    begin = 0.0
    for _ in range(8):
        traces[1].copy("HtoD", "Pageable", begin + 6, 4)
        begin += 17.2
    (fact,) = told(judged(*traces), "straggler")
    assert fact.detail is not None
    assert "serial (66%)" in fact.detail and "copy (33%)" in fact.detail


def test_the_spread_of_the_ends_is_the_error_of_every_statement_about_lateness() -> None:
    v = judged(*job(steps=12, leaves=lambda rank, step: 0.05 * (step % 3) if rank else 0))
    (fact,) = told(v, "clock_alignment")
    assert fact.measured == pytest.approx(0.05 * MS)
    assert fact.status == "ok"


def test_ranks_that_never_meet_have_no_common_clock() -> None:
    traces = [Trace(rank=rank, source=f"rank{rank}").launch(0, 5) for rank in range(2)]
    v = judged(*traces)
    (fact,) = told(v, "clock_alignment")
    assert (fact.measured, fact.status) == (None, "unknown")


def test_a_world_that_is_there_is_not_missed() -> None:
    assert not told(judged(*job(ranks=2)), "missing_ranks")


def test_a_world_that_nobody_states_is_not_missed_either() -> None:
    traces = job(ranks=2)
    for trace in traces:
        trace.world = None
    v = judged(*traces)
    assert not told(v, "missing_ranks")
    assert "network.collective" in {share.cause for share in v.shares}


def test_notes_of_a_rank_carry_its_name() -> None:
    traces = job()
    traces[1].notes = ("the file breaks off",)
    assert "rank 1: the file breaks off" in judged(*traces).notes


def test_what_is_not_well_on_the_rank_that_tells_most_is_evidence_of_the_job() -> None:
    """Rank 1 is late because it copies from pageable memory: that is the finding, not what rank 0 was in."""
    traces, at = job(late=only(1, 12)), 0.0
    for _ in range(8):
        traces[1].copy("HtoD", "Pageable", at + 3.1, 11.9)
        at += 17.2
    v = judged(*traces)
    (fact,) = told(v, "pageable_copies")
    assert fact.where == "rank 1, host to device, pageable"
    assert any(fix.do.startswith("on rank 1, which is late: pin the host memory") for fix in v.fixes)


def test_the_job_adds_up_over_its_ranks() -> None:
    v = judged(*job(ranks=4, late=only(2, 5)))
    assert v.window.amount == sum(part.window.amount for part in v.parts)
    for cause in ("gpu.compute", "network.collective"):
        assert v.share(cause).amount == pytest.approx(sum(part.share(cause).amount for part in v.parts), rel=0.01)


def test_a_job_whose_ranks_hide_their_kernels_is_not_answered() -> None:
    traces = [Trace(rank=rank, world=2, source=f"rank{rank}") for rank in range(2)]
    for trace in traces:
        for at in every(10, 5):
            trace.call("cudaGraphLaunch", at, 0.05, causes=int(at) + 1).sync(at + 0.05, 9.9)
    v = judged(*traces)
    assert (v.binding, v.exit_code) == (None, 3)
