"""Broken JSON as profilers write it, made whole where what was meant is plain.

Each function takes and gives UTF-8 text of JSON; none of them knows what the JSON is about. Text that needs no
mending comes back as it is.
"""

from __future__ import annotations

import re

#: Control characters stand nowhere in JSON but for the white space between tokens.
_NO_CONTROLS = bytes(32 if byte < 32 and byte not in b"\t\n\r" else byte for byte in range(256))
_NO_BREAKS = bytes.maketrans(b"\t\n\r", b"   ")
#: A backslash (before pairs of them) that begins no escape. It leads the pattern, which makes the search a fast one.
_BAD_ESCAPE = re.compile(rb'\\(?<!\\\\)(?:\\\\)*(?!["\\/bfnrt]|u[0-9a-fA-F]{4})')
_LONE_SURROGATE = re.compile(
    rb"(\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2})|\\u[dD][89a-fA-F][0-9a-fA-F]{2}"
)
#: inf, nan and Windows' -nan(ind) where a value must stand.
_NOT_A_NUMBER = re.compile(rb"([:\[,]\s*)[-+]?(?:inf(?:inity)?|nan)(?:\([a-z]*\))?(?=\s*[,}\]])", re.IGNORECASE)
_NOT_A_NUMBER_WORDS = (b"inf", b"Inf", b"INF", b"nan", b"NaN", b"NAN")
#: A name runs to the quote that is followed by another key of an event, or by the end of its object.
_EVENT_KEY = rb'"(?:ph|cat|name|pid|tid|ts|tts|dur|tdur|args|id|s|bp)"\s*:'
_NAME = re.compile(rb'("(?:name|cat)"\s*:\s*")(.*?)(?="\s*(?:,\s*' + _EVENT_KEY + rb"|\}\s*(?:[,\]}]|\Z)))", re.DOTALL)
_BARE_QUOTE = re.compile(rb'(\\.)|"', re.DOTALL)
_ARGS = re.compile(rb',?\s*"args"\s*:\s*.*?(?=,\s*"(?:ph|cat|name|pid|tid|ts|dur)"\s*:|\}?\s*\Z)', re.DOTALL)


def clean(text: bytes) -> bytes:
    """Mends what a look at the bytes around it tells: encoding, control characters, escapes, inf and nan.

    Paths of Windows are what has escapes that are none, profilers write a bandwidth of `inf` for a copy of no length.
    """
    try:
        text.decode()
    except UnicodeDecodeError:
        text = text.decode("utf-8", "replace").encode()
    text = text.translate(_NO_CONTROLS)
    if b"\\" in text:
        text = _BAD_ESCAPE.sub(rb"\g<0>\\", text)
        if b"\\ud" in text or b"\\uD" in text:
            text = _LONE_SURROGATE.sub(lambda match: match[1] or rb"\ufffd", text)
    if any(word in text for word in _NOT_A_NUMBER_WORDS):
        text = _NOT_A_NUMBER.sub(rb"\1null", text)
    return text


def without_breaks(event: bytes) -> bytes:
    """Blanks for tabs and line ends, which a name may hold and a string may not."""
    return event.translate(_NO_BREAKS)


def escape_quotes(event: bytes) -> bytes:
    """Escapes the bare quotes within an event's name: `"name": "{"device": "cpu"}(12): run", "pid": 1`."""

    def escaped(match: re.Match[bytes]) -> bytes:
        return match[1] + _BARE_QUOTE.sub(lambda quote: quote[1] or b'\\"', match[2])

    return _NAME.sub(escaped, event)


def without_args(event: bytes) -> bytes:
    """The event without its `args`, where those are what can't be read."""
    return _ARGS.sub(b"", event, count=1)
