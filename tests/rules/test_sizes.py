"""Small files, small functions, names that say something, and no cycles."""

import ast
import statistics
from collections.abc import Iterator

import grimp
from house import PACKAGE, module_name, trees

FILE_LINES, FUNCTION_LINES, MEDIAN_LINES = 600, 60, 250
#: Names of rooms where things are put that have no place.
SAY_NOTHING = {"utils", "util", "common", "core", "base", "manager", "managers", "helper", "helpers", "misc", "lib"}
#: Functions that have the name of a module or package all the same, and why.
SAME_ON_PURPOSE = {
    "render": "every renderer has this one function; it is reached as terminal.render, never as longpole.render"
}

Function = ast.FunctionDef | ast.AsyncFunctionDef


def functions() -> Iterator[tuple[str, Function]]:
    for path, tree in trees().items():
        for node in ast.walk(tree):
            if isinstance(node, Function):
                yield path, node


def lines_of(path: str) -> int:
    return len((PACKAGE / path).read_text(encoding="utf-8").splitlines())


def test_files_are_small() -> None:
    sizes = {path: lines_of(path) for path in trees()}
    assert not {path: n for path, n in sizes.items() if n > FILE_LINES}
    told = [n for path, n in sizes.items() if not path.endswith("__init__.py")]
    print(f"{len(sizes)} files, median {statistics.median(told):.0f} lines, largest {max(told)}")
    assert statistics.median(told) <= MEDIAN_LINES


def test_functions_are_small() -> None:
    long = {f"{path}:{f.lineno} {f.name}": f.end_lineno - f.lineno + 1 for path, f in functions() if f.end_lineno}
    assert not {where: n for where, n in long.items() if n > FUNCTION_LINES}


def test_modules_have_telling_names() -> None:
    parts = {part for path in trees() for part in module_name(path).split(".")}
    assert not parts & SAY_NOTHING


def test_no_public_function_is_called_like_a_module() -> None:
    """`longpole.prompts` is a wing: a function of that name would hide it, or be hidden by it."""
    modules = {module_name(path).rsplit(".", 1)[-1] for path in trees()}
    public = {
        f"{path}:{node.lineno} {node.name}"
        for path, tree in trees().items()
        for node in tree.body
        if isinstance(node, Function)
        and node.name in modules - set(SAME_ON_PURPOSE)
        # The command line's functions are named after its commands by click, not called by anybody.
        and path != "cli.py"
    }
    assert not public


def test_public_functions_and_classes_say_what_they_do() -> None:
    silent = {
        f"{path}:{node.lineno} {node.name}"
        for path, tree in trees().items()
        for node in tree.body
        if isinstance(node, Function | ast.ClassDef) and not node.name.startswith("_") and not ast.get_docstring(node)
    }
    assert not silent


def test_modules_say_what_they_are_for() -> None:
    assert not [path for path, tree in trees().items() if tree.body and not ast.get_docstring(tree)]


def test_every_folder_is_a_package() -> None:
    """A folder without __init__.py is imported all the same, but the import contract does not see into it."""
    assert not [f for f in {(PACKAGE / path).parent for path in trees()} if not (f / "__init__.py").is_file()]


def test_imports_have_no_cycles() -> None:
    graph = grimp.build_graph("longpole", cache_dir=None)
    state: dict[str, int] = {}  # 1 on the way down, 2 done

    def walk(module: str, way: tuple[str, ...]) -> None:
        state[module] = 1
        for other in graph.find_modules_directly_imported_by(module):
            if other == "longpole":
                continue  # its own imports are all late: whoever asks it for __version__ gets no cycle
            assert state.get(other) != 1, "cycle: " + " -> ".join((*way, module, other))
            if other not in state:
                walk(other, (*way, module))
        state[module] = 2

    for module in graph.modules:
        if module not in state:
            walk(module, ())


def test_only_the_doors_import_the_front_door() -> None:
    """`longpole` hands out what lies below it; below, nobody looks up."""
    graph = grimp.build_graph("longpole", cache_dir=None)
    assert graph.find_modules_that_directly_import("longpole") <= {"longpole", "longpole.cli", "longpole.__main__"}
