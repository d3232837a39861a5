"""The errors longpole raises on purpose; each says what was tried and what to do next.

Every error carries the exit status that `cli` ends with. Anything else that is raised is a bug.
"""

from __future__ import annotations


class LongpoleError(Exception):
    """Something could not be done; the text is one line that a user can act on."""

    exit_code = 2


class UnreadableError(LongpoleError):
    """An input could not be read as anything longpole knows."""


class UsageError(LongpoleError):
    """A request makes no sense: an unknown word, a malformed gate, two sources that exclude each other."""


class MissingExtraError(LongpoleError):
    """An optional dependency is not installed; the text names the extra to install."""
