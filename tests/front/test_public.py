"""The library's front door: what it offers, and what asking for it costs."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import longpole
import longpole.job
import longpole.sources
from longpole.errors import LongpoleError, UsageError
from longpole.verdict import Verdict


def test_the_public_surface_is_the_one_that_was_agreed() -> None:
    assert longpole.__all__ == ["LongpoleError", "Timeline", "Verdict", "__version__", "read", "why"]
    assert dir(longpole) == sorted(longpole.__all__)
    assert {name for name in vars(longpole) if not name.startswith("_")} <= {
        *longpole.__all__,
        # what `import longpole` needs itself, and the package's own modules once they were imported
        *("annotations", "importlib", "os", "Iterable", "TYPE_CHECKING"),
        *("cli", "errors", "gate", "job", "limits", "render", "sources", "timeline", "units", "verdict"),
    }


def test_every_public_name_is_there() -> None:
    for name in ("LongpoleError", "Timeline", "Verdict", "__version__", "why"):
        assert getattr(longpole, name) is not None
    assert longpole.LongpoleError is LongpoleError
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        longpole.nothing  # noqa: B018


def test_why_reads_one_path_or_many(monkeypatch: pytest.MonkeyPatch, verdicts: dict[str, Verdict]) -> None:
    asked: list[object] = []
    monkeypatch.setattr(longpole.sources, "read", lambda paths: asked.append(paths) or ["t"], raising=False)
    monkeypatch.setattr(
        longpole.job,
        "why",
        lambda timelines, *, bare_step_ns=None: asked.append(bare_step_ns) or verdicts["healthy"],
        raising=False,
    )
    assert longpole.why("a.json") is verdicts["healthy"]
    longpole.why(Path("a.json"), bare_step="26ms")
    longpole.why((p for p in ("a.json", "b.json")), bare_step=5)
    assert asked == [["a.json"], None, [Path("a.json")], 26_000_000, ["a.json", "b.json"], 5]
    with pytest.raises(UsageError, match="is not a duration"):
        longpole.why("a.json", bare_step="soon")


@pytest.mark.parametrize("statement", ["import longpole", "import longpole.cli", "import longpole.__main__"])
def test_what_is_heavy_is_imported_when_it_is_used(statement: str) -> None:
    if statement.endswith("__main__"):
        statement = (
            "import sys; sys.argv = ['longpole', '--help']\ntry: import longpole.__main__\nexcept SystemExit: pass"
        )
    heavy = "{'numpy', 'rich', 'msgspec', 'torch', 'ray', 'asyncio', 'difflib', 'email'}"
    script = f"{statement}\nimport sys; print(sorted({heavy} & set(sys.modules)))"
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=True)
    assert result.stdout.splitlines()[-1] == "[]"
