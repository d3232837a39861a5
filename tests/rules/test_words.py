"""Nothing that is kept tells about the machine it was made on."""

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
#: Recordings are kept as they came: the paths in them are their owners'.
DATA = ("tests/data/", "tests/cases/", "bench/data/")
#: The words are taken apart here, so that this file does not find itself. A made-up user in an example is no machine.
MACHINE = re.compile(
    r"(?<![\w.>)}\-])/(?:"
    + "|".join(
        ["wo" + "rk/", "ro" + "ot/", "tmp/" + "bash_jobs", "ho" + r"me/(?!(?:user|me|you|alice|bob|ana|\.\.\.|<)\b)"]
    )
    + r")"
)
REGISTRY = re.compile(
    "|".join(["py" + r"pi\.org", "python" + "hosted", "registry" + r"\.npm", "index" + "-url", "find" + "-links"])
)


def texts() -> Iterator[tuple[str, str]]:
    """Every kept file that is text: what git knows or would add; all files where there is no git."""
    try:
        command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
        listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=True).stdout.split(
            "\0"
        )
    except (OSError, subprocess.CalledProcessError):
        listed = [
            f.relative_to(ROOT).as_posix()
            for folder in ("src", "tests", "docs", "scripts")
            for f in (ROOT / folder).rglob("*")
        ]
    for name in filter(None, listed):
        path = ROOT / name
        if not name.startswith(DATA) and path.is_file() and path.stat().st_size < 1_000_000:
            try:
                yield name, path.read_text(encoding="utf-8")
            except UnicodeDecodeError:
                continue  # not text: a packed recording


def found(pattern: re.Pattern[str]) -> list[str]:
    return [
        f"{name}:{number} {line.strip()[:120]}"
        for name, text in texts()
        for number, line in enumerate(text.splitlines(), 1)
        if pattern.search(line)
    ]


def test_no_path_of_a_machine() -> None:
    assert not found(MACHINE)


def test_no_package_registry_by_name() -> None:
    assert not found(REGISTRY)


def test_the_patterns_find_what_they_are_for() -> None:
    assert (
        MACHINE.search("see /wo" + "rk/x")
        and MACHINE.search('"/ho' + 'me/jdoe/x"')
        and MACHINE.search("cd /ro" + "ot/a")
    )
    assert not MACHINE.search("a frame/wo" + "rk/x") and not MACHINE.search("/ho" + "me/user/train.py")
