"""Splits documents into items and joins them again. Pure.

The image of an item does not contain its split field (`Split`). The image, the *head*, holds a
`Manifest`: the *epoch* of the sections, and the latest changes. Each section is an item of its
own, in another partition than the head. A section that is too large for one item is cut into
*pieces*. These items have no ``type``, so no event filter passes them.

Source: vertical partitioning, "Data modeling building blocks in DynamoDB", Amazon
DynamoDB Developer Guide.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from daicho.errors import Invalid
from daicho.layout import cleanup_marks
from daicho.runtime.frozen_dataclasses import dataclass
from daicho.storage import attributes, keys
from daicho.storage.attributes import AttributeValue, Image, ItemKey
from daicho.storage.requests import to_key_image

MANIFEST = "split"
"""The head's attribute that holds the manifest."""

MAX_SECTIONS = 5_000
MAX_DOCUMENT_BYTES = 5_000_000
"""The limit of all sections in an answer: Lambda returns 6 MB, with quotes escaped once more."""
MAX_SECTION_NAME_BYTES = 255
PIECE_BYTES = 390_000
"""The limit of a section's text in one item, which holds 400 KB with its keys."""
SECTION_OVERHEAD_BYTES = 120
"""The names of a section's attributes, its place, its epoch and the name of its pieces."""
RECENT_BYTES, RECENT = 400, 32
"""The limits of the latest changes in the head, which should stay below 1 KB."""


class TornError(Exception):
    """Sections are not whole, or not all there: they were replaced meanwhile, or are damaged."""


@dataclass(frozen=True)
class Section:
    """A stored section: its value as JSON, and its place among the others.

    ``changed``: the version of the document at which it was last written; None if it was last
    written together with the whole document.
    """

    name: str
    text: str
    place: int
    changed: int | None = None

    @property
    def weight(self) -> int:
        """Its bytes in an answer that Lambda writes as a JSON string."""
        name = json.dumps(self.name, ensure_ascii=False)
        return _escape_name(name) + _escape_name(self.text) + len(":,")


@dataclass(frozen=True)
class Manifest:
    """The head's record of the sections.

    Args:
        epoch: the start of the sections' keys. Each whole put makes a new one.
        began: the document's version when the epoch began.
        count: the number of sections.
        weight: the sum of their weights.
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
        """A head's manifest. None if the head holds its sections, as before the split."""
        value = image.get(MANIFEST)
        if value is None:
            return None
        held: dict[str, Any] = attributes.from_value(value)
        recent = tuple((int(version), name) for version, name in held.pop("recent"))
        return cls(**held, recent=recent)

    def to_value(self) -> AttributeValue:
        """The manifest as an attribute value."""
        return attributes.to_value(
            vars(self) | {"recent": [list(change) for change in self.recent]}
        )

    def with_change(self, version: int, name: str, count: int, weight: int) -> Manifest:
        """The manifest after a change of one section, which makes the document's ``version``.

        ``count`` and ``weight`` are added. The manifest keeps as many changes as fit.
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

    def join_whole(self, items: Iterable[Image]) -> dict[str, Section]:
        """The sections of a document, by name, if they are as many and as large as they should be.

        Raises:
            TornError: they are not.
        """
        sections = join_pieces(items)
        weight = sum(section.weight for section in sections.values())
        if (len(sections), weight) != (self.count, self.weight):
            raise TornError(
                f"{len(sections)} sections of {weight} bytes are stored, not {self.count} of "
                f"{self.weight}"
            )
        return sections

    def list_changed_since(self, version: int) -> frozenset[str] | None:
        """The sections that were changed after ``version``. None if that is not recorded."""
        if version < self.complete:
            return None
        return frozenset(name for at, name in self.recent if at > version)


def start_manifest(epoch: str, version: int, sections: Iterable[Section]) -> Manifest:
    """The manifest of a whole put that makes the document's ``version``."""
    held = list(sections)
    weight = sum(section.weight for section in held)
    return Manifest(epoch, version, len(held), weight, complete=version)


