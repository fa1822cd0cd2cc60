"""Orders for lists that are read lowest first: the merge of posting lists goes from the highest.

The rows of such a list get inverted orders: the lowest order becomes the highest. So the merge
reads a rising list as it reads a falling one. Inverted orders are never stored and never sent.
"""

from __future__ import annotations

_HIGHEST = 0x10FFFF
_END = chr(_HIGHEST)
"""The end of an inverted order: of "a" and "ab", "a" becomes the higher one."""


def invert_order(order: str) -> str:
    """The inverted order. No order contains U+0000, because keys escape it."""
    return "".join([chr(_HIGHEST - ord(character)) for character in order]) + _END


def restore_order(inverted: str) -> str:
    """The order of which `invert_order` made this one."""
    return "".join([chr(_HIGHEST - ord(character)) for character in inverted[:-1]])
