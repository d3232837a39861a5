"""The command line. The only file that prints, reads the environment or exits, and the only one that knows click.

A command reads, has it judged and shows it; what it returns is the exit status. Everything but click is imported when
it is used: `longpole --help` must not wait for numpy.
"""

from __future__ import annotations

import contextlib
import errno
import gc
import os
import re
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

import click

from longpole import __version__
from longpole.errors import LongpoleError, UnreadableError, UsageError

if TYPE_CHECKING:
    from longpole.gate import Gate
    from longpole.verdict import Verdict

#: What the exit status says. (`run` will pass on the command's own.)
EXIT_CODES: dict[int, str] = {
    0: "answered, or passed",
    1: "a check failed, or a gate (--fail-if) holds",
    2: "could not: wrong usage or unreadable input; one line on stderr says what to do",
    3: "incomplete: something that was needed was not measured",
    70: "a bug of longpole's own; its traceback is on stderr",
    130: "interrupted (Ctrl-C)",
}
#: Options of glibc's mallopt.
_TRIM_THRESHOLD, _TOP_PAD, _MMAP_THRESHOLD = -1, -2, -3
#: After this long, a terminal is told what is being waited for.
PATIENCE_S = 2.0

_EPILOG = "Exit status: " + "; ".join(f"{code} {meaning}" for code, meaning in EXIT_CODES.items()) + "."


class _Front(click.Group):
    """The group, with one way out: results return a status, errors become one line on stderr and status 2."""

    def main(self, args: Sequence[str] | None = None, prog_name: str | None = None, *_: Any, **extra: Any) -> NoReturn:
        extra["standalone_mode"] = False  # click would print several lines, and end a closed pipe with status 1
        try:
            status = super().main(args, prog_name or "longpole", **extra)
        except LongpoleError as error:
            status = _say(str(error), error.exit_code)
        except click.ClickException as error:
            status = _say(_one_line(error), 2)
        except (click.Abort, KeyboardInterrupt):
            status = _say("interrupted", 130)
        except MemoryError:
            status = _say("not enough memory for this input", 2)
        except OSError as error:
            status = _say(f"{error.filename}: {error.strerror}" if error.filename else str(error.strerror or error), 2)
        except Exception:  # The last door: Python would end a bug with status 1, which says that a gate holds.
            import traceback

            traceback.print_exc()
            status = _say("this is a bug of longpole's; please report it with the lines above", 70)
        gc.freeze()  # the process ends: leave its memory to the system, not to the interpreter's last search for cycles
        sys.exit(status if isinstance(status, int) else 0)


@click.group(
    cls=_Front,
    invoke_without_command=True,
    epilog=_EPILOG,
    context_settings={"auto_envvar_prefix": "LONGPOLE", "help_option_names": ["-h", "--help"]},
)
@click.version_option(__version__, prog_name="longpole")
@click.pass_context
def main(ctx: click.Context) -> None:
    """Name the one binding bottleneck of a GPU job, what fixing it would give, and the cheapest fix.

    Every option can also be set in the environment: --bare-step of `why` is LONGPOLE_WHY_BARE_STEP.
    """
    if ctx.invoked_subcommand is None:
        _print(ctx.get_help() + "\n")


@main.command(epilog=_EPILOG, short_help="Say what binds a job, from its traces.")
@click.argument("paths", metavar="PATH...", nargs=-1, required=True)
@click.option("--json", is_flag=True, help="Print the verdict as one JSON document (longpole.verdict/1).")
@click.option("-o", "--output", metavar="FILE", help="Also write the verdict to FILE; its suffix picks the format.")
@click.option(
    "--fail-if",
    metavar="GATE",
    multiple=True,
    help="End with status 1 if this holds: 'input>20%', 'copy>=5ms', 'ceiling>2'. Can be repeated.",
)
@click.option(
    "--bare-step",
    metavar="TIME",
    help="The time of a step without the profiler, such as 26ms: takes out how much the profiler slows a step.",
)
def why(paths: tuple[str, ...], json: bool, output: str | None, fail_if: tuple[str, ...], bare_step: str | None) -> int:
    """Say what binds the job that these traces recorded: one PATH, or one for each rank.

    Reads PyTorch profiler traces (.json, .json.gz), and shows a verdict that was saved as .json again.
    """
    from longpole import units
    from longpole.render import renderer_for

    writer = None if output is None else renderer_for(output)
    if output is not None:
        _spare(output, paths)
    asked = _gates(fail_if)
    bare_step_ns = None if bare_step is None else units.parse_duration(bare_step)
    with _patience(f"reading {len(paths)} {'trace' if len(paths) == 1 else 'traces'}"):
        verdict = _verdict(paths, bare_step_ns)
    _show(verdict, json)
    if writer is not None and output is not None:
        _write(output, writer.draw(verdict))
    return _status(verdict, asked)


