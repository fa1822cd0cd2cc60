"""Documents cut into items, and joined again: pure.

A split field (`Split`) does not stand in its item's image. The image, the *head*, holds a
`Manifest`: under which *epoch* the sections stand, and what has changed of late. Each section is
an item of its own, in a partition beside the head's; one that no item could hold is cut into
*pieces*. These items have no ``type``, so no event filter passes them.

Source: seed 003 (vertical partitioning).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from daicho.errors import Invalid
from daicho.layout import cleanup_marks
from daicho.storage import attributes, keys
from daicho.storage.attributes import AttributeValue, Image
from daicho.storage.item_key import ItemKey

MANIFEST = "split"
"""The head's attribute that holds the manifest."""

MAX_SECTIONS = 5_000
MAX_DOCUMENT_BYTES = 5_000_000
"""Of all sections as an answer writes them: Lambda hands on 6 MB, quotes escaped once more."""
MAX_SECTION_NAME_BYTES = 255
PIECE_BYTES = 390_000
"""Of a section's text in one item, which holds 400 KB with its keys."""
RECENT_BYTES, RECENT = 400, 32
"""How much of the latest changes the head remembers: it should stay below 1 KB."""


class TornError(Exception):
    """Pieces of a section are missing: it was replaced while it was read."""


@dataclass(frozen=True)
class Section:
    """A section as it is stored: its value as JSON, and its place among the others.

    ``changed``: the version of the document at which it was last written; None if that was when
    the whole document was.
    """

    name: str
    text: str
    place: int
    changed: int | None = None

    @property
    def weight(self) -> int:
        """Its bytes in an answer that is itself written as a JSON string, as Lambda does."""
        name = json.dumps(self.name, ensure_ascii=False)
        return _escape_name(name) + _escape_name(self.text) + len(":,")


@dataclass(frozen=True)
class Manifest:
    """What the head knows of the sections.

    Args:
        epoch: what the keys of the sections begin with; another one after each whole put.
        began: the document's version when the epoch began.
        count: how many sections there are.
        weight: the sum of theirs.
        recent: version and name of the latest changes of single sections, oldest first.
        complete: every change after this version is among ``recent``.
    """

    epoch: str
    began: int
    count: int
    weight: int
    recent: tuple[tuple[int, str], ...] = ()
    complete: int = 0

    @classmethod
    def from_image(cls, image: Image) -> Manifest | None:
        """A head's manifest; None if its sections stand in it (it was written before the split)."""
        value = image.get(MANIFEST)
        if value is None:
            return None
        held: dict[str, Any] = attributes.from_value(value)
        recent = tuple((int(version), name) for version, name in held.pop("recent"))
        return cls(**held, recent=recent)

    def to_value(self) -> AttributeValue:
        """The manifest as an attribute value."""
        return attributes.to_value(vars(self) | {"recent": [list(each) for each in self.recent]})

    def with_change(self, version: int, name: str, count: int, weight: int) -> Manifest:
        """The manifest after a change of one section, which is the document's ``version``.

        ``count`` and ``weight`` are what is added. As many changes are remembered as fit.
        """
        recent = [*self.recent, (version, name)]
        complete = self.complete
        while len(recent) > RECENT or sum(len(n.encode()) + 12 for _, n in recent) > RECENT_BYTES:
            complete, _ = recent.pop(0)
        return replace(
            self,
            count=self.count + count,
            weight=self.weight + weight,
            recent=tuple(recent),
            complete=complete,
        )

    def list_changed_since(self, version: int) -> frozenset[str] | None:
        """The sections that were changed after ``version``; None if nobody remembers."""
        if version < self.complete:
            return None
        return frozenset(name for at, name in self.recent if at > version)


def start_manifest(epoch: str, version: int, sections: Iterable[Section]) -> Manifest:
    """The manifest of a whole put that makes the document's ``version``."""
    held = list(sections)
    weight = sum(each.weight for each in held)
    return Manifest(epoch, version, len(held), weight, complete=version)


def split_into_sections(values: Mapping[str, Any], field: str) -> list[Section]:
    """A document's sections, in order.

    Raises:
        Invalid: too many, or all together or one of them too large; a name or a value that
            cannot be stored.
    """
    if len(values) > MAX_SECTIONS:
        raise Invalid(f"has {len(values)} sections; at most {MAX_SECTIONS}", field=field)
    found = []
    for place, (name, value) in enumerate(values.items()):
        check_name(name, field)
        found.append(make_section(name, value, place, f"{field}.{name}"))
    check_weight(sum(each.weight for each in found), field)
    return found


