"""Scales of decimals: how many places a number has behind the point, trailing zeros included. Pure.

DynamoDB drops trailing zeros: it returns 7.10 as 7.1. So the places of such numbers are stored
too, in one attribute of the item: the paths of the numbers, by their places::

    _scales    {"2": ("price", "lines/0/price"), "3": ("weight",)}

The attribute has only numbers that would lose zeros, and none whose field declares its places. The
value of a number is the same with it and without it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import field
from decimal import Decimal
from typing import Any

from daicho.runtime.frozen_dataclasses import dataclass
from daicho.storage.attributes import AttributeValue, Image

SCALES = "_scales"
"""The attribute of an item that has the scales of its decimals."""
MAX_PLACES = 168
"""The smallest number of DynamoDB is 1e-130, and a number has 38 digits."""
Scales = Mapping[str, int]
"""The places of decimals by their paths."""


@dataclass(frozen=True)
class DeclaredPlaces:
    """The places that the declared type of a value gives to the decimals in it.

    ``places``: of the value itself. ``members``: of the values in a map, by name; ``each``: of
    all elements of a list, and of all other values in a map.
    """

    places: int = 0
    members: Mapping[str, DeclaredPlaces] = field(default_factory=dict)
    each: DeclaredPlaces | None = None

    def find_member(self, name: str) -> DeclaredPlaces:
        """The places in a value of a map."""
        return self.members.get(name) or self.each or NO_PLACES

    def __bool__(self) -> bool:
        return bool(self.places or self.members or self.each)


NO_PLACES = DeclaredPlaces()


def find_scales(name: str, value: Any, declared: DeclaredPlaces = NO_PLACES) -> dict[str, int]:
    """The scales to store of a field's plain value: those that would be lost."""
    return dict(_find_lost(_escape(name), value, declared))


def read_scales(image: Image) -> dict[str, int]:
    """The scales that an item has stored."""
    stored = image.get(SCALES)
    if stored is None:
        return {}
    return {path: int(places) for places, paths in stored["M"].items() for path in paths["SS"]}


def to_scales_value(scales: Scales) -> AttributeValue:
    """The value of the attribute, of at least one scale."""
    paths: dict[str, list[str]] = {}
    for path in sorted(scales):
        paths.setdefault(str(scales[path]), []).append(path)
    return {"M": {places: {"SS": paths[places]} for places in sorted(paths)}}


def replace_scales(
    image: Image, names: Collection[str], scales: Scales
) -> dict[str, AttributeValue]:
    """An image with other scales of the fields ``names``."""
    kept = {
        path: places for path, places in read_scales(image).items() if _get_field(path) not in names
    }
    others = {name: value for name, value in image.items() if name != SCALES}
    merged = {**kept, **scales}
    return {**others, SCALES: to_scales_value(merged)} if merged else others


def select_scales(image: Image, names: Collection[str]) -> dict[str, int]:
    """The stored scales of the fields ``names``."""
    scales = read_scales(image)
    return {path: places for path, places in scales.items() if _get_field(path) in names}


def restore_scales(
    values: Mapping[str, Any], image: Image, declared: Mapping[str, DeclaredPlaces]
) -> dict[str, Any]:
    """The plain values of an image with the decimals as they were written.

    ``declared``: the places that the types of fields give, by name.
    """
    stored: dict[str, dict[str, int]] = {}
    for path, places in read_scales(image).items():
        stored.setdefault(_get_field(path), {})[path] = places
    restored = dict(values)
    for name in stored.keys() | declared.keys():
        if name in values:
            restored[name] = _restore(
                _escape(name), values[name], stored.get(name, {}), declared.get(name, NO_PLACES)
            )
    return restored


def pad_decimal(value: Decimal, places: int) -> Decimal:
    """A number with at least so many places, exactly; Decimal's context would round it."""
    sign, digits, exponent = value.as_tuple()
    missing = places + exponent if isinstance(exponent, int) else 0
    if missing <= 0:
        return value
    return Decimal((sign, (*digits, *(0,) * missing), -places))


def _find_lost(path: str, value: Any, declared: DeclaredPlaces) -> Iterator[tuple[str, int]]:
    match value:
        case Decimal():
            places = min(count_places(value), MAX_PLACES)
            if places > max(_count_kept_places(value), declared.places):
                yield path, places
        case Mapping():
            for name, member in value.items():
                text = str(name)
                yield from _find_lost(f"{path}/{_escape(text)}", member, declared.find_member(text))
        case list() | tuple():
            for index, element in enumerate(value):
                yield from _find_lost(f"{path}/{index}", element, declared.each or NO_PLACES)


def _restore(path: str, value: Any, scales: Scales, declared: DeclaredPlaces) -> Any:
    match value:
        case dict():
            return {
                name: _restore(f"{path}/{_escape(name)}", each, scales, declared.find_member(name))
                for name, each in value.items()
            }
        case list():
            each = declared.each or NO_PLACES
            return [_restore(f"{path}/{n}", one, scales, each) for n, one in enumerate(value)]
        case int() | float() | Decimal() if not isinstance(value, bool):
            places = max(scales.get(path, 0), declared.places)
            return pad_decimal(Decimal(str(value)), places) if places else value
    return value


def count_places(value: Decimal) -> int:
    """The places behind the point, trailing zeros included."""
    exponent = value.as_tuple().exponent
    return max(-exponent, 0) if isinstance(exponent, int) else 0


def _count_kept_places(value: Decimal) -> int:
    """The places that DynamoDB keeps."""
    _, digits, exponent = value.as_tuple()
    if not isinstance(exponent, int) or not any(digits):
        return 0
    zeros = len(digits) - len("".join(map(str, digits)).rstrip("0"))
    return max(-(exponent + zeros), 0)


def _escape(name: str) -> str:
    return name.replace("~", "~0").replace("/", "~1")


def _get_field(path: str) -> str:
    """The name of the field that a path begins with. A field's name has no escaped character."""
    return path.partition("/")[0]
