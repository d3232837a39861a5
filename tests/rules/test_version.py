"""One version, wherever it is written."""

import re
from pathlib import Path

import msgspec

import longpole

ROOT = Path(__file__).resolve().parents[2]


def test_version_is_one() -> None:
    project = msgspec.toml.decode((ROOT / "pyproject.toml").read_bytes())["project"]
    assert longpole.__version__ == project["version"]
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    versions = re.findall(r"^## \[(\d[^\]]*)\]", changes, re.MULTILINE)
    assert versions[0] == project["version"]
    assert versions == sorted(versions, key=lambda v: [int(n) for n in v.split(".")], reverse=True)
