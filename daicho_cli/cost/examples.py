"""Example items of a traffic file as the library stores them: pure."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from daicho.errors import Invalid
from daicho.layout import versions
from daicho.layout.base_item import build_base_item
from daicho.layout.sections import MANIFEST, Section, split_into_sections, start_manifest
from daicho.plan import EntityPlan, Generation
from daicho.storage.attributes import AttributeValue, Image, to_value
from daicho_cli.cost.traffic import TrafficError

TENANT = "tenant-one"
ID = "01kakz0c7sj7w9v0e3m4n5p6q7"
"""As long as the ids that the library makes."""
SALT = "0" * 32
SHARDS = 8
CREATED = dt.datetime(2026, 11, 21, 1, 5, 40, 123456, tzinfo=dt.UTC)


class ExampleError(TrafficError):
    """An example that cannot be stored or derived."""


def build_image(
    generation: Generation, values: Mapping[str, Any], tenant: str = TENANT
) -> dict[str, AttributeValue]:
    """The whole image of an item. Fields of the key that are not given get typical values.

    Raises:
        ExampleError: a value that its field cannot have.
    """
    plan = generation.plan
    image = convert_fields(plan, {**_fill_key(plan), **values})
    try:
        if plan.split is not None:
            sections = split_sections(plan, values)
            image[MANIFEST] = start_manifest(ID, 1, sections).to_value()
        return build_base_item(tenant, generation, image, CREATED)
    except (Invalid, ValueError, ArithmeticError) as error:
        raise ExampleError(f"an example of {plan.name} cannot be stored: {error}") from error


def convert_fields(plan: EntityPlan, values: Mapping[str, Any]) -> dict[str, AttributeValue]:
    """The attribute values of fields as a traffic file has them; the split field is left out.

    Raises:
        ExampleError: a value that its field cannot have.
    """
    image: dict[str, AttributeValue] = {}
    for name, value in values.items():
        if value is None or name == plan.split or (plan.fields.get(name) == "set" and not value):
            continue
        try:
            image[name] = to_value(_convert(value, plan.fields.get(name, "")))
        except (ValueError, TypeError, ArithmeticError) as error:
            raise ExampleError(f"{plan.name}.{name} cannot be {value!r}: {error}") from error
    return image


def split_sections(plan: EntityPlan, values: Mapping[str, Any]) -> list[Section]:
    """The sections of an example of a split item; none if the example has none."""
    return split_into_sections(values.get(plan.split or "") or {}, plan.split or "")


def build_stored_item(plan: EntityPlan, image: Image, version: int = 1) -> Image:
    """The base item of a whole image: of a versioned entity, the copy or the pointer."""
    if plan.versions is None:
        return image
    return versions.restore_base_item(plan, versions.split_versioned_image(image, version, CREATED))


def build_version_item(plan: EntityPlan, image: Image, version: int = 1) -> Image:
    """The version item of a whole image."""
    return versions.build_version_item(
        versions.split_versioned_image(image, version, CREATED), plan.name
    )


def _convert(value: Any, kind: str) -> Any:
    match kind:
        case "set":
            return set(value)
        case "decimal":
            return Decimal(str(value))
        case "datetime" if isinstance(value, str):
            return dt.datetime.fromisoformat(value)
        case _:
            return value


def _fill_key(plan: EntityPlan) -> dict[str, Any]:
    """Typical values of the fields that place an item."""
    names = [*plan.key.fields, plan.key.shards, plan.key.salt]
    fixed: dict[Any, Any] = {plan.key.salt: SALT, plan.key.shards: SHARDS}
    by_kind = {"int": 1, "bool": False, "date": CREATED.date(), "datetime": CREATED}
    return {
        name: fixed.get(name, by_kind.get(plan.fields.get(name, "str"), ID))
        for name in names
        if isinstance(name, str) and name != "created_at"
    }