@main.command(short_help="Tell what a word of a verdict means and how it is fixed.")
@click.argument("word", required=False)
def explain(word: str | None) -> int:
    """Tell what a cause or a word of the evidence means, how it is measured and how it is fixed.

    Without a WORD, list all of them.
    """
    from longpole.job.causes import CAUSES, EVIDENCE, GLOSSARY
    from longpole.render import explanation

    width, asked = min(_width(), 100), (word or "").lower()
    for cause in CAUSES:
        if cause.word == asked:
            told = [("Charged when", cause.charged_when), ("Measured", cause.measured), ("Fixed", cause.fixed)]
            _print(explanation.render(cause.word, cause.title, told, width))
            return 0
    for finding in (*EVIDENCE, *GLOSSARY):
        if finding.word == asked:
            told = [("Meaning", finding.meaning), ("Measured", finding.measured)]
            _print(explanation.render(finding.word, finding.title, told, width))
            return 0
    listed = [
        (heading, [(entry.word, entry.title) for entry in entries])
        for heading, entries in (
            ("Causes (the links of the chain)", CAUSES),
            ("Evidence", EVIDENCE),
            ("Words of the page", GLOSSARY),
        )
    ]
    if word is not None:
        raise UsageError(_no_such_word(word, [known for _, entries in listed for known, _ in entries]))
    _print(explanation.contents(listed, width))
    return 0


def _verdict(paths: Sequence[str], bare_step_ns: int | None) -> Verdict:
    saved = _saved(paths[0]) if len(paths) == 1 else None
    if saved is not None:
        if bare_step_ns is not None:
            raise UsageError(f"--bare-step needs the traces: {paths[0]} is a verdict that was judged before")
        return saved
    _make_haste()
    from longpole import job, sources

    return job.why(sources.read(list(paths)), bare_step_ns=bare_step_ns)


def _make_haste() -> None:
    """Spend no time on what a short process does not need: 0.6 s become 0.4 s on a trace of 54 MB.

    No matrix is multiplied, so numpy's BLAS needs no threads; nothing that is made hangs in cycles, so none are looked
    for; and memory that is let go is kept for the next chunk, not given back to the system page by page.
    """
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    gc.disable()
    import ctypes

    with contextlib.suppress(AttributeError, OSError, TypeError):  # another C library than glibc
        mallopt = ctypes.CDLL(None).mallopt
        for option, value in ((_TRIM_THRESHOLD, 1 << 30), (_TOP_PAD, 32 << 20), (_MMAP_THRESHOLD, 32 << 20)):
            mallopt(option, value)


def _saved(path: str) -> Verdict | None:
    """The verdict that `-o` or `--json` wrote here; None if the file is something else."""
    if not os.path.isfile(path):
        return None  # looking into a pipe would take away what `sources` is to read
    try:
        with open(path, "rb") as file:
            if re.match(rb'\s*{\s*"schema":\s*"longpole\.verdict/', file.read(200)) is None:
                return None
            file.seek(0)
            text = file.read()
    except OSError:
        return None  # `sources` says what is wrong with it
    from longpole.render import jsondoc

    verdict = jsondoc.parse(text)
    try:
        verdict.check()
    except AssertionError as broken:
        raise UnreadableError(f"{path}: a verdict that breaks its own rules: {broken}") from None
    return verdict


def _gates(texts: Sequence[str]) -> list[Gate]:
    if not texts:
        return []
    from longpole.gate import parse_gate
    from longpole.job.causes import CAUSES

    words = [cause.word for cause in CAUSES]
    return [parse_gate(text, words) for text in texts]


def _status(verdict: Verdict, gates: Sequence[Gate]) -> int:
    """The exit status; each gate that holds is said on stderr."""
    if not gates:
        return verdict.exit_code
    from longpole.gate import failure, unmeasured

    failures = [told for told in (failure(gate, verdict) for gate in gates) if told is not None]
    for told in failures:
        _say(told, 1)
    if failures:
        return 1
    blind = [told for told in (unmeasured(gate, verdict) for gate in gates) if told is not None]
    for told in blind:
        _say(told, 3)
    return 3 if blind else verdict.exit_code