def make_section(name: str, value: Any, place: int, field: str) -> Section:
    """One section.

    Raises:
        Invalid: a value that cannot be stored; ``field`` is what it came as.
    """
    try:
        text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
        text.encode()
    except UnicodeEncodeError as error:
        raise Invalid("the text is not well-formed Unicode", field=field) from error
    except (ValueError, RecursionError) as error:
        raise Invalid(f"cannot be stored: {error}", field=field) from error
    return Section(name, text, place)


def check_name(name: str, field: str) -> None:
    """Refuse a name that is empty, over 255 bytes or no Unicode: Invalid."""
    try:
        size = len(name.encode())
    except UnicodeEncodeError as error:
        raise Invalid("a section's name is not well-formed Unicode", field=field) from error
    if not 1 <= size <= MAX_SECTION_NAME_BYTES:
        message = f"a section's name has 1 to {MAX_SECTION_NAME_BYTES} bytes, not {size}"
        raise Invalid(message, field=field)


def check_weight(weight: int, field: str) -> None:
    """Refuse sections that no answer could hold together: Invalid."""
    if weight > MAX_DOCUMENT_BYTES:
        raise Invalid(f"takes {weight} bytes as JSON; at most {MAX_DOCUMENT_BYTES}", field=field)


def render_sections_partition(head: ItemKey, entity: str) -> str:
    """The partition of a head's sections: its whole key, as derived items have theirs."""
    return cleanup_marks.render_owner_partition(head, entity)


def render_section_key(partition: str, epoch: str, name: str) -> ItemKey:
    """Where a section stands: what begins with this sort key are its pieces."""
    return ItemKey(partition, keys.render(epoch, name, ""))


def build_piece_items(partition: str, epoch: str, section: Section, piece: str) -> list[Image]:
    """The items of a section, the one that counts first; ``piece`` names those behind it.

    Pieces may be written before the item that names them: until then nobody sees them.
    """
    key = render_section_key(partition, epoch, section.name)
    first: dict[str, AttributeValue] = {
        "PK": {"S": key.pk},
        "SK": {"S": key.sk},
        "place": {"N": str(section.place)},
    }
    if section.changed is not None:
        first["changed"] = {"N": str(section.changed)}
    texts = list(_cut_text(section.text))
    if len(texts) == 1:
        return [first | {"text": {"S": section.text}}]
    first |= {"piece": {"S": piece}, "pieces": {"N": str(len(texts))}}
    first["weight"] = {"N": str(section.weight)}
    return [first, *(_build_piece(key, piece, n, text) for n, text in enumerate(texts))]


def measure_weight(first: Image) -> int:
    """What a section weighs, by the item of it that counts."""
    text = attributes.get_text(first, "text")
    if text is None:
        return attributes.get_integer(first, "weight") or 0
    _, name, _ = keys.parse(first["SK"]["S"])
    return Section(name, text, 0).weight


def join_pieces(items: Iterable[Image]) -> dict[str, Section]:
    """The sections that items hold, by name, in their places. Pieces that none names are none.

    Raises:
        TornError: pieces of a section are missing.
    """
    firsts: dict[str, Image] = {}
    pieces: dict[tuple[str, str, int], str] = {}
    for item in items:
        _, name, *rest = keys.parse(item["SK"]["S"])
        if rest == [""]:
            firsts[name] = item
        else:
            pieces[name, rest[0], int(rest[1])] = item["text"]["S"]
    found = [_join_text(name, first, pieces) for name, first in firsts.items()]
    return {each.name: each for each in sorted(found, key=lambda each: (each.place, each.name))}


def _join_text(name: str, first: Image, pieces: Mapping[tuple[str, str, int], str]) -> Section:
    place = attributes.get_integer(first, "place") or 0
    text = attributes.get_text(first, "text")
    if text is None:
        piece = attributes.get_text(first, "piece") or ""
        try:
            many = range(attributes.get_integer(first, "pieces") or 0)
            text = "".join(pieces[name, piece, number] for number in many)
        except KeyError as error:
            raise TornError(name) from error
    return Section(name, text, place, attributes.get_integer(first, "changed"))


def _build_piece(key: ItemKey, piece: str, number: int, text: str) -> Image:
    head = key.sk[: -len(keys.DELIMITER)]
    return {
        "PK": {"S": key.pk},
        "SK": {"S": f"{head}{keys.DELIMITER}{keys.render(piece, f'{number:04d}')}"},
        "text": {"S": text},
    }


def _cut_text(text: str) -> Iterator[str]:
    """A text in stretches of at most so many bytes, at least one."""
    raw = text.encode()
    start = 0
    while len(raw) - start > PIECE_BYTES:
        end = start + PIECE_BYTES
        while raw[end] & 0xC0 == 0x80:  # within a character
            end -= 1
        yield raw[start:end].decode()
        start = end
    yield raw[start:].decode()


def _escape_name(text: str) -> int:
    return len(text.encode()) + text.count('"') + text.count("\\")
