"""What to do about each cause, the cheapest first, and how much it can give."""

import pytest
from tests.job.builder import Trace, judged

from longpole.job.causes import CAUSES
from longpole.job.fixes import LEAST_FACTOR, REMEDIES, Culprit, fixes_of
from longpole.verdict import HEALTHY, Evidence, Share, Status, Subject, Verdict, Window

EFFORTS = ["seconds", "minutes", "hours", "days", "weeks"]


def verdict(evidence: tuple[Evidence, ...] = (), **removable: int) -> Verdict:
    """A verdict whose shares can all be removed; a double underscore stands for a dot, the window is 1000."""
    shares = [Share(cause=cause.replace("__", "."), amount=ns, removable=ns) for cause, ns in removable.items()]
    rest = 1000 - sum(removable.values())
    v = Verdict(
        subject=Subject("job", "t"),
        window=Window(1000, "ns"),
        shares=(
            *shares,
            Share(cause="profiler", amount=0, removable=0),
            Share(cause="other", amount=rest, removable=0),
        ),
        evidence=evidence,
    )
    v.check()
    return v


def fact(
    what: str,
    status: Status = "slow",
    measured: float | None = None,
    limit: float | None = None,
    where: str = "host to device",
) -> Evidence:
    return Evidence(what=what, where=where, status=status, measured=measured, limit=limit)


def test_every_remedy_is_for_a_cause_that_is_explained() -> None:
    assert {remedy.cause for remedy in REMEDIES} <= {cause.word for cause in CAUSES}


def test_every_cause_that_a_trace_can_show_has_a_remedy() -> None:
    helped = {remedy.cause for remedy in REMEDIES}
    not_seen_in_a_trace = {"queue", "memory", "gpu.memory", "profiler"}
    assert {cause.word.split(".")[0] if cause.word.startswith("input") else cause.word for cause in CAUSES} <= (
        helped | not_seen_in_a_trace
    )


def test_the_cheapest_comes_first_within_a_cause() -> None:
    for cause in {remedy.cause for remedy in REMEDIES}:
        efforts = [EFFORTS.index(fix.effort) for fix in fixes_of(verdict((), **{cause.replace(".", "__"): 500}))]
        assert efforts == sorted(efforts)


def test_the_largest_cause_comes_first() -> None:
    causes = [fix.cause for fix in fixes_of(verdict(launch=300, input=600))]
    assert causes == sorted(causes, key=("input", "launch").index)


def test_a_cause_that_gives_little_is_not_worth_a_line() -> None:
    assert {fix.cause for fix in fixes_of(verdict(input=800, alloc=90))} == {"input"}


def test_what_can_go_whole_gives_the_whole_ceiling() -> None:
    fix = next(f for f in fixes_of(verdict(input=500)) if "num_workers" in f.do)
    assert fix.at_most == pytest.approx(2.0)


def test_more_precise_inputs_share_the_remedies_of_their_family() -> None:
    found = fixes_of(verdict(input__cpu=500))
    assert found and {fix.cause for fix in found} == {"input.cpu"}


def test_pinned_copies_leave_what_the_link_takes() -> None:
    v = verdict((fact("pageable_copies", measured=10e9, limit=50e9),), copy=500)
    fix = next(f for f in fixes_of(v) if f.do.startswith("pin"))
    assert fix.at_most == pytest.approx(1000 / 600)


def test_pinning_is_not_advised_where_nothing_is_pageable_nor_where_it_gives_nothing() -> None:
    assert not any(f.do.startswith("pin") for f in fixes_of(verdict((fact("pinned_copies"),), copy=500)))
    at_limit = verdict((fact("pageable_copies", measured=49e9, limit=50e9),), copy=500)
    assert LEAST_FACTOR > 1000 / 990
    assert not any(f.do.startswith("pin") for f in fixes_of(at_limit))


def test_every_rank_is_to_be_recorded_where_some_are_missing() -> None:
    assert any("record every rank" in f.do for f in fixes_of(verdict((fact("missing_ranks", "unknown"),), network=500)))
    assert not any("record every rank" in f.do for f in fixes_of(verdict(network=500)))


