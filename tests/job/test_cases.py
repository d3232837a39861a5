"""Real traces with a known truth: jobs with one planted bottleneck, their repaired twins, and traces of others.

`tests/cases/NAME/expected.toml` says what the verdict must be and where that truth comes from. No rule is tested only
here: these cases show that the rules together meet the real thing.
"""

from __future__ import annotations

import sys
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from tests.job.builder import MS, ns, told

from longpole import sources
from longpole.job import why
from longpole.job.attribution import Attribution, attribute
from longpole.timeline.columns import Timeline
from longpole.timeline.intervals import intersect, subtract
from longpole.verdict import Verdict

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

CASES = Path(__file__).resolve().parents[1] / "cases"
Expected = dict[str, Any]


@cache
def expected(case: str) -> Expected:
    with (CASES / case / "expected.toml").open("rb") as file:
        return tomllib.load(file)


@cache
def timelines(case: str) -> tuple[Timeline, ...]:
    return tuple(sources.read(sorted(path for path in (CASES / case).iterdir() if ".json" in path.name)))


@cache
def verdict(case: str) -> Verdict:
    made = why(timelines(case))
    made.check()
    return made


def having(*words: str) -> list[str]:
    """The cases whose expectation has all of these words."""
    names = sorted(path.name for path in CASES.iterdir() if path.is_dir())
    return [name for name in names if set(words) <= expected(name).keys()]


def per_step_ms(made: Verdict, amount_ns: int, iterations: int) -> float:
    """Of several ranks the mean: their verdict is in rank-time."""
    return amount_ns / MS / iterations / max(len(made.parts), 1)


@pytest.mark.parametrize("case", having())
def test_every_case_keeps_the_rules_of_the_house(case: str) -> None:
    made = verdict(case)
    assert made.exit_code == expected(case).get("exit_code", made.exit_code)
    assert not any(timeline.set_aside for timeline in timelines(case))


@pytest.mark.parametrize("case", having("binding"))
def test_the_planted_cause_binds(case: str) -> None:
    right = expected(case)["binding"]
    assert verdict(case).binding in (right or [None])


@pytest.mark.parametrize("case", having("removable_ms_per_step"))
def test_what_would_go_is_what_truly_went(case: str) -> None:
    want, made = expected(case), verdict(case)
    assert made.leader is not None
    saved = per_step_ms(made, made.leader.removable, want["iterations"])
    assert saved == pytest.approx(want["removable_ms_per_step"], rel=want.get("tolerance", 0.25))


@pytest.mark.parametrize("case", having("bare"))
def test_with_the_bare_step_what_would_go_is_what_truly_went(case: str) -> None:
    want = expected(case)["bare"]
    made = why(timelines(case), bare_step_ns=ns(want["step_ms"]))
    made.check()
    assert made.binding in want["binding"]
    assert made.leader is not None
    saved = per_step_ms(made, made.leader.removable, expected(case)["iterations"])
    assert saved == pytest.approx(want["removable_ms_per_step"], rel=0.25)


@pytest.mark.parametrize("case", having("gone"))
def test_in_the_repaired_twin_the_cause_is_gone(case: str) -> None:
    want, made = expected(case), verdict(case)
    for cause in want["gone"]:
        assert made.binding != cause
        left = per_step_ms(made, made.share(cause).removable, want["iterations"])
        assert left <= want["gone_at_most_ms_per_step"]


@pytest.mark.parametrize("case", having("steps"))
def test_the_steps_are_found(case: str) -> None:
    for timeline in timelines(case):
        assert len(attribute(timeline).steps) == expected(case)["steps"]


@pytest.mark.parametrize("case", having("late"))
def test_the_late_rank_is_named(case: str) -> None:
    want, worst = expected(case), told(verdict(case), "straggler")[0]
    assert worst.where == want["late"]
    assert f"meanwhile it was in {want.get('meanwhile', '')}" in (worst.detail or "")


@pytest.mark.parametrize("case", having("last_in"))
def test_the_late_rank_is_late_as_often_as_it_is(case: str) -> None:
    want, table = expected(case), verdict(case).tables["ranks"]
    at = [column.name for column in table.columns].index("last_in")
    counts = {f"rank {row[0]}": row[at] for row in table.rows}
    assert counts[want["late"]] == want["last_in"]
    assert sum(int(count or 0) for count in counts.values()) == want["meetings"]


def rows_of_device() -> list[tuple[str, str]]:
    return [(case, row["file"]) for case in having("device") for row in expected(case)["device"]]


@pytest.mark.parametrize(("case", "file"), rows_of_device())
def test_the_device_was_as_busy_as_others_count(case: str, file: str) -> None:
    """Against a plain union of intervals, within 1 % and what rounding hides: 0.1 % and 0.1 ms of the window."""
    want = next(row for row in expected(case)["device"] if row["file"] == file)
    timeline = next(timeline for timeline in timelines(case) if timeline.file == file)
    for kind, got_ms in device_ms(attribute(timeline)).items():
        right = want["window_ms"] * want[f"{kind}_percent"] / 100
        hidden = 0.0005 * want["window_ms"] + 0.05 * want[f"{kind}_percent"] / 100
        assert got_ms == pytest.approx(right, abs=0.01 * right + hidden), kind


def device_ms(attribution: Attribution) -> dict[str, float]:
    """What the device did, ms: kernels, and of collectives and copies what no kernel (nor collective) hid."""
    device = attribution.device
    talk, moved = attribution.spans("network"), attribution.spans("copy")
    return {
        "kernels": attribution.spans("gpu.compute").total / MS,
        "collectives": subtract(talk, device.kernels).total / MS,
        "copies": intersect(moved, device.copies).total / MS,
    }
