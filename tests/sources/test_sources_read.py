"""Files and folders: what is claimed by its content, in which order it comes, and how the rest is refused."""

from __future__ import annotations

import gzip
import os
import pickle
import sqlite3
import threading
import zipfile

import pytest

from longpole import sources
from longpole.errors import UnreadableError


def write(path, small, rank=None, **changes):
    if rank is not None:
        small.head["distributedInfo"] = {"rank": rank, "world_size": 4}
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(small.text(), **changes)
    return path


def test_a_folder_is_read_to_its_depth_by_rank(small, tmp_path):
    write(tmp_path / "b" / "deep" / "x.txt", small, rank=0)
    write(tmp_path / "a.json", small, rank=2)
    (tmp_path / "a.json.gz").write_bytes(gzip.compress((tmp_path / "a.json").read_bytes()))
    write(tmp_path / "c.log", small, rank=1)
    (tmp_path / "config.json").write_text('{"lr": 0.1}')
    (tmp_path / "notes.md").write_text("# notes\n")
    found = sources.read([tmp_path])
    assert [(each.rank, os.path.basename(each.source)) for each in found] == [
        (0, "x.txt"), (1, "c.log"), (2, "a.json"), (2, "a.json.gz"),
    ]  # fmt: skip


def test_paths_keep_an_order_that_does_not_depend_on_theirs(small, tmp_path):
    paths = [write(tmp_path / f"{name}.json", small, rank=rank) for name, rank in (("z", 0), ("a", 1), ("m", 1))]
    orders = [[os.path.basename(each.source) for each in sources.read(some)] for some in (paths, paths[::-1])]
    assert orders == [["z.json", "a.json", "m.json"]] * 2


def test_a_file_reached_twice_is_read_once(small, tmp_path):
    path = write(tmp_path / "a.json", small)
    (tmp_path / "link.json").symlink_to(path)
    assert len(sources.read([path, tmp_path, os.path.join(tmp_path, ".", "a.json")])) == 1


def test_a_folder_without_traces_is_refused(tmp_path):
    (tmp_path / "config.json").write_text('{"lr": 0.1}')
    with pytest.raises(UnreadableError, match="holds no file that longpole reads"):
        sources.read([tmp_path])


def test_a_trace_of_a_folder_that_cant_be_read_is_said(small, tmp_path):
    write(tmp_path / "rank0.json", small, rank=0)
    (tmp_path / "rank1.json").write_text('{"traceEvents": []}')
    (only,) = sources.read([tmp_path])
    assert any("left out" in note and "rank1.json" in note for note in only.notes)


def test_a_zip_of_one_trace(small, tmp_path):
    with zipfile.ZipFile(tmp_path / "trace.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("trace.json", small.text())
    assert sources.read_one(tmp_path / "trace.zip").rank == 3


def test_a_pipe_is_read(small, tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_bytes, args=(gzip.compress(small.text().encode()),))
    writer.start()
    assert sources.read_one(pipe).rank == 3
    writer.join()


def refusal(path) -> str:
    with pytest.raises(UnreadableError) as refused:
        sources.read_one(path)
    assert "\n" not in str(refused.value) and str(path) in str(refused.value)
    return str(refused.value)


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"", "an empty file"),
        (b" \n\n", "nothing but blanks"),
        (gzip.compress(b""), "an empty file"),
        (b"<!DOCTYPE html><html><body>404</body></html>", "an HTML page"),
        (b"<?xml version='1.0'?><a/>", "XML"),
        (b"NVIDIA Tegra Profiler Report 2025@5@1", "an Nsight Systems report"),
        (b"\x7fELF\x02\x01\x01" + bytes(64), "an ELF program"),
        (pickle.dumps({"a": [1, 2]}), "a Python pickle"),
        (b'\n\xc7\xa9\x01\x12\x0e/host:metadata"\xa6\x0e\x08O', "an XPlane protobuf"),
        (b"\x0a\x0b\x08\x01\x12\x03\x00\x01\x02\x00\x00\x07\x00\x10", "binary data"),
        (b"\x28\xb5\x2f\xfd\x04", "zstd"),
        (b"rank,ms\n0,1.5\n1,1.6\n", "a CSV table"),
        (b"JobID|State\n1|COMPLETED\n", "a table with bars"),
        (b"step 1 loss 2.0\nstep 2 loss 1.9\n", "plain text"),
        (b'{"loss": 1.0, "step": 3}', "JSON of another kind (keys: loss, step)"),
        (b"[1, 2, 3]", "JSON that holds no events"),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:1\n", "a Git LFS pointer"),
    ],
)
def test_what_is_refused_is_named(tmp_path, data, says):
    (tmp_path / "file").write_bytes(data)
    assert says in refusal(tmp_path / "file")


def test_databases_and_checkpoints_are_named(tmp_path):
    with sqlite3.connect(tmp_path / "report.sqlite") as database:
        database.execute("create table t (a)")
    database.close()
    assert "an SQLite database (Nsight Systems exports one)" in refusal(tmp_path / "report.sqlite")
    with zipfile.ZipFile(tmp_path / "model.pt", "w") as archive:
        archive.writestr("model/data.pkl", b"\x80\x02}.")
        archive.writestr("model/data/0", bytes(8))
    assert "a torch checkpoint" in refusal(tmp_path / "model.pt")


def test_files_that_cant_be_opened(tmp_path):
    assert "No such file" in refusal(tmp_path / "absent.json")
    with pytest.raises(UnreadableError, match="directory"):
        sources.read_one(tmp_path)
