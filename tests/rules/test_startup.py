"""`longpole --help` is quick, and only the command line talks to the outside world."""

import ast
import subprocess
import sys
from collections.abc import Iterator

import pytest
from house import trees

#: Each of these costs tens to hundreds of milliseconds that a help text need not wait for.
HEAVY = ("numpy", "pandas", "ray", "rich", "torch")
#: Only this file prints, exits, reads the environment and knows click; __main__ hands over to it.
DOOR = {"cli.py", "__main__.py"}
#: Files that may use one of those words all the same, and why.
ALLOWED: dict[tuple[str, str], str] = {}
#: "Except where one check's crash becomes that check's `unknown`": files that may catch everything, and why.
MAY_CATCH_ALL = {"cli.py": "the last door: Python would end a bug with status 1, which says that a gate holds"}

_HELP = """
import sys
sys.argv = ["longpole", *{args!r}]
try:
    from longpole.cli import main
    main(prog_name="longpole")
except SystemExit as end:
    assert not end.code, end.code
print("LOADED", *sorted({{name.split(".")[0] for name in sys.modules}}))
"""


@pytest.mark.parametrize("args", [["--help"], ["--version"], ["why", "--help"]])
def test_help_imports_nothing_heavy(args: list[str]) -> None:
    command = [sys.executable, "-c", _HELP.format(args=args)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    loaded = done.stdout.rpartition("LOADED")[2].split()
    assert "click" in loaded
    assert not set(loaded) & set(HEAVY)


def test_the_package_itself_imports_nothing_heavy() -> None:
    code = f"import sys, longpole; print(*set(sys.modules) & set({(*HEAVY, 'click', 'msgspec')!r}))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=True)
    assert done.stdout.split() == []


def outside(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """The lines that talk to the outside world, and how."""
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Name)
            and node.func.id in ("print", "exit", "quit", "input")
        ):
            yield node.lineno, node.func.id
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            word = f"{node.value.id}.{node.attr}"
            if word in (
                "sys.exit",
                "sys.argv",
                "sys.stdout",
                "sys.stderr",
                "os._exit",
                "os.environ",
                "os.getenv",
                "os.putenv",
            ):
                yield node.lineno, word
        if isinstance(node, ast.Import):
            yield from ((node.lineno, "click") for alias in node.names if alias.name.split(".")[0] == "click")
        if isinstance(node, ast.ImportFrom):
            if (node.module or "").split(".")[0] == "click":
                yield node.lineno, "click"
            names = {alias.name for alias in node.names}
            if node.module in ("os", "sys") and names & {"environ", "getenv", "exit", "stdout", "stderr", "argv"}:
                yield node.lineno, f"from {node.module}"
        if isinstance(node, ast.Raise) and "SystemExit" in ast.dump(node):
            yield node.lineno, "SystemExit"


def test_only_the_command_line_talks_to_the_outside() -> None:
    found = [
        f"{path}:{line} {word}"
        for path, tree in trees().items()
        if path not in DOOR
        for line, word in outside(tree)
        if (path, word) not in ALLOWED
    ]
    assert not found


def swallows(handler: ast.ExceptHandler) -> bool:
    """Whether it catches everything and keeps it: one that tidies up and raises again hides nothing."""
    caught = "" if handler.type is None else ast.unparse(handler.type)
    broad = handler.type is None or bool({"Exception", "BaseException"} & set(caught.strip("()").split(", ")))
    last = handler.body[-1]
    return broad and not (isinstance(last, ast.Raise) and last.exc is None)


def test_nobody_catches_everything() -> None:
    found = [
        f"{path}:{node.lineno}"
        for path, tree in trees().items()
        for node in ast.walk(tree)
        if isinstance(node, ast.ExceptHandler) and path not in MAY_CATCH_ALL and swallows(node)
    ]
    assert not found
