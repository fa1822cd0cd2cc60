"""Text that cannot be a part of a path, because it changes between client and function."""

from __future__ import annotations

import re

REPLACEMENT = "\ufffd"
"""What an HTTP API makes of bytes in a path that are not UTF-8."""

_DOTS = re.compile(r"(\.|%2e){1,2}", re.IGNORECASE)


def is_dot_segment(text: str) -> bool:
    """Whether text is ``.`` or ``..``, or one of them percent-encoded: clients remove these."""
    return len(text) <= 6 and _DOTS.fullmatch(text) is not None


def describe_unaddressable(text: str) -> str | None:
    """What text must not be to have an address, in words; None if it can have one.

    - An HTTP API decodes ``%2F`` before it routes a path.
    - Clients and proxies remove ``.`` and ``..`` from paths, and some decode a path once more.
    - Of different bytes that are not UTF-8, an HTTP API makes the same character.
    """
    if "/" in text:
        return "Input is part of a path, so it must not contain a slash"
    if is_dot_segment(text):
        return "Input is part of a path, so it must not be . or .., nor %2e or %2e%2e"
    if REPLACEMENT in text:
        return "Input is part of a path, so it must not contain U+FFFD, the replacement character"
    return None