def test_without_a_limit_no_number_is_promised() -> None:
    fix = next(
        f for f in fixes_of(verdict((fact("pageable_copies", measured=1e9),), copy=500)) if f.do.startswith("pin")
    )
    assert fix.at_most is None


def test_overlap_gives_no_more_than_the_kernels_last() -> None:
    v = verdict(copy=600, gpu__compute=300)
    fix = next(f for f in fixes_of(v) if "side stream" in f.do)
    assert fix.at_most == pytest.approx(1000 / (1000 - 300))


def test_results_are_copied_out_into_pinned_memory() -> None:
    v = verdict((fact("pageable_copies", measured=10e9, limit=50e9, where="device to host, pageable"),), copy=500)
    fixes = fixes_of(v)
    assert not any(f.do.startswith("pin the host memory") for f in fixes)
    fix = next(f for f in fixes if f.do.startswith("copy out into a pinned buffer"))
    assert fix.at_most == pytest.approx(1000 / 600)


def test_small_copies_are_gathered_to_the_device_and_read_back_less_often_from_it() -> None:
    there = {f.do[:4] for f in fixes_of(verdict((fact("small_copies"),), launch=500))}
    back = {f.do[:4] for f in fixes_of(verdict((fact("small_copies", where="device to host"),), launch=500))}
    assert "put " in there - back
    assert "read" in back - there


def test_a_serial_section_with_a_name_is_to_be_looked_at_one_without_to_be_recorded() -> None:
    named = fixes_of(verdict((fact("serial_sections", where="train.py(9): crop"),), serial=500))
    assert named[0].do.startswith("look at what train.py(9): crop does")
    assert not any("with_stack" in f.do for f in named)
    nameless = fixes_of(verdict((fact("serial_sections", "unknown", where="between a and b"),), serial=500))
    assert any("with_stack" in f.do for f in nameless)


def test_half_precision_is_advised_where_kernels_multiply_float32() -> None:
    for name, advised in (("ampere_sgemm_128x64_tn", True), ("nvjet_hsh_256x128_tn", False)):
        v = judged(Trace().launch(0, 50, name=name).sync(0.1, 49.95))
        assert v.binding == "gpu.compute"
        assert any("half precision" in f.do for f in v.fixes) is advised


def test_the_upper_end_of_a_range_is_what_a_fix_gives_at_most() -> None:
    share = Share(cause="input", amount=600, removable=200, removable_high=500)
    rest = Share(cause="other", amount=400, removable=0)
    v = Verdict(subject=Subject("job", "t"), window=Window(1000, "ns"), shares=(share, rest))
    assert next(f for f in fixes_of(v) if "num_workers" in f.do).at_most == pytest.approx(2.0)


def test_a_save_in_the_background_still_copies_out() -> None:
    v = verdict((fact("checkpoint_saves", measured=500, limit=100),), checkpoint=500)
    fix = next(f for f in fixes_of(v) if "async_save" in f.do)
    assert fix.at_most == pytest.approx(1000 / 600)


def test_waits_are_only_advised_against_where_they_cost() -> None:
    assert not any(".item()" in f.do for f in fixes_of(verdict((fact("synchronisation", "ok"),), launch=500)))
    assert any(".item()" in f.do for f in fixes_of(verdict((fact("synchronisation"),), launch=500)))


def test_a_late_ranks_remedy_is_its_own() -> None:
    found = fixes_of(verdict(network__imbalance=500), Culprit("rank 3", "input"))
    assert found[0].do.startswith("on rank 3, which is late: raise num_workers")
    assert found[0].cause == "network.imbalance"
    assert found[0].at_most == pytest.approx(2.0)
    assert not any("on rank 3" in f.do for f in fixes_of(verdict(input=500), Culprit("rank 3", "input")))


def test_what_is_not_answered_is_to_be_recorded() -> None:
    found = fixes_of(verdict(input=200, unknown=500))
    assert found and {f.cause for f in found} == {"unknown"}
    assert not any(f.cause == "unknown" for f in fixes_of(verdict(input=600, unknown=100)))


def test_a_healthy_job_is_told_how_to_make_kernels_faster() -> None:
    found = fixes_of(verdict(gpu__compute=900))
    assert found and {f.cause for f in found} <= HEALTHY
    assert all(f.at_most is None for f in found)
