"""The text of an image's fields as components of keys."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import product

from daicho.plan import Condition, EntityPlan, Part
from daicho.plan.calendar import find_calendar
from daicho.plan.number_ranges import find_range
from daicho.search.normalise import fold
from daicho.storage import attributes, keys
from daicho.storage.attributes import Image


class UnderivableError(ValueError):
    """An image that derives too much, or holds in ``field`` what its plan cannot read."""

    def __init__(self, message: str, field: str | None = None) -> None:
        super().__init__(message)
        self.field = field


def render_part(plan: EntityPlan, part: Part, image: Image) -> str | None:
    """The component of a part, or None if the image has no value for it.

    Raises:
        UnderivableError: the value has another type than the plan declares.
    """
    if part.edges:
        return _render_range(part, image)
    plain = render_field(plan, image, part.field)
    if plain is None:
        return None
    if part.folded:
        return fold(plain, part.fold_version) or None
    return plain if part.bucket is None else render_time_bucket(part, plain)


def _render_range(part: Part, image: Image) -> str | None:
    """The range of a number, or None if the image has none."""
    value = image.get(part.field)
    if value is None or "NULL" in value:
        return None
    return find_range(part.edges, attributes.parse_number(value["N"]))


def render_time_bucket(part: Part, plain: str) -> str:
    """The time bucket of an instant or day, as an image has it: see `daicho.plan.calendar`."""
    if part.zone == "UTC":  # what most items need, without parsing the instant
        match part.bucket:
            case "year":
                return plain[:4]
            case "month":
                return plain[:7]
            case "day":
                return plain[:10]
            case "hour":
                return f"{plain[:13]}:00Z"
            case _:
                pass
    if part.bucket is None:
        return plain
    return find_calendar(part.bucket, part.zone, part.first_weekday).render_text(plain)


def list_combinations(
    plan: EntityPlan, parts: tuple[Part, ...], image: Image
) -> Iterator[tuple[str, ...]]:
    """One tuple; several if a part declares ``each`` of a set; none if a part is missing.

    The product of two sets may have no end: nothing of it is made in advance.
    """
    choices: list[Sequence[str]] = []
    for part in parts:
        if part.each:
            choices.append(sorted(list_references(image, part.field)))
        else:
            one = render_part(plan, part, image)
            choices.append(() if one is None else (one,))
    return product(*choices)


def list_references(image: Image, name: str) -> frozenset[str]:
    """The ids that a field refers to: all of a set, or the one of a single reference."""
    value = image.get(name)
    if value is None or "NULL" in value:
        return frozenset()
    return frozenset(value["SS"]) if "SS" in value else frozenset((value["S"],))


def meets_condition(plan: EntityPlan, where: Condition | None, image: Image) -> bool:
    """Whether an image is one that a declaration's ``where`` selects; None selects all."""
    return where is None or render_field(plan, image, where.field) in where.one_of


def has_fields(plan: EntityPlan, image: Image, names: Iterable[str]) -> bool:
    """Whether an image has a value for each of these fields."""
    return all(render_field(plan, image, name) is not None for name in names)


def render_key_fields(plan: EntityPlan, image: Image, names: Iterable[str]) -> tuple[str, ...]:
    """The components of key fields, in this order.

    Raises:
        UnderivableError: the image has no value for one of them, or one of another type.
    """
    return tuple(render_key_field(plan, image, name) for name in names)


def render_key_field(plan: EntityPlan, image: Image, name: str) -> str:
    """A key field's component.

    Raises:
        UnderivableError: the image has no value for it, or one of another type.
    """
    plain = render_field(plan, image, name)
    if not plain:
        raise UnderivableError(f"{plan.name}.{name} is part of a key and must not be empty")
    return plain


def render_field(plan: EntityPlan, image: Image, name: str) -> str | None:
    """A field as key text, or None if the image has no value for it.

    Days and instants are stored in their rendered form.

    Raises:
        UnderivableError: the value has another type than the plan declares.
    """
    value = image.get(name)
    if value is None or "NULL" in value:
        return None
    kind = plan.fields.get(name, "str")
    try:
        match kind:
            case "int":
                return keys.render_scalar(
                    attributes.to_whole_number(attributes.parse_number(value["N"]))
                )
            case "bool":
                return keys.render_scalar(bool(value["BOOL"]))
            case _:
                return str(value["S"])
    except KeyError:
        raise UnderivableError(f"{plan.name}.{name} is no {kind}") from None


def compute_item_shard(plan: EntityPlan, image: Image, parts: Sequence[str]) -> int:
    """The shard of an image's partition: a hash of its key's components, and of its salt.

    Raises:
        UnderivableError: the image has no number of shards.
    """
    shards = plan.key.shards
    number = attributes.get_integer(image, shards) if isinstance(shards, str) else shards
    if not number or number < 1:
        raise UnderivableError(f"{plan.name} has no number of shards")
    salt = [attributes.get_text(image, plan.key.salt) or ""] if plan.key.salt else []
    return keys.compute_shard(number, *salt, *parts)
