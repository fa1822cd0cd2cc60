"""Ranges of sort keys, as the conditions of queries."""

from __future__ import annotations

from daicho.runtime.frozen_dataclasses import dataclass
from daicho.storage import keys

_HIGHEST_CHARACTER = "\U0010ffff"
_SURROGATES = range(0xD800, 0xE000)


@dataclass(frozen=True)
class KeyRange:
    """Sort keys from ``low`` to ``high``; "" is no bound.

    ``high`` is included unless the range ``is_open``. DynamoDB has no condition with one end
    included and the other excluded, so a reader removes the row at the open end.
    """

    low: str = ""
    high: str = ""
    is_open: bool = False

    @property
    def is_empty(self) -> bool:
        """Whether no key is in the range. DynamoDB refuses such a condition."""
        if not self.high:
            return False
        return self.low > self.high or (self.is_open and self.low == self.high)

    def contains(self, key: str) -> bool:
        """Whether a key is in the range."""
        if key < self.low:
            return False
        return not self.high or key < self.high or (key == self.high and not self.is_open)

    def intersect(self, other: KeyRange) -> KeyRange:
        """The keys that are in both ranges."""
        low = max(self.low, other.low)
        if not self.high or not other.high:
            higher = self if self.high else other
            return KeyRange(low, higher.high, higher.is_open)
        if self.high == other.high:
            return KeyRange(low, self.high, self.is_open or other.is_open)
        lower = min(self, other, key=lambda each: each.high)
        return KeyRange(low, lower.high, lower.is_open)


EVERY_KEY = KeyRange()


def cover_components(head: str) -> KeyRange:
    """The keys whose first components are exactly those of ``head``, a rendered key."""
    # The escape sorts right after the delimiter. No key ends with an escape.
    return KeyRange(head, f"{head}{keys.ESCAPE}")


def cover_text(start: str) -> KeyRange:
    """The keys that begin with a text, even within a component.

    An escape is as long as another one, so an escaped value begins with an escaped text only if
    the value begins with the text.
    """
    trunk = start.rstrip(_HIGHEST_CHARACTER)
    if not trunk:
        return KeyRange(start)
    following = ord(trunk[-1]) + 1
    if following in _SURROGATES:
        following = _SURROGATES.stop
    return KeyRange(start, trunk[:-1] + chr(following), is_open=True)
