"""The command line: statuses, streams, files, and one way out."""

from __future__ import annotations

import json
import os
import pty
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

import longpole.job
import longpole.sources
from longpole import cli
from longpole.errors import UnreadableError
from longpole.job.causes import CAUSES, EVIDENCE, GLOSSARY
from longpole.render import jsondoc
from longpole.verdict import Verdict

Run = Callable[..., "Result"]


@pytest.fixture
def answer(monkeypatch: pytest.MonkeyPatch) -> Callable[[Verdict | BaseException], dict[str, object]]:
    """Let the analysis give this verdict, or fail with this error; what it was asked is in the dict."""

    def give(result: Verdict | BaseException) -> dict[str, object]:
        asked: dict[str, object] = {}

        def read(paths: list[str]) -> list[str]:
            asked["paths"] = paths
            if isinstance(result, BaseException):
                raise result
            return ["timeline"]

        def why(timelines: list[str], *, bare_step_ns: int | None = None) -> Verdict:
            asked["bare_step_ns"] = bare_step_ns
            assert isinstance(result, Verdict)
            return result

        monkeypatch.setattr(longpole.sources, "read", read, raising=False)
        monkeypatch.setattr(longpole.job, "why", why, raising=False)
        return asked

    return give


class Result(NamedTuple):
    exit_code: object
    stdout: str
    stderr: str


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    """The program in this process, with some environment (click's own runner mixes the streams before 8.2)."""

    def invoke(*args: str, **env: str) -> Result:
        with monkeypatch.context() as patch, pytest.raises(SystemExit) as ended:
            for name, value in env.items():
                patch.setenv(name, value)
            cli.main(list(args))
        return Result(ended.value.code, *capsys.readouterr())

    return invoke


def whole(*args: str, **more: object) -> subprocess.CompletedProcess[str]:
    """The program as a process of its own."""
    command = [sys.executable, "-m", "longpole", *args]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False, **more)  # type: ignore[call-overload,no-any-return]


@pytest.fixture
def saved(tmp_path: Path, verdicts: dict[str, Verdict]) -> str:
    """A verdict in a file, so that a process of its own has something to show."""
    path = tmp_path / "verdict.json"
    path.write_text(jsondoc.render(verdicts["fed_badly"]))
    return str(path)


def test_the_page_goes_to_stdout_and_nothing_else(answer, run: Run, verdicts: dict[str, Verdict]) -> None:
    asked = answer(verdicts["fed_badly"])
    result = run("why", "a.json", "b.json.gz")
    assert result.exit_code == 0
    assert result.stdout.startswith("input.cpu binds")
    assert result.stderr == ""
    assert asked == {"paths": ["a.json", "b.json.gz"], "bare_step_ns": None}


def test_json_is_one_document(answer, run: Run, verdicts: dict[str, Verdict]) -> None:
    answer(verdicts["fed_badly"])
    result = run("why", "--json", "a.json")
    assert json.loads(result.stdout)["binding"] == "input.cpu"


def test_columns_is_the_width(answer, run: Run, verdicts: dict[str, Verdict]) -> None:
    answer(verdicts["fed_badly"])
    for columns in (40, 100):
        assert max(map(len, run("why", "a", COLUMNS=str(columns)).stdout.splitlines())) == pytest.approx(columns, abs=8)


@pytest.mark.parametrize(
    ("name", "status"), [("fed_badly", 0), ("healthy", 0), ("tied", 0), ("ranks", 0), ("blind", 3), ("empty", 3)]
)
def test_status_is_the_verdicts(name: str, status: int, answer, run: Run, verdicts: dict[str, Verdict]) -> None:
    answer(verdicts[name])
    assert run("why", "a.json").exit_code == status
    assert run("why", "a.json", "--json").exit_code == status
    assert status in cli.EXIT_CODES


def test_a_gate_that_holds_is_status_1_and_said_on_stderr(answer, run: Run, verdicts: dict[str, Verdict]) -> None:
    answer(verdicts["fed_badly"])
    result = run("why", "a.json", "--fail-if", "input>20%", "--fail-if", "copy>90%", "--fail-if", "ceiling>2")
    assert result.exit_code == 1
    assert result.stderr.splitlines() == [
        "longpole: input>20% holds: input is 61 %",
        "longpole: ceiling>2 holds: ceiling is 2.6x",
    ]
    assert result.stdout.startswith("input.cpu binds")
    assert run("why", "a.json", "--fail-if", "input>70%").exit_code == 0


def test_a_gate_does_not_make_an_incomplete_verdict_good(answer, run: Run, verdicts: dict[str, Verdict]) -> None:
    answer(verdicts["blind"])
    assert run("why", "a.json", "--fail-if", "input>20%").exit_code == 3
    assert run("why", "a.json", "--fail-if", "unknown>30%").exit_code == 1