def _show(verdict: Verdict, as_json: bool) -> None:
    if as_json:
        from longpole.render import jsondoc

        _print(jsondoc.render(verdict))
        return
    from longpole.render import terminal

    colour = sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    _print(terminal.render(verdict, width=_width(), colour=colour, ascii_only=not _speaks_unicode()))


def _spare(output: str, inputs: Sequence[str]) -> None:
    """Refuse to write a verdict over an input, or over a document that is none of ours: `-o r*.json` names a trace."""
    if not os.path.isfile(output):
        return
    if any(os.path.exists(path) and os.path.samefile(output, path) for path in inputs):
        raise UsageError(f"-o {output}: that is one of the inputs")
    if output.endswith(".json") and _saved(output) is None and os.path.getsize(output):
        raise UsageError(f"-o {output}: exists and is no verdict of longpole's; remove it or choose another name")


def _write(path: str, text: str) -> None:
    """Write a whole file or none: a reader never sees half of one. A device or a pipe is written as it is."""
    try:
        if os.path.exists(path) and not os.path.isfile(path):
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
        else:
            _replace(os.path.realpath(path), text)
    except OSError as error:
        raise UsageError(f"can't write {path}: {error.strerror}") from None


def _replace(target: str, text: str) -> None:
    import tempfile

    handle, name = tempfile.mkstemp(dir=os.path.dirname(target), prefix=".longpole-")
    try:
        with open(handle, "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(name, 0o666 & ~_umask())
        os.replace(name, target)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(name)
        raise


def _umask() -> int:
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


def _print(text: str) -> None:
    """Put a result on stdout. A reader that has gone away (`| head`) has seen enough: that is no error."""
    try:
        encoding = sys.stdout.encoding or "utf-8"
        sys.stdout.write(text.encode(encoding, "replace").decode(encoding))
        sys.stdout.flush()
    except OSError as error:
        # What is left in the buffer would be flushed, and fail, once more when the interpreter ends.
        with contextlib.suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if error.errno not in (errno.EPIPE, errno.ECONNRESET):
            raise


def _say(text: str, status: int) -> int:
    """One line on stderr, whatever the text holds; gives the status back."""
    line = " ".join(text.split())
    shown = line if line.isprintable() else "".join(c if c.isprintable() else ascii(c)[1:-1] for c in line)
    with contextlib.suppress(OSError):
        print(f"longpole: {shown}", file=sys.stderr, flush=True)
    return status


def _one_line(error: click.ClickException) -> str:
    """A click error as one line that names the command to ask for help."""
    text = error.format_message().rstrip(".")
    context = getattr(error, "ctx", None)
    if context is None:
        return text
    see = f"ee `{context.command_path} --help`"
    return f"{text} S{see}" if text.endswith("?") else f"{text}; s{see}"


def _no_such_word(word: str, words: Sequence[str]) -> str:
    import difflib

    near = difflib.get_close_matches(word, words, n=3, cutoff=0.5) or [w for w in words if word and word in w][:3]
    hint = f"did you mean {', '.join(near)}?" if near else "`longpole explain` lists the words"
    return f"{word!r} is no word of longpole; {hint}"


def _width() -> int:
    """COLUMNS, or the width of the terminal, or 80."""
    import shutil

    return shutil.get_terminal_size((80, 24)).columns


def _speaks_unicode() -> bool:
    try:
        "█▏·".encode(sys.stdout.encoding or "ascii")
    except UnicodeEncodeError:
        return False
    return True


@contextlib.contextmanager
def _patience(doing: str) -> Iterator[None]:
    """On a terminal, say after two seconds what is being waited for and for how long; leave no trace of it."""
    if not sys.stderr.isatty():
        yield
        return
    done = threading.Event()
    teller = threading.Thread(target=_tell, args=(doing, done, time.monotonic()), daemon=True)
    teller.start()
    try:
        yield
    finally:
        done.set()
        teller.join()


def _tell(doing: str, done: threading.Event, since: float) -> None:
    wait, told = PATIENCE_S, False
    while not done.wait(wait):
        with contextlib.suppress(OSError):
            print(f"\rlongpole: {doing} ({time.monotonic() - since:.0f} s) ", end="", file=sys.stderr, flush=True)
        wait, told = 1.0, True
    if told:
        with contextlib.suppress(OSError):
            print("\r\x1b[2K", end="", file=sys.stderr, flush=True)
