"""The terminal page: snapshots of whole pages, and what must hold of every page.

A snapshot is a text file under pages/. After a wanted change: UPDATE_PAGES=1 pytest tests/front/test_terminal.py,
then read the diff.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
from rich.cells import cell_len

from longpole.render import terminal
from longpole.verdict import Evidence, Fix, Share, Subject, Verdict, Window

PAGES = Path(__file__).parent / "pages"
SNAPSHOTS = [
    ("fed_badly", 40),
    ("fed_badly", 80),
    ("fed_badly", 120),
    ("healthy", 80),
    ("tied", 80),
    ("blind", 80),
    ("ranks", 40),
    ("ranks", 80),
    ("ranks_40", 80),
    ("hostile", 80),
    ("unicode_names", 80),
    ("empty", 80),
]


@pytest.mark.parametrize(("name", "width"), SNAPSHOTS)
def test_page_is_the_one_that_was_agreed(name: str, width: int, verdicts: dict[str, Verdict]) -> None:
    page = terminal.render(verdicts[name], width=width)
    path = PAGES / f"{name}.{width}.txt"
    if os.environ.get("UPDATE_PAGES"):
        path.parent.mkdir(exist_ok=True)
        path.write_text(page, encoding="utf-8")
    assert page == path.read_text(encoding="utf-8")


@pytest.mark.parametrize("width", [1, 40, 59, 60, 71, 72, 80, 100, 120, 10_000])
def test_no_line_is_wider_than_the_page(verdict: Verdict, width: int) -> None:
    for line in terminal.render(verdict, width=width).splitlines():
        assert cell_len(line) <= max(40, min(width, 120)), line
        assert line == line.rstrip()


def test_first_line_names_the_binding_cause(verdicts: dict[str, Verdict]) -> None:
    page = terminal.render(verdicts["fed_badly"], width=120)
    assert page.startswith("input.cpu binds: 61 % of the wall-clock waits for the next batch")
    assert "Feeding the GPU gives up to 2.6x; even infinitely fast kernels would give 1.28x." in page


def test_a_page_for_one_rank_fits_a_screen(verdicts: dict[str, Verdict]) -> None:
    assert len(terminal.render(verdicts["fed_badly"], width=80).splitlines()) <= 40


def test_without_colour_a_page_is_plain_text(verdict: Verdict) -> None:
    page = terminal.render(verdict, colour=False)
    assert all(c == "\n" or c.isprintable() for c in page)


def test_colour_changes_styles_and_nothing_else(verdict: Verdict) -> None:
    plain, coloured = (terminal.render(verdict, width=80, colour=c) for c in (False, True))
    assert [line.rstrip() for line in re.sub(r"\x1b\[[\d;]*m", "", coloured).splitlines()] == plain.splitlines()


def test_hostile_names_reach_the_terminal_only_as_escapes(verdicts: dict[str, Verdict]) -> None:
    page = terminal.render(verdicts["hostile"], width=120, colour=True)
    assert "\x1b[31m</script>" not in page
    assert "\\x1b[31m" in page
    for bad in ("\u202e", "\x00", "\x9b", "\ud800"):
        assert bad not in page


def test_ascii_page_is_ascii(verdict: Verdict) -> None:
    assert terminal.render(verdict, ascii_only=True).isascii()


def test_numbers_do_not_depend_on_the_environment(
    verdicts: dict[str, Verdict], monkeypatch: pytest.MonkeyPatch
) -> None:
    before = terminal.render(verdicts["fed_badly"], width=80)
    for name, value in {"COLUMNS": "200", "NO_COLOR": "1", "FORCE_COLOR": "1", "TTY_INTERACTIVE": "1"}.items():
        monkeypatch.setenv(name, value)
    assert terminal.render(verdicts["fed_badly"], width=80) == before


def test_rank_that_is_late_is_shown_among_many(verdicts: dict[str, Verdict]) -> None:
    page = terminal.render(verdicts["ranks_40"], width=80)
    assert "> rank 39" in page
    assert "and 25 more: 25 network.imbalance" in page


def test_fixes_are_ordered_by_effort(verdicts: dict[str, Verdict]) -> None:
    page = terminal.render(verdicts["fed_badly"], width=120)
    at = [page.index(f"\n  {effort}") for effort in ("seconds", "minutes", "hours", "days")]
    assert at == sorted(at)
    assert "at most 2.6x" in page
    assert "at most more" not in page


def test_lists_that_are_long_are_cut_and_counted() -> None:
    verdict = Verdict(
        subject=Subject("job", "x"),
        window=Window(10, "ns"),
        shares=(Share(cause="input", amount=10, removable=9),),
        evidence=tuple(Evidence(what="dispatch", where=f"thread {i}", measured=i) for i in range(20)),
        fixes=tuple(Fix(cause="input", do=f"do {i}", effort="hours") for i in range(20)),
        notes=tuple(f"note {i}" for i in range(20)),
    )
    page = terminal.render(verdict)
    assert "and 14 more that are fine" in page
    assert page.count("\n  hours") == 6
    assert "and 16 more" in page


def test_window_in_other_units_is_no_time() -> None:
    shares = (
        Share(cause="prefix.changed", amount=9_000, removable=8_000),
        Share(cause="unknown", amount=1, removable=0),
    )
    page = terminal.render(Verdict(subject=Subject("prompts", "log"), window=Window(9_001, "tokens"), shares=shares))
    assert "of the tokens" in page
    assert "9,000 tokens" in page
