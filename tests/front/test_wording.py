"""The sentences of a verdict."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from longpole.job.causes import CAUSES
from longpole.render import wording
from longpole.verdict import Evidence, Fix, Share, Subject, Verdict, Window


def job(*shares: Share, noise: int = 0) -> Verdict:
    return Verdict(
        subject=Subject("job", "x"), window=Window(sum(s.amount for s in shares), "ns"), shares=shares, noise=noise
    )


def test_every_cause_has_words_and_a_place_in_the_chain() -> None:
    assert list(wording.PHRASES) == [cause.word for cause in CAUSES]


def test_chain_is_in_order_with_what_was_not_seen_last() -> None:
    words = ("unknown", "gpu.compute", "mystery", "profiler", "input.cpu", "queue")
    shares = (*(Share(cause=w, amount=1, removable=0) for w in words), Share(cause="copy", amount=0, removable=0))
    assert [s.cause for s in wording.chain(job(*shares))] == [
        "queue",
        "input.cpu",
        "gpu.compute",
        "mystery",
        "profiler",
        "unknown",
    ]


@pytest.mark.parametrize(
    ("low", "removable", "high", "said"),
    [
        (None, 50, None, "2.0x"),
        (40, 50, 60, "1.67x - 2.5x"),
        (50, 50, 50, "2.0x"),
        (50, 60, 90, "2.0x - over 5x"),
        (85, 90, 95, "more than 5x"),
        (None, 0, None, "1.00x"),
    ],
)
def test_ceiling_is_a_range_where_the_trace_carries_no_better(
    low: int | None, removable: int, high: int | None, said: str
) -> None:
    share = Share(cause="copy", amount=100, removable=removable, removable_low=low, removable_high=high)
    assert wording.ceiling(job(share), share) == said


@pytest.mark.parametrize(("amount", "said"), [(61, "1.64x"), (5, "20x"), (12, "8.3x"), (1, "over 100x"), (50, "2.0x")])
def test_cap_is_the_other_side_of_amdahl(amount: int, said: str) -> None:
    share = Share(cause="serial", amount=amount, removable=0)
    verdict = job(share, Share(cause="gpu.compute", amount=100 - amount, removable=0))
    assert wording.cap(verdict, share) == said


def test_kernels_are_what_the_answer_compares_with() -> None:
    verdict = job(
        Share(cause="input", amount=60, removable=60),
        Share(cause="copy", amount=30, removable=30),
        Share(cause="gpu.compute", amount=10, removable=0),
    )
    assert (
        wording.consequence(verdict)
        == "Feeding the GPU gives up to 2.5x; even infinitely fast kernels would give nothing."
    )


def test_without_kernels_it_compares_with_the_runner_up() -> None:
    verdict = job(Share(cause="input", amount=60, removable=60), Share(cause="copy", amount=40, removable=40))
    assert wording.consequence(verdict).endswith("even hiding the copies would give 1.67x.")


def test_a_link_alone_is_compared_with_nothing() -> None:
    verdict = job(Share(cause="input", amount=60, removable=50), Share(cause="unknown", amount=5, removable=0))
    assert wording.consequence(verdict) == "Feeding the GPU gives up to 4.3x."


def test_healthy_job_is_said_to_be_healthy(verdicts: dict[str, Verdict]) -> None:
    assert "healthy" in wording.consequence(verdicts["healthy"])


def test_healthy_job_is_told_how_near_the_limit_it_runs(verdicts: dict[str, Verdict]) -> None:
    bare = verdicts["healthy"]
    kernels = Evidence(what="kernels", where="GPU 0", measured=610.0, limit=659.0, unit="TFLOP/s")
    near = Verdict(subject=bare.subject, window=bare.window, shares=bare.shares, evidence=(kernels,))
    assert "runs at the pace of the GPU, at 610 of 659 TFLOP/s. Infinitely fast" in wording.consequence(near)


def test_tie_names_both(verdicts: dict[str, Verdict]) -> None:
    said = wording.answer(verdicts["tied"])
    assert "No single link binds" in said
    assert "input (31 %)" in said
    assert "copy (30 %)" in said


def test_too_little_seen_says_what_would_settle_it(verdicts: dict[str, Verdict]) -> None:
    assert "98 %" in wording.answer(verdicts["blind"])
    said = wording.consequence(verdicts["blind"])
    assert "graph_launches" in said
    assert "To settle it: record" in said


def test_a_fix_for_the_unknown_is_what_would_settle_it(verdicts: dict[str, Verdict]) -> None:
    blind = verdicts["blind"]
    fix = Fix(cause="unknown", do="record graph kernels", effort="minutes")
    told = Verdict(subject=blind.subject, window=blind.window, shares=blind.shares, fixes=(fix,))
    assert wording.consequence(told) == "To settle it: record graph kernels."


@pytest.mark.parametrize(
    ("measured", "limit", "unit", "said"),
    [
        (9.1, 55.0, "GB/s", "9.1 of 55 GB/s"),
        (26_100_000, None, "ns", "26.1 ms"),
        (26_100_000, 30_000_000, "ns", "26.1 ms against 30.0 ms"),
        (900_000, 30_000_000, "ns", "900 us against 30.0 ms"),
        (0.23, None, "fraction", "23 %"),
        (23, None, "%", "23 %"),
        (9.1e9, 55e9, "B/s", "9.10 of 55.0 GB/s"),
        (2_000_000, None, "bytes", "2.00 MB"),
        (2.5, None, "x", "2.5x"),
        (18_200, None, "launches", "18,200 launches"),
        (12_345.6, None, "", "12,345.6"),
        (7, 8, "", "7 of 8"),
        (None, None, "ns", "not measured"),
        (float("nan"), None, "ns", "not measured"),
    ],
)
def test_evidence_says_its_number_and_its_limit(
    measured: float | int | None, limit: float | int | None, unit: str, said: str
) -> None:
    item = Evidence(what="kernels", where="", measured=measured, limit=limit, unit=unit, status="unknown")
    assert wording.measured(item) == said


@given(st.text())
def test_plain_text_can_always_be_shown(text: str) -> None:
    assert wording.plain(text).isprintable()
    assert wording.plain(wording.plain(text)) == wording.plain(text)
    if text.isprintable():
        assert wording.plain(text) == text


def test_plain_escapes_what_would_steer_a_terminal() -> None:
    assert wording.plain("a\x1b[2J\u202eb\u00a0c\U000e0001") == "a\\x1b[2J\\u202eb c\\U000e0001"


def test_straggler_is_named_only_where_somebody_waits_for_it(verdicts: dict[str, Verdict]) -> None:
    assert wording.straggler(verdicts["ranks"]) == "Rank 1 is late: serial, in train.py(88): tokenise."
    assert wording.straggler(verdicts["fed_badly"]) is None