def test_options_come_from_the_environment_too(answer, run: Run, verdicts: dict[str, Verdict]) -> None:
    asked = answer(verdicts["fed_badly"])
    result = run(
        "why", "a.json", LONGPOLE_WHY_BARE_STEP="26ms", LONGPOLE_WHY_FAIL_IF="input>20%", LONGPOLE_WHY_JSON="1"
    )
    assert asked["bare_step_ns"] == 26_000_000
    assert result.exit_code == 1
    assert json.loads(result.stdout)


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (["why"], "PATH"),
        (["why", "a", "--fail-if", "inptu>20%"], "did you mean input"),
        (["why", "a", "--bare-step", "soon"], "is not a duration"),
        (["why", "a", "-o", "x.pdf"], ".json (json)"),
        (["why", "a", "-o", "x"], ".json (json)"),
        (["why", "a", "--jsn"], "--json"),
        (["wy"], "No such command"),
        (["explain", "inptu.cpu"], "input.cpu"),
        (["explain", "zzzz"], "lists the words"),
        (["explain", ""], "lists the words"),
        (["explain", "a", "b"], "--help"),
    ],
)
def test_wrong_usage_is_one_line_and_status_2(args: list[str], says: str, run: Run) -> None:
    result = run(*args)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert result.stderr.startswith("longpole: ")
    assert len(result.stderr.splitlines()) == 1
    assert says in result.stderr


@pytest.mark.parametrize(
    ("error", "status", "says"),
    [
        (
            UnreadableError("a.json is no trace: it is a PNG image;\n give a trace"),
            2,
            "it is a PNG image; give a trace",
        ),
        (UnreadableError("a\x1b[2J.json is no trace"), 2, "a\\x1b[2J.json"),
        (FileNotFoundError(2, "No such file or directory", "a.json"), 2, "a.json: No such file or directory"),
        (MemoryError(), 2, "not enough memory"),
        (KeyboardInterrupt(), 130, "interrupted"),
    ],
)
def test_what_could_not_be_done_is_one_line(error: BaseException, status: int, says: str, answer, run: Run) -> None:
    answer(error)
    result = run("why", "a.json")
    assert result.exit_code == status
    assert result.stdout == ""
    assert result.stderr.strip().count("\n") == 0
    assert says in result.stderr
    assert status in cli.EXIT_CODES


def test_a_bug_is_no_gate_and_shows_its_traceback(answer, run: Run) -> None:
    answer(ZeroDivisionError("oops"))
    result = run("why", "a.json")
    assert result.exit_code == 70
    assert "ZeroDivisionError: oops" in result.stderr


def test_o_writes_a_file_beside_the_page(answer, run: Run, verdicts: dict[str, Verdict], tmp_path: Path) -> None:
    answer(verdicts["fed_badly"])
    target = tmp_path / "v.JSON"
    result = run("why", "a.json", "-o", str(target))
    assert result.exit_code == 0
    assert result.stdout.startswith("input.cpu binds")
    assert jsondoc.parse(target.read_bytes()) == verdicts["fed_badly"]
    assert target.stat().st_mode & 0o777 == 0o666 & ~cli._umask()
    run("why", "a.json", "-o", str(tmp_path / "v.txt"))
    assert (tmp_path / "v.txt").read_text().startswith("input.cpu binds")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["v.JSON", "v.txt"]


def test_o_that_cannot_be_written_says_so(answer, run: Run, verdicts: dict[str, Verdict], tmp_path: Path) -> None:
    answer(verdicts["fed_badly"])
    result = run("why", "a.json", "-o", str(tmp_path / "no" / "v.json"))
    assert result.exit_code == 2
    assert result.stderr == f"longpole: can't write {tmp_path}/no/v.json: No such file or directory\n"


def test_a_saved_verdict_is_shown_again(run: Run, saved: str) -> None:
    assert run("why", saved).stdout.startswith("input.cpu binds")
    assert run("why", saved, "--json").stdout == Path(saved).read_text()
    assert run("why", saved, "--fail-if", "input>20%").exit_code == 1
    assert run("why", saved, "--bare-step", "26ms").exit_code == 2


@pytest.mark.parametrize("word", [entry.word for entry in (*CAUSES, *EVIDENCE, *GLOSSARY)])
def test_explain_knows_every_word(word: str, run: Run) -> None:
    result = run("explain", word)
    assert result.exit_code == 0
    assert result.stdout.startswith(f"{word}: ")
    assert "\nMeasured\n" in result.stdout


def test_explain_lists_every_word(run: Run) -> None:
    words = [entry.word for entry in (*CAUSES, *EVIDENCE, *GLOSSARY)]
    assert re.findall(r"^  ([\w.-]+)  +\S", run("explain", COLUMNS="100").stdout, re.MULTILINE) == words


