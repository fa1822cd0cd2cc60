"""The text of an image's fields as components of keys."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from daicho.plan import Condition, EntityPlan, Part
from daicho.search.normalise import fold
from daicho.storage import attributes, keys
from daicho.storage.attributes import Image


class UnderivableError(ValueError):
    """An image that derives too much, or holds in ``field`` what its plan cannot read."""

    def __init__(self, message: str, field: str | None = None) -> None:
        super().__init__(message)
        self.field = field


def part_text(plan: EntityPlan, part: Part, image: Image) -> str | None:
    """The component that a part gives, or None if the image has no value there.

    Raises:
        UnderivableError: a value of another type than the plan says.
    """
    plain = optional_text(plan, image, part.field)
    if plain is None:
        return None
    if part.folded:
        return fold(plain) or None
    return bucket_text(part, plain)


def bucket_text(part: Part, plain: str) -> str:
    """The time bucket of an instant or day: ``2026-11`` or ``2026-11-21`` (UTC)."""
    match part.bucket:
        case "month":
            return plain[:7]
        case "day":
            return plain[:10]
        case None:
            return plain


def combinations(
    plan: EntityPlan, parts: tuple[Part, ...], image: Image
) -> Iterator[tuple[str, ...]]:
    """One tuple, several where a part stands for each of a set, none where a part is missing."""
    choices: list[list[str]] = []
    for part in parts:
        if part.each:
            choices.append(sorted(references(image, part.field)))
        else:
            one = part_text(plan, part, image)
            choices.append([] if one is None else [one])
    yield from product(*choices)


def references(image: Image, name: str) -> frozenset[str]:
    """The ids that a field refers to: of a set all, of a single reference the one."""
    value = image.get(name)
    if value is None or "NULL" in value:
        return frozenset()
    return frozenset(value["SS"]) if "SS" in value else frozenset((value["S"],))


def meets_condition(plan: EntityPlan, where: Condition | None, image: Image) -> bool:
    """Whether an image is one that a declaration's ``where`` selects; None selects all."""
    return where is None or optional_text(plan, image, where.field) in where.one_of


def key_components(plan: EntityPlan, image: Image) -> tuple[str, ...]:
    """The components of an image's whole key: those of the partition key come first."""
    return tuple(field_text(plan, image, n) for n in (*plan.key.partition, *plan.key.sort))


def field_text(plan: EntityPlan, image: Image, name: str) -> str:
    """A key field's component.

    Raises:
        UnderivableError: the image has no value there, or one of another type.
    """
    plain = optional_text(plan, image, name)
    if not plain:
        raise UnderivableError(f"{plan.name}.{name} is part of a key and must not be empty")
    return plain


def optional_text(plan: EntityPlan, image: Image, name: str) -> str | None:
    """A field as key text, or None if the image has no value there.

    Days and instants are stored as they are rendered.

    Raises:
        UnderivableError: a value of another type than the plan says.
    """
    value = image.get(name)
    if value is None or "NULL" in value:
        return None
    try:
        match plan.fields.get(name, "str"):
            case "int":
                return keys.text_of(attributes.whole(attributes.number(value["N"])))
            case "bool":
                return keys.text_of(bool(value["BOOL"]))
            case _:
                return str(value["S"])
    except KeyError:
        kind = plan.fields.get(name, "str")
        raise UnderivableError(f"{plan.name}.{name} is no {kind}") from None


def shard_number(plan: EntityPlan, image: Image, parts: list[str]) -> int:
    """The shard of an image's partition: a hash of its key's components, and of its salt.

    Raises:
        UnderivableError: the image does not say how many shards there are.
    """
    shards = plan.key.shards
    number = attributes.integer(image, shards) if isinstance(shards, str) else shards
    if not number or number < 1:
        raise UnderivableError(f"{plan.name} has no number of shards")
    salt = [attributes.text(image, plan.key.salt) or ""] if plan.key.salt else []
    return keys.shard_of(number, *salt, *parts)
