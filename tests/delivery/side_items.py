"""The items that the Book stores in addition to base items, and where they are wrong: an oracle.

Recomputed from the base items alone, in plain steps: versions, sections, marks of leftovers.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping

from daicho.layout import item_keys
from daicho.storage import keys
from daicho.storage.attributes import Image, ItemKey
from daicho.testing.simulated_entities import SimulatedEntities

Items = Mapping[ItemKey, Image]
SideItems = Mapping[ItemKey, dict[str, Image]]
"""By the key of the base item, whether it exists or not, and by their sort keys."""
BASE_ITEM_ATTRIBUTES = {"PK", "SK", "type", "_history", "_closing"}
INDEXED_ATTRIBUTES = {"type", "ttl", "GSI1PK", "GSI2PK", "GSI3PK"}


def find_side_item_differences(items: Items, entities: SimulatedEntities) -> list[str]:
    """Differences in a line each, once everything is delivered and the sweep has run."""
    base_items = {key: item for key, item in items.items() if "type" in item}
    return [
        *_find_misplaced(base_items, entities),
        *_find_wrong_versions(base_items, _group_side_items(items, "@"), entities),
        *_find_wrong_sections(base_items, _group_side_items(items, "/")),
        *_find_duplicates(base_items),
    ]


def _group_side_items(items: Items, sign: str) -> SideItems:
    """The side items of one kind. ``sign``: what their entity begins with."""
    groups: defaultdict[ItemKey, dict[str, Image]] = defaultdict(dict)
    for key, item in items.items():
        tenant, entity, *rest = keys.parse(key.pk)
        if entity.startswith(sign):
            partition, sk = rest
            pk = keys.DELIMITER.join(filter(None, (keys.render(tenant, entity[1:]), partition)))
            groups[ItemKey(pk, sk)][key.sk] = item
    return groups


def _find_misplaced(base_items: Items, entities: SimulatedEntities) -> Iterator[str]:
    """Base items whose keys do not follow from their fields."""
    for key, item in base_items.items():
        tenant = keys.parse(key.pk)[0]
        if item_keys.build_base_key(tenant, entities.find_plan(item), item) != key:
            yield f"base items: {key} has fields of another key"


def _find_wrong_versions(
    base_items: Items, groups: SideItems, entities: SimulatedEntities
) -> Iterator[str]:
    """Each number once, without gaps; the newest is the item's, or the mark of its deletion."""
    modes = {key: entities.find_plan(item).versions for key, item in base_items.items()}
    for key in {*groups, *(key for key, mode in modes.items() if mode)}:
        versions = groups.get(key, {})
        numbers = sorted(int(sk) for sk in versions)
        if not numbers or numbers != list(range(numbers[0], numbers[-1] + 1)):
            yield f"versions: {key}: {numbers}"
            continue
        newest = versions[max(versions)]
        if any(INDEXED_ATTRIBUTES & version.keys() for version in versions.values()):
            yield f"versions: {key}: one would be derived"
        if key not in base_items:
            if "_deleted" not in newest:
                yield f"versions: {key} is deleted, and its newest version is not"
            continue
        item = base_items[key]
        if "_deleted" in newest or item["version"] != newest["version"]:
            yield f"versions: {key}: {item['version']} instead of {newest['version']}"
        if modes[key] == "copy" and _get_content(item) != _get_content(newest):
            yield f"versions: {key}: {_get_content(item)} instead of {_get_content(newest)}"


def _find_wrong_sections(base_items: Items, groups: SideItems) -> Iterator[str]:
    """The sections that a head item counts are complete, and there are no others."""
    split_keys = {key for key, item in base_items.items() if "split" in item}
    for key in {*groups, *split_keys}:
        head = base_items.get(key, {}).get("split", {}).get("M")
        items = {tuple(keys.parse(sk)): item for sk, item in groups.get(key, {}).items()}
        if head is None or any(epoch != head["epoch"]["S"] for epoch, *_ in items):
            yield f"sections: {key}: left over: {sorted(items)} of {head}"
            continue
        sections = {name: item for (_, name, *rest), item in items.items() if rest == [""]}
        texts, piece_count = {}, 0
        for name, item in sections.items():
            numbers = range(int(item["pieces"]["N"])) if "pieces" in item else ()
            piece_count += len(numbers)
            pieces = [
                items.get((head["epoch"]["S"], name, item["piece"]["S"], f"{number:04d}"))
                for number in numbers
            ] or [item]
            texts[name] = "".join(piece["text"]["S"] if piece else "?" for piece in pieces)
        if len(sections) + piece_count != len(items) or len(sections) != int(head["count"]["N"]):
            yield f"sections: {key}: {sorted(items)} of {head}"
        values = {name: json.loads(text) for name, text in texts.items() if "?" not in text}
        if len(values) != len(texts):
            yield f"sections: {key}: a piece is missing: {texts}"
        # Sections that were written together are of one request.
        together = {str(v) for name, v in values.items() if "changed" not in sections[name]}
        if len(together) > 1:
            yield f"sections: {key}: of two requests: {together}"


def _find_duplicates(base_items: Items) -> Iterator[str]:
    """An item that moves exists once: no two have the same price."""
    prices = Counter(
        item["price"]["N"] for item in base_items.values() if item["type"]["S"] == "CartItem"
    )
    for price, times in prices.items():
        if times > 1:
            yield f"moves: {price} is in {times} places"


def _get_content(item: Image) -> dict[str, object]:
    return {name: value for name, value in item.items() if name not in BASE_ITEM_ATTRIBUTES}
