"""Models of an entity on the wire: the fields that may be written, and those that are shown.

Write models omit the fields in the path, generated fields (``uid``) and copied fields. They refuse
unknown fields.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Collection, Iterable, Mapping
from functools import cache
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, create_model

from daicho.declare.entity import Entity, get_values
from daicho.declare.fields import MISSING, FieldSpec
from daicho.declare.keys import Key
from daicho.declare.rules.roles import OWNER
from daicho.declare.rules.rule_set import Frozen
from daicho.items.json_pairs import write_plainly
from daicho.items.projection import View
from daicho.layout.sections import MAX_SECTION_NAME_BYTES
from daicho.web.schema.model_refs import ModelRef
from daicho.web.schema.wire_types import (
    ADDRESSABLE,
    add_limits,
    strip_none,
    to_json_type,
    to_shown_type,
    to_text_type,
)

OWNER_DESCRIPTION = "The subject of your token. Only some roles may name another owner."
STRICT = ConfigDict(extra="forbid", allow_inf_nan=False)
WRITERS_EXTENSION, FROZEN_EXTENSION = "x-daicho-writers", "x-daicho-frozen"
"""Extensions of a field: the roles that may write it, unless its owner may too; values of other
fields with which it does not change."""
_READ_ONLY: dict[str, Any] = {"readOnly": True}


@cache
def list_key_names(entity: type[Entity]) -> tuple[str, ...]:
    """The fields of an entity's key, partition first."""
    return tuple(spec.name for spec in build_key_model(entity).parts)


def build_key_model(entity: type[Entity]) -> Key[Any]:
    """An entity's key as it is declared."""
    key = entity.declarations_["key"]
    assert isinstance(key, Key)  # noqa: S101  # an entity without one fails when it is defined
    return key


def build_creation_model(
    entity: type[Entity], name: str, omitted_names: Iterable[str], in_paths: Collection[str] = ()
) -> type[BaseModel]:
    """The body of POST and PUT: all fields but ``omitted_names`` (in the path) and generated ones.

    ``in_paths``: fields that occur in paths, so that their values must have an address.
    """
    fields: dict[str, Any] = {}
    for field_name, spec in _list_writable_fields(entity, omitted_names).items():
        described = _describe_writers(entity, spec)
        if spec.factory is not None:
            default = Field(default_factory=spec.factory, **described)
        elif spec.role == "owner":
            default = Field(default=None, description=OWNER_DESCRIPTION)
        elif spec.default is not MISSING:
            default = Field(default=spec.default, **described)
        else:
            default = Field(**described)
        fields[field_name] = (_choose_body_type(entity, field_name, in_paths), default)
    return create_model(name, __config__=STRICT, **fields)


def build_change_model(entity: type[Entity], in_paths: Collection[str] = ()) -> type[BaseModel]:
    """The body of PATCH: any of the fields that may change; null if the field admits None."""
    moves = build_key_model(entity).moves
    fixed = [name for name in list_key_names(entity) if moves is None or name != moves.name]
    # The default only makes a field optional: a null is still validated.
    fields: dict[str, Any] = {
        name: (
            _choose_body_type(entity, name, in_paths),
            Field(default=None, **_describe_writers(entity, spec)),
        )
        for name, spec in _list_writable_fields(entity, fixed).items()
        if not spec.frozen and spec is not entity.split_field_
    }
    return create_model(f"{entity.__name__}Change", __config__=STRICT, **fields)


def _describe_writers(entity: type[Entity], spec: FieldSpec) -> dict[str, Any]:
    """The description of a field that not everybody may write, or not always."""
    names = dict(entity.rules_.limited).get(spec, ())
    frozen = {
        rule.when.field.name: list(rule.when.values)
        for rule in entity.rules_.changes
        if isinstance(rule, Frozen) and rule.when is not None and spec in rule.fields
    }
    texts = [f"Written only by: {', '.join(names)}."] if names else []
    texts += [f"Does not change while {name} is {' or '.join(v)}." for name, v in frozen.items()]
    extra: dict[str, Any] = {WRITERS_EXTENSION: list(names)} if names and OWNER not in names else {}
    extra |= {FROZEN_EXTENSION: frozen} if frozen else {}
    return {"description": " ".join(texts), "json_schema_extra": extra} if texts else {}


@cache
def build_item_model(entity: type[Entity]) -> type[BaseModel]:
    """The model of a shown item: all but hidden fields."""
    fields: dict[str, Any] = {
        name: (
            to_shown_type(spec.annotation | None if spec.role == "copied" else spec.annotation),
            Field(json_schema_extra=_READ_ONLY) if spec.role == "computed" else ...,
        )
        for name, spec in entity.fields_.items()
        if not spec.hidden
    }
    split_field = entity.split_field_
    if split_field is not None:
        whole_field = Field(
            default=None, description="Only in the answer for one item, not in lists."
        )
        fields[split_field.name] = (split_field.annotation, whole_field)
    fields |= {"created_at": (dt.datetime, ...), "version": (int, ...)}
    if entity.versioned_:
        fields["versioned_at"] = (dt.datetime | None, ...)
    return create_model(entity.__name__, __doc__=entity.__doc__, **fields)