def split_into_sections(values: Mapping[str, Any], field: str) -> list[Section]:
    """A document's sections, in order.

    Raises:
        Invalid: there are too many sections, one or all of them are too large, or a name or a
            value cannot be stored.
    """
    if len(values) > MAX_SECTIONS:
        raise Invalid(f"has {len(values)} sections; at most {MAX_SECTIONS}", field=field)
    sections = []
    for place, (name, value) in enumerate(values.items()):
        check_name(name, field)
        sections.append(make_section(name, value, place, f"{field}.{name}"))
    check_weight(sum(section.weight for section in sections), field)
    return sections


def make_section(name: str, value: Any, place: int, field: str) -> Section:
    """One section.

    Raises:
        Invalid: the value cannot be stored. ``field`` is its name in the request.
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
    """Refuse a name that is empty, over 255 bytes or not well-formed Unicode: Invalid."""
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


def measure_stored(count: int, weight: int, partition: str) -> int:
    """The bytes of so many stored sections of a weight, rounded up: each repeats its key."""
    pieces = weight // PIECE_BYTES
    return weight + (count + pieces) * (len(partition.encode()) + SECTION_OVERHEAD_BYTES)


def render_sections_partition(head: ItemKey, entity: str) -> str:
    """The partition of a head's sections: its whole key, as derived items have theirs."""
    return cleanup_marks.render_owner_partition(head, entity)


def render_section_key(partition: str, epoch: str, name: str) -> ItemKey:
    """The key of a section. The sort keys of its pieces begin with its sort key."""
    return ItemKey(partition, keys.render(epoch, name, ""))


def build_piece_items(partition: str, epoch: str, section: Section, piece: str) -> list[Image]:
    """The items of a section, the main item first. ``piece`` names the items behind it.

    Pieces may be written before the item that names them. Until then nobody sees them.
    """
    key = render_section_key(partition, epoch, section.name)
    first: dict[str, AttributeValue] = {
        **to_key_image(key),
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
    """The weight of a section, by its main item."""
    text = attributes.get_text(first, "text")
    if text is None:
        return attributes.get_integer(first, "weight") or 0
    _, name, _ = keys.parse(first["SK"]["S"])
    return Section(name, text, 0).weight


def join_pieces(items: Iterable[Image]) -> dict[str, Section]:
    """The sections of these items, by name, in their places. Pieces without an item are ignored.

    Raises:
        TornError: pieces of a section are missing, or are no text.
    """
    try:
        return _join_items(items)
    except (ArithmeticError, KeyError, TypeError, ValueError) as error:
        raise TornError("a section is damaged") from error


def _join_items(items: Iterable[Image]) -> dict[str, Section]:
    firsts: dict[str, Image] = {}
    pieces: dict[tuple[str, str, int], str] = {}
    for item in items:
        _, name, *rest = keys.parse(item["SK"]["S"])
        if rest == [""]:
            firsts[name] = item
        else:
            pieces[name, rest[0], int(rest[1])] = item["text"]["S"]
    sections = [_join_text(name, first, pieces) for name, first in firsts.items()]
    return {
        section.name: section
        for section in sorted(sections, key=lambda section: (section.place, section.name))
    }


def _join_text(name: str, first: Image, pieces: Mapping[tuple[str, str, int], str]) -> Section:
    place = attributes.get_integer(first, "place") or 0
    text = attributes.get_text(first, "text")
    if text is None:
        piece = attributes.get_text(first, "piece") or ""
        try:
            many = range(attributes.get_integer(first, "pieces") or 0)
            text = "".join(pieces[name, piece, number] for number in many)
        except KeyError as error:
            raise TornError(f"section {name} is not whole") from error
    return Section(name, text, place, attributes.get_integer(first, "changed"))


def _build_piece(key: ItemKey, piece: str, number: int, text: str) -> Image:
    head = key.sk[: -len(keys.DELIMITER)]
    sort_key = f"{head}{keys.DELIMITER}{keys.render(piece, f'{number:04d}')}"
    return {**to_key_image(ItemKey(key.pk, sort_key)), "text": {"S": text}}


def _cut_text(text: str) -> Iterator[str]:
    """The text in pieces of at most `PIECE_BYTES` bytes. There is at least one piece."""
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
