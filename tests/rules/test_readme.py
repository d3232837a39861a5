"""What README shows is what the program says today."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def page(columns: int, *paths: str) -> str:
    """The page of some traces that ship with the project."""
    command = [sys.executable, "-m", "longpole", "why", *paths]
    environment = {"COLUMNS": str(columns), "PATH": "", "PYTHONIOENCODING": "utf-8"}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=True, timeout=60)
    return done.stdout


@pytest.mark.parametrize(
    ("columns", "paths", "upto"),
    [
        (90, ["examples/input.json.gz"], "  ceiling: "),
        (100, ["examples/straggler.rank0.json.gz", "examples/straggler.rank1.json.gz"], "straggler.rank0"),
    ],
)
def test_the_page_is_shown_as_it_is(columns: int, paths: list[str], upto: str) -> None:
    said = page(columns, *paths)
    assert said[: said.index(upto)].strip() in README
