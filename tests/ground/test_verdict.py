"""The arithmetic of Amdahl, in the one place where it is kept."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from longpole.verdict import HEALTHY, UNBINDABLE, Share, Subject, Verdict, Window


def verdict(*shares: tuple[str, int, int], **more: Any) -> Verdict:
    """A verdict from (cause, amount, removable), whose window is what the shares add up to."""
    made = tuple(Share(cause=c, amount=a, removable=r) for c, a, r in shares)
    window = Window(sum(a for _, a, _ in shares), "ns")
    return Verdict(subject=Subject("job", "test"), window=window, shares=made, **more)


def test_the_largest_removable_share_binds_not_the_largest_charged() -> None:
    v = verdict(("copy", 600, 100), ("input.cpu", 400, 390))
    v.check()
    assert (v.binding, v.runner_up, v.exit_code) == ("input.cpu", "copy", 0)
    assert v.ceiling == pytest.approx(1000 / 610)


def test_ceiling_and_caps_are_two_sides_of_amdahl() -> None:
    v = verdict(("gpu.compute", 220, 220), ("launch", 780, 780))
    assert v.ceiling_of(v.share("gpu.compute")) == pytest.approx(1.28, abs=0.003)
    serial = verdict(("serial", 50, 50), ("gpu.compute", 950, 950))
    assert serial.caps_at(serial.share("serial")) == 20.0
    assert serial.caps_at(serial.share("copy")) is None


def test_the_profiler_is_not_part_of_the_work() -> None:
    v = verdict(("profiler", 500, 500), ("copy", 100, 100), ("gpu.compute", 400, 300))
    assert v.work == 500
    assert v.binding == "gpu.compute"
    assert v.ceiling == pytest.approx(500 / 200)
    assert v.caps_at(v.share("copy")) == 5.0


def test_all_removable_is_without_bound() -> None:
    v = verdict(("copy", 100, 100))
    assert v.binding == "copy"
    assert v.ceiling is None


def test_a_bounded_removable_gives_a_range() -> None:
    share = Share(cause="copy", amount=500, removable=400, removable_low=200, removable_high=500)
    v = Verdict(
        subject=Subject("job", "t"),
        window=Window(1000, "ns"),
        shares=(share, Share(cause="cpu", amount=500, removable=0)),
    )
    v.check()
    assert v.ceiling_range(share) == (pytest.approx(1.25), pytest.approx(2.0))
    assert v.ceiling_of(share) == pytest.approx(1000 / 600)


def test_two_within_the_noise_are_a_tie_and_an_answer() -> None:
    v = verdict(("copy", 400, 400), ("input.cpu", 390, 390), ("gpu.compute", 210, 10), noise=10)
    assert v.tied
    assert v.binding is None and v.ceiling is None
    assert (v.leader and v.leader.cause, v.runner_up) == ("copy", "input.cpu")
    assert v.exit_code == 0
    assert verdict(("copy", 400, 400), ("input.cpu", 389, 389), noise=10).binding == "copy"


def test_a_dead_heat_is_a_tie_without_any_noise() -> None:
    assert verdict(("copy", 400, 400), ("input.cpu", 400, 400)).tied


def test_one_cause_alone_is_no_tie_however_large_the_noise() -> None:
    v = verdict(("copy", 400, 300), ("cpu", 600, 0), noise=10**9)
    assert not v.tied
    assert v.binding == "copy"
    assert v.runner_up is None


@pytest.mark.parametrize("unknown", [400, 401])
def test_what_was_not_seen_may_hide_the_answer(unknown: int) -> None:
    v = verdict(("copy", 400, 400), ("unknown", unknown, unknown))
    assert not v.answered
    assert v.binding is None and v.ceiling is None
    assert v.exit_code == 3
    assert v.leader is not None and v.leader.cause == "copy"


def test_a_tie_beside_a_larger_unknown_is_no_answer() -> None:
    """Two links that lead equally say nothing while what was not seen is larger than both."""
    v = verdict(("copy", 100, 100), ("input.cpu", 100, 100), ("unknown", 800, 800))
    assert v.tied
    assert v.binding is None
    assert v.exit_code == 3


def test_a_smaller_unknown_does_not_matter_even_where_it_was_removable() -> None:
    v = verdict(("copy", 400, 400), ("unknown", 399, 399))
    assert v.binding == "copy"
    assert v.runner_up is None


def test_nothing_removable_is_no_answer() -> None:
    v = verdict(("gpu.compute", 400, 0), ("copy", 600, 0))
    assert v.leader is None and v.binding is None and v.runner_up is None
    assert not v.tied
    assert v.exit_code == 3


def test_an_empty_window_is_no_answer_and_divides_by_nothing() -> None:
    v = verdict()
    v.check()
    assert (v.binding, v.ceiling, v.leader, v.exit_code) == (None, None, None, 3)
    assert v.ceiling_of(v.share("copy")) is None


def test_unbindable_causes_never_lead() -> None:
    v = verdict(("unknown", 1, 1), ("profiler", 900, 900), ("copy", 99, 99))
    assert v.binding == "copy"
    assert not UNBINDABLE & HEALTHY


@pytest.mark.parametrize(
    ("shares", "window"),
    [
        ([Share(cause="copy", amount=10, removable=10)], 11),
        ([Share(cause="copy", amount=10, removable=11)], 10),
        ([Share(cause="copy", amount=10, removable=5, removable_low=6)], 10),
        ([Share(cause="copy", amount=10, removable=5, removable_high=11)], 10),
        ([Share(cause="copy", amount=10, removable=-1)], 10),
        ([Share(cause="copy", amount=5, removable=1), Share(cause="copy", amount=5, removable=1)], 10),
    ],
)
def test_check_finds_what_breaks_the_rules(shares: list[Share], window: int) -> None:
    v = Verdict(subject=Subject("job", "t"), window=Window(window, "ns"), shares=tuple(shares))
    with pytest.raises(AssertionError):
        v.check()
    whole = verdict(("copy", 1, 1), parts=(v,))
    with pytest.raises(AssertionError):
        whole.check()


CAUSES = ("copy", "input.cpu", "gpu.compute", "launch", "unknown", "profiler")


@st.composite
def verdicts(draw: st.DrawFn) -> Verdict:
    causes = draw(st.lists(st.sampled_from(CAUSES), unique=True))
    shares = []
    for cause in causes:
        amount = draw(st.integers(0, 50))
        shares.append((cause, amount, draw(st.integers(0, amount))))
    return verdict(*shares, noise=draw(st.integers(0, 5)))


@given(verdicts())
def test_an_answer_never_contradicts_its_own_numbers(v: Verdict) -> None:
    v.check()
    assert v.exit_code in (0, 3)
    assert (v.binding is not None) == (v.answered and not v.tied)
    if v.binding is not None:
        share = v.share(v.binding)
        assert v.binding not in UNBINDABLE
        assert all(share.removable > other.removable for other in v.ranked[1:])
        assert share.removable > v.share("unknown").amount
        assert v.ceiling is None or v.ceiling > 1
    else:
        assert v.ceiling is None
    if v.exit_code == 0:
        assert v.leader is not None and v.leader.removable > v.share("unknown").amount


@given(verdicts())
def test_the_order_of_the_shares_does_not_matter(v: Verdict) -> None:
    turned = Verdict(subject=v.subject, window=v.window, shares=v.shares[::-1], noise=v.noise)
    assert (turned.binding, turned.runner_up, turned.exit_code) == (v.binding, v.runner_up, v.exit_code)


def test_a_window_of_nothing_but_the_profiler_answers_nothing() -> None:
    shares = (Share(cause="profiler", amount=98, removable=98), Share(cause="serial", amount=2, removable=2))
    verdict = Verdict(subject=Subject("job", "x"), window=Window(100, "ns"), shares=shares)
    assert (verdict.binding, verdict.exit_code) == (None, 3)