def refer_to_item(entity: type[Entity]) -> ModelRef:
    """A reference to the model of a shown item."""
    return ModelRef(build_item_model, (entity,))


def refer_to_page(model: type[BaseModel] | ModelRef) -> ModelRef:
    """A reference to the model of a page of what ``model`` describes."""
    subject = model.subjects[0] if isinstance(model, ModelRef) else None
    is_owned = getattr(subject, "owner_field_", None) is not None
    return ModelRef(build_page_model, (model, is_owned), is_page=True)


class Unreadable(BaseModel):
    """An item that is stored in another form than its entity has. PUT or DELETE replaces it."""

    key: dict[str, str] = Field(description="Its key: the values as texts, by field.")
    detail: str = Field(description="What is wrong, in words.")
    field: str = Field(description="The attribute at fault; empty if no single one is.")


def build_unreadable_field() -> dict[str, Any]:
    """The field of what a page leaves out."""
    left_out: Any = Field(
        default=[], description="Items of the list that cannot be read. Absent if there are none."
    )
    return {"unreadable": (list[Unreadable], left_out)}


_NOTE: Any = Field(
    default="", description="Why the page is empty, if its items are the caller's by default."
)


@cache
def build_page_model(model: type[BaseModel], is_owned: bool = False) -> type[BaseModel]:
    """The model of a list's page. ``is_owned``: of items with an owner."""
    fields: dict[str, Any] = {
        "items": (list[model], ...),  # type: ignore[valid-type]
        "cursor": (str | None, ...),
        **build_unreadable_field(),
        **({"note": (str, _NOTE)} if is_owned else {}),
    }
    description = "A page of a list; the cursor is null on the last page only."
    return create_model(f"{model.__name__}Page", __doc__=description, **fields)


def render_item(item: Entity) -> str:
    """An item as JSON."""
    entity, split_field = type(item), type(item).split_field_
    omitted = split_field.name if split_field is not None else None
    values: dict[str, Any] = {
        name: sorted(value) if isinstance(value, set | frozenset) else value
        for name, value in get_values(item).items()
        if not entity.fields_[name].hidden and not (value is None and name == omitted)
    }
    values |= {"created_at": item.created_at, "version": item.version}
    if entity.versioned_:
        values["versioned_at"] = item.versioned_at
    return _render_values(entity, values)


def render_view(view: View) -> str:
    """Some fields of an item as JSON."""
    values: dict[str, Any] = {
        name: sorted(value) if isinstance(value, set | frozenset) else value
        for name, value in view.values.items()
    }
    return _render_values(view.entity, values)


def _render_values(entity: type[Entity], values: Mapping[str, Any]) -> str:
    """Values of fields as JSON."""
    model = build_item_model(entity).model_construct(**values)
    options: dict[str, Any] = {"warnings": False, "exclude_unset": True}
    return write_plainly(
        model.model_dump_json(**options), model, lambda: model.model_dump(mode="json", **options)
    )


def choose_parameter_type(entity: type[Entity], name: str) -> Any:
    """The type of a field in a path or a query."""
    return _choose_type(entity, name, lambda annotation: to_text_type(strip_none(annotation)))


def _choose_body_type(entity: type[Entity], name: str, in_paths: Collection[str]) -> Any:
    """The type of a field in a body. A value that would have no address is refused."""
    annotation, split_field = _choose_type(entity, name, to_json_type), entity.split_field_
    if split_field is not None and name == split_field.name:
        names: Any = {"propertyNames": {"minLength": 1, "maxLength": MAX_SECTION_NAME_BYTES}}
        return Annotated[annotation, ADDRESSABLE, Field(json_schema_extra=names)]
    return Annotated[annotation, ADDRESSABLE] if name in in_paths else annotation


def _choose_type(entity: type[Entity], name: str, as_written: Callable[[Any], Any]) -> Any:
    """The field's type with the limits in the entity's own model."""
    model_field = entity.model_.model_fields[name]
    return add_limits(as_written(entity.fields_[name].annotation), model_field.metadata)


def _list_writable_fields(
    entity: type[Entity], omitted_names: Iterable[str]
) -> dict[str, FieldSpec]:
    omitted = set(omitted_names)
    return {
        name: spec
        for name, spec in entity.fields_.items()
        if name not in omitted and not spec.is_derived and spec.role != "uid"
    }
