"""Base items compared with their own keys and with the lock file: kinds 18 to 20. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from daicho.layout.item_keys import build_base_key, build_inverted_key
from daicho.plan import EntityPlan, Ledger, UnknownEntityError
from daicho.storage import attributes
from daicho.storage.attributes import Image, get_key
from daicho.storage.requests import Update, build_change, require_same
from daicho.verify.faults import Fault, parse_owner
from daicho.verify.findings import Kind

AS_READ = ("version", "gen", "created_at", "type")
"""The attributes of an item that identify the image that was read."""
WRITE_AGAIN = "put the item again as a whole, or delete it"
CHOOSE_KEY = "put the item at its own key, and delete this one"


def find_plan(ledger: Ledger, image: Image) -> EntityPlan | None:
    """The plan of an image; None if it has no type and generation that the code knows.

    Raises:
        NewerGenerationError: the code is older than the image.
    """
    entity, generation = str(image.get("type", {}).get("S", "")), _read_whole(image, "gen")
    if entity not in ledger.entities or generation is None:
        return None
    try:
        return ledger.find_plan(entity, generation)
    except UnknownEntityError:
        return None


def find_faults(ledger: Ledger, image: Image) -> Iterator[Fault]:
    """What is wrong with a base item itself.

    Raises:
        NewerGenerationError: the code is older than the image.
    """
    key = get_key(image)
    tenant, owner = parse_owner(key)
    stored_type = image.get("type", {}).get("S", "")
    if stored_type in ledger.entities and stored_type != owner:
        yield Fault(Kind.WRONG_KEY, key, f"a key of {stored_type}", f"one of {owner}", CHOOSE_KEY)
        return
    plan = find_plan(ledger, image)
    if plan is None:
        found = f"type {stored_type or 'missing'}, gen {_show(image, 'gen')}"
        expected = f"type {owner}, and a generation that was released"
        yield Fault(Kind.WRONG_ATTRIBUTES, key, expected, found, WRITE_AGAIN)
        return
    if _read_whole(image, "version") is None:
        found = f"version {_show(image, 'version')}"
        yield Fault(Kind.WRONG_ATTRIBUTES, key, "a whole number", found, WRITE_AGAIN)
    yield from _find_key_faults(tenant, plan, image)


def _find_key_faults(tenant: str, plan: EntityPlan, image: Image) -> Iterator[Fault]:
    key = get_key(image)
    try:
        own = build_base_key(tenant, plan, image)
        inverted = build_inverted_key(tenant, plan, image) if plan.key.edge else None
    except (ValueError, KeyError, TypeError) as error:  # a field of another type: rule 58
        yield Fault(Kind.WRONG_KEY, key, "fields that give its key", str(error), WRITE_AGAIN)
        return
    if own != key:
        yield Fault(Kind.WRONG_KEY, key, " ".join(own), " ".join(key), CHOOSE_KEY)
        return
    found = tuple(image.get(name, {}).get("S", "") for name in ("GSI1PK", "GSI1SK"))
    if inverted is not None and found != tuple(inverted):
        condition, names, values = require_same(image, AS_READ)
        change = build_change(own, {"GSI1PK": inverted.pk, "GSI1SK": inverted.sk})
        repair = Update(
            own, change.update, condition, {**change.names, **names}, {**change.values, **values}
        )
        texts = (" ".join(inverted), " ".join(found))
        yield Fault(Kind.WRONG_EDGE, key, *texts, repair=(repair,))


def _read_whole(image: Image, name: str) -> int | None:
    """A whole number; None for anything else."""
    if "N" not in image.get(name, {}):
        return None
    try:
        return attributes.get_integer(image, name)
    except ValueError:
        return None


def _show(image: Image, name: str) -> str:
    return str(next(iter(image[name].values()))) if name in image else "missing"
