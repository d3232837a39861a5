"""Lets the tests of the analysis import their builder: pytest 9 finds `tests.job` by itself, pytest 8 does not."""

import sys
from pathlib import Path

ROOT = str(Path(__file__).resolve().parents[2])
if ROOT not in sys.path:
    sys.path.append(ROOT)
