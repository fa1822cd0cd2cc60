"""What the Book keeps beside base items, and what of it is not as they say: the oracle of that.

Recomputed from the base items alone, in plain steps: versions, sections, marks of leftovers.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping

from daicho.layout import item_keys
from daicho.storage import keys
from daicho.storage.item_key import ItemKey
from tests.delivery.aws.attributes import Image
from tests.delivery.declared import Declared

Items = Mapping[ItemKey, Image]
OF_BASE_ONLY = {"PK", "SK", "type", "_history"}
INDEXED = {"type", "ttl", "GSI1PK", "GSI2PK", "GSI3PK"}


def beside(items: Items, declared: Declared) -> list[str]:
    """Differences, when all is at rest and the sweep has been."""
    base = {key: item for key, item in items.items() if "type" in item}
    return [
        *_misplaced(base, declared),
        *_of_versions(base, _parts(items, "@"), declared),
        *_of_sections(base, _parts(items, "/")),
        *_doubled(base),
    ]


def _parts(items: Items, sign: str) -> dict[ItemKey, dict[str, Image]]:
    """What stands beside each base item, there or not: by the sort key of each."""
    found: defaultdict[ItemKey, dict[str, Image]] = defaultdict(dict)
    for key, item in items.items():
        tenant, entity, *rest = keys.parse(key.pk)
        if entity.startswith(sign):
            behind, sk = rest
            pk = keys.DELIMITER.join(filter(None, (keys.render(tenant, entity[1:]), behind)))
            found[ItemKey(pk, sk)][key.sk] = item
    return found


def _misplaced(base: Items, declared: Declared) -> Iterator[str]:
    """Base items that do not stand where their fields say."""
    for key, item in base.items():
        tenant = keys.parse(key.pk)[0]
        if item_keys.build_base_key(tenant, declared.plan_of(item), item) != key:
            yield f"base items: {key} does not belong there"


def _of_versions(
    base: Items, parts: Mapping[ItemKey, dict[str, Image]], declared: Declared
) -> Iterator[str]:
    """Each number once, none left out; the newest is the item's, or the mark of its deletion."""
    kept = {key: declared.plan_of(item).versions for key, item in base.items()}
    for key in {*parts, *(key for key, way in kept.items() if way)}:
        items = parts.get(key, {})
        numbers = sorted(int(sk) for sk in items)
        if not numbers or numbers != list(range(numbers[0], numbers[-1] + 1)):
            yield f"versions: {key}: {numbers}"
            continue
        newest = items[max(items)]
        if any(INDEXED & each.keys() for each in items.values()):
            yield f"versions: {key}: one would be derived"
        if key not in base:
            if "_deleted" not in newest:
                yield f"versions: {key} is gone, and its newest version is not"
            continue
        item = base[key]
        if "_deleted" in newest or item["version"] != newest["version"]:
            yield f"versions: {key}: {item['version']} instead of {newest['version']}"
        if kept[key] == "copy" and _content(item) != _content(newest):
            yield f"versions: {key}: {_content(item)} instead of {_content(newest)}"


def _of_sections(base: Items, parts: Mapping[ItemKey, dict[str, Image]]) -> Iterator[str]:
    """The sections that a head counts are there, whole, and nothing else is."""
    counted = {key for key, item in base.items() if "split" in item}
    for key in {*parts, *counted}:
        head = base.get(key, {}).get("split", {}).get("M")
        items = {tuple(keys.parse(sk)): item for sk, item in parts.get(key, {}).items()}
        if head is None or any(epoch != head["epoch"]["S"] for epoch, *_ in items):
            yield f"sections: {key}: left over: {sorted(items)} of {head}"
            continue
        sections = {name: item for (_, name, *rest), item in items.items() if rest == [""]}
        texts, pieces = {}, 0
        for name, item in sections.items():
            many = range(int(item["pieces"]["N"])) if "pieces" in item else ()
            pieces += len(many)
            found = [
                items.get((head["epoch"]["S"], name, item["piece"]["S"], f"{number:04d}"))
                for number in many
            ] or [item]
            texts[name] = "".join(each["text"]["S"] if each else "?" for each in found)
        if len(sections) + pieces != len(items) or len(sections) != int(head["count"]["N"]):
            yield f"sections: {key}: {sorted(items)} of {head}"
        values = {name: json.loads(text) for name, text in texts.items() if "?" not in text}
        if len(values) != len(texts):
            yield f"sections: {key}: a piece is missing: {texts}"
        # What was written at once is of one request.
        at_once = {str(v) for n, v in values.items() if "changed" not in sections[n]}
        if len(at_once) > 1:
            yield f"sections: {key}: of two requests: {at_once}"


def _doubled(base: Items) -> Iterator[str]:
    """What moves is in one place: no two things have one price."""
    prices = Counter(
        item["price"]["N"] for item in base.values() if item["type"]["S"] == "CartItem"
    )
    for price, times in prices.items():
        if times > 1:
            yield f"moves: {price} is in {times} places"


def _content(item: Image) -> dict[str, object]:
    return {name: value for name, value in item.items() if name not in OF_BASE_ONLY}
