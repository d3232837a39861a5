"""The package's own files, as text and as syntax trees, for the tests of the house's rules."""

import ast
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "src" / "longpole"


@cache
def trees() -> dict[str, ast.Module]:
    """One syntax tree a Python file, by its path below the package: "job/host.py"."""
    files = sorted(PACKAGE.rglob("*.py"))
    return {f.relative_to(PACKAGE).as_posix(): ast.parse(f.read_text(encoding="utf-8")) for f in files}


def module_name(path: str) -> str:
    """ "job/host.py" -> "longpole.job.host"; a package has the name of its folder."""
    parts = ["longpole", *path.removesuffix(".py").split("/")]
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
