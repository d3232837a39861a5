"""Write the pages of docs/ that tell what the code says: causes, commands and exit codes.

    python scripts/generate_docs.py           # write them
    python scripts/generate_docs.py --check   # change nothing; end with 1 and name the pages that are stale

It covers only those pages; a person writes the others.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

import click

from longpole.cli import EXIT_CODES, main
from longpole.job.causes import CAUSES, EVIDENCE, Finding
from longpole.verdict import Cause

DOCS = Path(__file__).resolve().parents[1] / "docs"
NOTE = "<!-- Written by scripts/generate_docs.py from the code: change the code, then run it again. -->\n\n"


def causes_page(causes: Iterable[Cause], evidence: Iterable[Finding]) -> str:
    """The page of the causes, and of the words that stand in the evidence."""
    lines = [
        "# Causes",
        "",
        "Every nanosecond of a job's window is charged to exactly one of these. `longpole explain WORD` says the same",
        "in the terminal.",
    ]
    for cause in causes:
        lines += ["", f"({anchor(cause.word)})=", f"## `{cause.word}`: {cause.title}", ""]
        lines += [f"**Charged when.** {cause.charged_when}", "", f"**Measured.** {cause.measured}", ""]
        lines += [f"**Fixed.** {cause.fixed}"]
    lines += ["", "# Words of the evidence"]
    for finding in evidence:
        lines += ["", f"({anchor(finding.word)})=", f"## `{finding.word}`: {finding.title}", ""]
        lines += [finding.meaning, "", f"**Measured.** {finding.measured}"]
    return "\n".join(lines) + "\n"


def commands_page(group: click.Group) -> str:
    """The page of the commands, from what click knows of them."""
    lines = ["# Commands", "", *described(group, click.Context(group, info_name="longpole"))]
    for name, command in sorted(group.commands.items()):
        if not command.hidden:
            context = click.Context(command, info_name=f"longpole {name}")
            lines += ["", f"## `longpole {name}`", "", *described(command, context)]
    return "\n".join(lines) + "\n"


def exit_codes_page(codes: dict[int, str]) -> str:
    """The page of the exit codes."""
    lines = ["# Exit codes", "", "| status | meaning |", "|---|---|"]
    lines += [f"| {code} | {meaning} |" for code, meaning in sorted(codes.items())]
    lines += [
        "",
        "A verdict that names two links which lie within the noise of each other has answered, and ends with 0. Use",
    ]
    lines += ["`--fail-if` to turn a condition on the verdict into status 1."]
    return "\n".join(lines) + "\n"


def described(command: click.Command, context: click.Context) -> Iterator[str]:
    """Usage, help text and options of one command as Markdown; not click's own layout, which differs by version."""
    yield from ("```text", " ".join([context.info_name or "", *command.collect_usage_pieces(context)]), "```", "")
    yield inspect.cleandoc(command.help or "")
    options = [p for p in command.params if isinstance(p, click.Option) and not p.hidden]
    if options:
        yield ""
    for option in options:
        flags = ", ".join(f"`{flag}`" for flag in (*option.opts, *option.secondary_opts))
        value = f" `{option.metavar}`" if option.metavar else ""
        yield f"- {flags}{value}: {option.help}"


def anchor(word: str) -> str:
    """The label that other pages link to: "input.cpu" -> "word-input-cpu"."""
    return "word-" + word.replace(".", "-").replace("_", "-")


def pages() -> dict[str, str]:
    """The text of every generated page, by file name."""
    return {
        "causes.md": NOTE + causes_page(CAUSES, EVIDENCE),
        "commands.md": NOTE + commands_page(main),
        "exit-codes.md": NOTE + exit_codes_page(EXIT_CODES),
    }


def stale() -> list[str]:
    """The generated pages that don't say what the code says."""
    made = pages()
    return [n for n in made if not (DOCS / n).is_file() or (DOCS / n).read_text(encoding="utf-8") != made[n]]


if __name__ == "__main__":
    if "--check" in sys.argv[1:]:
        old = stale()
        sys.exit(f"stale: {', '.join(old)}; run scripts/generate_docs.py" if old else 0)
    for name, text in pages().items():
        (DOCS / name).write_text(text, encoding="utf-8")
