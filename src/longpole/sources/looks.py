"""What a file that no source claims looks like, in words, by its first bytes alone."""

from __future__ import annotations

import re

_MAGIC = (
    (b"SQLite format 3\0", "an SQLite database (Nsight Systems exports one)"),
    (b"NVIDIA Tegra Profiler Report", "an Nsight Systems report (.nsys-rep)"),
    (b"\x7fELF", "an ELF program or library"),
    (b"PAR1", "a Parquet file"),
    (b"\x28\xb5\x2f\xfd", "a zstd-packed file (unpack it first)"),
    (b"\xfd7zXZ\0", "an xz-packed file (unpack it first)"),
    (b"BZh", "a bzip2-packed file (unpack it first)"),
    (b"7z\xbc\xaf\x27\x1c", "a 7z archive (unpack it first)"),
    (b"\x89HDF", "an HDF5 file"),
    (b"\x89PNG", "a PNG picture"),
    (b"%PDF", "a PDF document"),
    (b"\x93NUMPY", "a NumPy array"),
    (b"version https://git-lfs", "a Git LFS pointer (fetch the file itself with `git lfs pull`)"),
)
_PICKLE = re.compile(rb"\x80[\x02-\x05]")
_XPLANE = re.compile(rb"\n[\x01-\xff]{1,5}.{0,12}/(host|device):", re.DOTALL)
_KEY = re.compile(rb'"([A-Za-z_][\w .-]{0,30})"\s*:')


def looks_like(head: bytes) -> str:
    """What the bytes are the beginning of: "an HTML page", "JSON of another kind (keys: a, b)"."""
    if not head:
        return "an empty file"
    for magic, words in _MAGIC:
        if head.startswith(magic):
            return words
    if head.startswith(b"PK\x03\x04"):
        return (
            "a torch checkpoint (a zip of tensors)"
            if b"data.pkl" in head[:4096]
            else "a zip of several files, or an empty one"
        )
    if head[257:262] == b"ustar":
        return "a tar archive (unpack it first)"
    if _PICKLE.match(head):
        return "a Python pickle (an old torch checkpoint or a memory snapshot)"
    if _XPLANE.match(head[:64]):
        return "an XPlane protobuf (of JAX's or TensorFlow's profiler)"
    return _text(head) if _is_text(head) else "binary data, perhaps a protobuf"


def _is_text(head: bytes) -> bool:
    sample = head[:4096]
    odd = sum(byte < 32 and byte not in (9, 10, 12, 13, 27) for byte in sample)
    return odd * 100 <= len(sample)


def _text(head: bytes) -> str:
    text = head.lstrip(b"\xef\xbb\xbf \t\r\n")
    if not text:
        return "a file with nothing but blanks"
    if text[:1] == b"<":
        return "an HTML page" if re.match(rb"<(!doctype html|html|head|body)", text, re.IGNORECASE) else "XML"
    if text[:1] == b"{" or re.match(rb"\[\s*[\[{\"\d\]-]", text):
        keys = list(dict.fromkeys(key.decode() for key in _KEY.findall(text[:4096])))[:4]
        if not keys:
            return "JSON that holds no events"
        return f"JSON of another kind (keys: {', '.join(keys)})"
    lines = text[:4096].split(b"\n")[:5]
    for mark, words in ((b",", "a CSV table"), (b"\t", "a table with tabs"), (b"|", "a table with bars")):
        if len(lines) > 1 and lines[0].count(mark) > 0 and lines[0].count(mark) == lines[1].count(mark):
            return words
    return "plain text"
