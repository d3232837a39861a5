"""Gates of --fail-if: what can be written, and when it holds."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from longpole.errors import UsageError
from longpole.gate import failure, parse_gate, unmeasured
from longpole.job.causes import CAUSES
from longpole.verdict import Share, Subject, Verdict, Window

WORDS = [cause.word for cause in CAUSES]


def job(**amounts: int) -> Verdict:
    shares = tuple(Share(cause=w.replace("_", "."), amount=a, removable=a // 2) for w, a in amounts.items())
    return Verdict(subject=Subject("job", "x"), window=Window(sum(amounts.values()), "ns"), shares=shares)


@pytest.mark.parametrize(
    ("text", "holds"),
    [
        ("input>20%", True),
        ("input > 61 %", False),
        ("input>=61%", True),
        ("input.cpu>=50%", True),
        ("input.cpu>50%", False),
        ("input.disk>10.5%", True),
        ("copy<50%", True),
        ("copy<=0%", True),
        ("queue>0%", False),
        ("gpu>=39%", True),
        ("input>=6.1us", True),
        ("input>6.1 us", False),
        ("input>=6100ns", True),
        ("unknown>30%", False),
        ("ceiling>1.3", True),
        ("ceiling>1.34x", False),
        ("ceiling<2", True),
    ],
)
def test_gate_holds(text: str, holds: bool) -> None:
    verdict = job(input_cpu=5_000, input_disk=1_100, gpu_compute=3_900)
    assert verdict.ceiling == pytest.approx(10_000 / 7_500)
    told = failure(parse_gate(text, WORDS), verdict)
    assert (told is not None) is holds
    if told is not None:
        assert told.startswith(f"{text} holds: ")


def test_the_failure_says_what_was_measured() -> None:
    verdict = job(input_cpu=6_100, gpu_compute=3_900)
    assert failure(parse_gate("input>20%", WORDS), verdict) == "input>20% holds: input is 61 %"
    assert failure(parse_gate("input>1us", WORDS), verdict) == "input>1us holds: input is 6.10 us"


def test_a_ceiling_without_bound_is_above_every_number() -> None:
    verdict = Verdict(
        subject=Subject("job", "x"), window=Window(10, "ns"), shares=(Share(cause="input", amount=10, removable=10),)
    )
    assert verdict.ceiling is None
    assert failure(parse_gate("ceiling>1000", WORDS), verdict) == "ceiling>1000 holds: ceiling is without bound"
    assert failure(parse_gate("ceiling<1000", WORDS), verdict) is None


def test_where_nothing_binds_there_is_no_ceiling(verdicts: dict[str, Verdict]) -> None:
    for text in ("ceiling>1", "ceiling<100"):
        assert failure(parse_gate(text, WORDS), verdicts["tied"]) is None


def test_an_empty_window_has_no_share_of_anything(verdicts: dict[str, Verdict]) -> None:
    assert failure(parse_gate("input>0%", WORDS), verdicts["empty"]) is None


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "is no gate"),
        ("input", "is no gate"),
        ("input>", "is no gate"),
        (">20%", "is no gate"),
        ("input=20%", "is no gate"),
        ("inptu>20%", "did you mean input"),
        ("celing>2", "did you mean ceiling"),
        ("in>20%", "is no cause"),
        ("zzz>20%", "lists the causes"),
        ("input>20", "of what?"),
        ("input>2x", "of what?"),
        ("input>120%", "at most 100 %"),
        ("input>-5%", "is not a duration"),
        ("input>5 parsecs", "is not a duration"),
        ("ceiling>20%", "a ceiling is a speed-up"),
        ("ceiling>5ms", "a ceiling is a speed-up"),
    ],
)
def test_a_gate_that_makes_no_sense_is_refused(text: str, says: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_gate(text, WORDS)
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_time_against_other_units_is_refused() -> None:
    verdict = Verdict(
        subject=Subject("prompts", "x"),
        window=Window(10, "tokens"),
        shares=(Share(cause="input", amount=10, removable=10),),
    )
    with pytest.raises(UsageError, match="counts tokens"):
        failure(parse_gate("input>5ms", WORDS), verdict)


@given(st.integers(0, 1000), st.integers(0, 1000), st.integers(0, 100))
def test_a_gate_is_exact(charged: int, rest: int, limit: int) -> None:
    verdict = job(copy=charged, unknown=rest)
    told = failure(parse_gate(f"copy>{limit}%", WORDS), verdict)
    assert (told is not None) == (charged * 100 > limit * (charged + rest))


@given(st.text(max_size=30))
def test_any_text_is_a_gate_or_refused(text: str) -> None:
    with contextlib.suppress(UsageError):
        parse_gate(text, WORDS)


@pytest.mark.parametrize(
    ("text", "cause", "said"),
    [
        ("network.imbalance>5%", "network", "network was not told apart in this trace"),
        ("input.cpu>5%", "input", "input was not told apart in this trace"),
        ("queue>1%", "launch", "a trace does not show queue"),
        ("network>90%", "network", None),
        ("input>90%", "input", None),
        ("network.imbalance>5%", "copy", None),
    ],
)
def test_what_can_not_be_told_is_not_passed(text: str, cause: str, said: str | None) -> None:
    verdict = Verdict(
        subject=Subject("job", "j"), window=Window(100, "ns"), shares=(Share(cause=cause, amount=100, removable=80),)
    )
    told = unmeasured(parse_gate(text, [c.word for c in CAUSES]), verdict)
    assert told is None if said is None else told == f"{text} was not measured: {said}"


@pytest.mark.parametrize("text", ["ceiling>{}", "copy>{}%", "copy>{}ms"])
def test_numbers_without_end_are_refused(text: str) -> None:
    with pytest.raises(UsageError):
        parse_gate(text.format("9" * 5000), WORDS)
