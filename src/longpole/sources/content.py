"""A file's bytes as a stream: unpacked where it is packed, never held as a whole.

What a file is, is told by its first bytes. A packed file that breaks off gives what comes before the break.
"""

from __future__ import annotations

import os
import zipfile
import zlib
from collections.abc import Iterator
from types import TracebackType

from longpole.errors import UnreadableError

#: How much text is handed on at once: large enough that a chunk holds thousands of events, small enough for the caches.
CHUNK_BYTES = 1 << 18
#: How much of a file `head` holds at least, where the file has as much.
HEAD_BYTES = 1 << 16
#: How much of a packed file is read at once.
_PACKED_BYTES = 1 << 16


class Content:
    """An open file. `head` is the beginning of its unpacked bytes; `chunks()` gives all of them, once.

    `fault` says in words why the bytes end before the file meant them to, once `chunks()` has run out.
    """

    def __init__(self, path: str | os.PathLike[str], chunk_bytes: int = CHUNK_BYTES) -> None:
        """Opens the file and unpacks its head; `UnreadableError` where that can't be done."""
        self.path = os.fspath(path)
        self.fault: str | None = None
        self._chunk_bytes = max(1, chunk_bytes)
        try:
            self._file = open(self.path, "rb")  # noqa: SIM115 (closed by `close`)
        except OSError as error:
            raise UnreadableError(f"{self.path}: can't be opened: {error.strerror or error}") from error
        try:
            self._chunks = self._read()
            self.head = self._take(HEAD_BYTES)
        except OSError as error:
            self.close()
            raise UnreadableError(f"{self.path}: can't be read: {error.strerror or error}") from error

    def __enter__(self) -> Content:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Closes the file."""
        self._file.close()

    def chunks(self) -> Iterator[bytes]:
        """The unpacked bytes from the first one on, in pieces of about `chunk_bytes`."""
        step = self._chunk_bytes
        yield from (self.head[at : at + step] for at in range(0, len(self.head), step))
        yield from self._chunks

    def _take(self, wanted: int) -> bytes:
        taken = b""
        while len(taken) < wanted and (chunk := next(self._chunks, b"")):
            taken += chunk
        return taken

    def _read(self) -> Iterator[bytes]:
        magic = self._file.peek(4)[:4]
        if magic[:2] == b"\x1f\x8b":
            return self._gunzip()
        if magic == b"PK\x03\x04":
            return self._unzip()
        return iter(lambda: self._file.read(self._chunk_bytes), b"")

    def _gunzip(self) -> Iterator[bytes]:
        """The members of a gzip file, one after the other; what follows the last one is not gzip and is left."""
        unpacker, inside, taken = zlib.decompressobj(wbits=31), True, 0
        while packed := self._file.read(_PACKED_BYTES):
            taken += len(packed)
            while packed:
                before = unpacker.copy()
                try:
                    chunk = unpacker.decompress(packed, self._chunk_bytes)
                except zlib.error:
                    if inside:
                        yield from _up_to_damage(before, packed)
                        self.fault = f"its gzip data is damaged near byte {taken - len(packed)}"
                    return
                if chunk:
                    yield chunk
                if unpacker.eof:
                    packed = unpacker.unused_data.lstrip(b"\0")
                    unpacker, inside = zlib.decompressobj(wbits=31), False
                else:
                    packed, inside = unpacker.unconsumed_tail, True
        if inside:
            self.fault = f"its gzip data breaks off at byte {taken}"

    def _unzip(self) -> Iterator[bytes]:
        """The one member of a zip file; nothing of a zip that holds several."""
        try:
            with zipfile.ZipFile(self._file) as archive:
                members = [info for info in archive.infolist() if not info.is_dir()]
                if len(members) != 1:
                    yield self._raw_head()
                    return
                with archive.open(members[0]) as member:
                    while chunk := member.read(self._chunk_bytes):
                        yield chunk
        except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError):
            self.fault = "its zip data is damaged, or packed in a way that can't be unpacked here"

    def _raw_head(self) -> bytes:
        self._file.seek(0)
        return self._file.read(self._chunk_bytes)


def _up_to_damage(unpacker: zlib._Decompress, packed: bytes) -> Iterator[bytes]:
    """What can be unpacked of damaged bytes: in small calls, since zlib keeps nothing of one that fails."""
    for at in range(0, len(packed), 64):
        try:
            chunk = unpacker.decompress(packed[at : at + 64])
        except zlib.error:
            return
        if chunk:
            yield chunk
