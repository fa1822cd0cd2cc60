"""Text that cannot be a part of a path, because it changes between client and function."""

from __future__ import annotations

REPLACEMENT = "\ufffd"
"""What an HTTP API makes of bytes in a path that are not UTF-8."""
PART = "Input is part of a path, so it must not"
REASONS = {
    "/": f"{PART} contain a slash: write another character",
    "?": f"{PART} contain a question mark, at which a gateway ends the path: leave it out",
    "%": f"{PART} contain a percent sign, which a gateway decodes: write a word",
    REPLACEMENT: f"{PART} contain U+FFFD, the replacement character: write the character itself",
}


def describe_unaddressable(text: str) -> str | None:
    """What text must not be to have an address, in words; None if it can have one.

    - An HTTP API decodes ``%2F`` before it routes a path, and ends the path at ``%3F``. It refuses
      most paths with ``%25``, and decodes the others twice.
    - Clients and proxies remove ``.`` and ``..`` from paths.
    - Of different bytes that are not UTF-8, an HTTP API makes the same character.
    """
    if text in (".", ".."):
        return f"{PART} be . or ..: write another name"
    return next((reason for sign, reason in REASONS.items() if sign in text), None)