def test_help_names_every_status_and_alone_it_is_help(run: Run) -> None:
    told = " ".join(run("--help").stdout.split())
    assert all(f"{code} " in told for code in cli.EXIT_CODES)
    assert run().stdout == run("--help").stdout
    assert run().exit_code == 0
    assert run("--version").stdout == f"longpole, version {cli.__version__}\n"


def test_a_reader_that_goes_away_is_no_error(saved: str) -> None:
    read, write = os.pipe()
    os.close(read)
    command = [sys.executable, "-m", "longpole", "why", saved, "--fail-if", "input>90%"]
    with os.fdopen(write) as pipe:
        result = subprocess.run(command, stdout=pipe, stderr=subprocess.PIPE, text=True, timeout=60, check=False)
    assert (result.returncode, result.stderr) == (0, "")


def test_a_full_disk_is_an_error(saved: str) -> None:
    with open("/dev/full", "w") as full:
        command = [sys.executable, "-m", "longpole", "why", saved]
        result = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, timeout=60, check=False)
    assert (result.returncode, result.stderr) == (2, "longpole: No space left on device\n")


def test_a_stream_that_speaks_ascii_gets_ascii(saved: str) -> None:
    result = whole("why", saved, env={**os.environ, "PYTHONIOENCODING": "ascii"})
    assert result.returncode == 0
    assert result.stdout.isascii()
    assert "####" in result.stdout


def test_ctrl_c_is_130_without_a_traceback() -> None:
    script = (
        "import time, longpole.job, longpole.sources, longpole.cli\n"
        "longpole.job.why = None\n"
        "longpole.sources.read = lambda paths: (print('reading', flush=True), time.sleep(60))\n"
        "longpole.cli.main(['why', 'a.json'])\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "reading\n"
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=60)
    assert (process.returncode, errors.strip()) == (130, "longpole: interrupted")


def on_a_terminal(script: str) -> str:
    """What a script writes to a terminal on its stderr."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.DEVNULL, stderr=theirs)
    os.close(theirs)
    told = b""
    try:
        while piece := os.read(ours, 4096):
            told += piece
    except OSError:  # Linux ends a terminal that nobody holds any more with EIO
        pass
    os.close(ours)
    assert process.wait(timeout=60) == 0
    return told.decode()


PATIENT = """
import time
from longpole import cli
cli.PATIENCE_S = {after}
with cli._patience("reading 2 traces"):
    time.sleep({work})
"""


def test_a_terminal_is_told_what_takes_long_and_left_clean() -> None:
    told = on_a_terminal(PATIENT.format(after=0.05, work=0.5))
    assert "longpole: reading 2 traces" in told
    assert told.endswith("\r\x1b[2K")


def test_what_is_quick_says_nothing() -> None:
    began = time.monotonic()
    assert on_a_terminal(PATIENT.format(after=30, work=0)) == ""
    assert time.monotonic() - began < 10


def test_what_is_no_terminal_is_told_nothing() -> None:
    script = PATIENT.format(after=0.01, work=0.2)
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, timeout=60, check=True)
    assert result.stderr == b""


def test_patience_is_two_seconds() -> None:
    assert cli.PATIENCE_S == 2.0


def test_a_verdict_is_not_written_over_an_input(run: Run, saved: str) -> None:
    before = Path(saved).read_bytes()
    said = run("why", saved, "-o", saved)
    assert (said.exit_code, said.stderr) == (2, f"longpole: -o {saved}: that is one of the inputs\n")
    assert Path(saved).read_bytes() == before


def test_a_verdict_is_not_written_over_somebody_elses_document(run: Run, saved: str, tmp_path: Path) -> None:
    trace = tmp_path / "rank0.json"
    trace.write_text('{"traceEvents": []}', encoding="utf-8")
    said = run("why", saved, "-o", str(trace))
    assert said.exit_code == 2 and "is no verdict of longpole's" in said.stderr
    assert trace.read_text(encoding="utf-8") == '{"traceEvents": []}'
    again = tmp_path / "again.json"
    assert run("why", saved, "-o", str(again)).exit_code == run("why", saved, "-o", str(again)).exit_code == 0


def test_words_are_explained_whatever_their_case(run: Run) -> None:
    assert run("explain", "INPUT").stdout == run("explain", "input").stdout
    assert "Work / share" in run("explain", "cap").stdout


def test_a_saved_verdict_that_does_not_add_up_is_refused(run: Run, saved: str) -> None:
    document = json.loads(Path(saved).read_text(encoding="utf-8"))
    document["window"]["amount"] = 0
    Path(saved).write_text(json.dumps(document), encoding="utf-8")
    said = run("why", saved)
    assert said.exit_code == 2 and "breaks its own rules: shares do not add up" in said.stderr
