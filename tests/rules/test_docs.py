"""The generated pages say what the code says."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_generated_pages_are_fresh() -> None:
    command = [sys.executable, str(ROOT / "scripts" / "generate_docs.py"), "--check"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr


def test_every_page_is_in_the_table_of_contents() -> None:
    """Sphinx says the same, but only where it is installed."""
    docs = ROOT / "docs"
    tree = (docs / "index.md").read_text(encoding="utf-8").split("```{toctree}")[1].split("```")[0]
    listed = {line for line in tree.splitlines() if line and not line.startswith(":")}
    assert listed == {page.stem for page in docs.glob("*.md")} - {"index"}


def test_the_test_command_is_one_line_and_the_same_everywhere() -> None:
    line = "python3 -m venv .venv && .venv/bin/pip install -q -e '.[test]' && .venv/bin/pytest"
    pages = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", ".ci/run")]
    assert not [page.name for page in pages if page.is_file() and line not in page.read_text(encoding="utf-8")]
