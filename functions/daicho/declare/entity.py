"""Entities: typed classes whose fields and declarations are collected when they are defined."""

from __future__ import annotations

import builtins
import datetime as dt
import difflib
import inspect
import re
import sys
import typing
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any, Protocol, TypeVar, dataclass_transform

from pydantic import BaseModel, ConfigDict, Field, ValidationError, create_model
from pydantic_core import SchemaError, SchemaValidator
from pydantic_core.core_schema import str_schema

from daicho.declare.base import Declaration
from daicho.declare.fields import MISSING, FieldSpec, field, now, ref
from daicho.declare.rules.rule_set import NO_RULES, RuleSet, collect_rules
from daicho.declare.stored_objects import StoredObject
from daicho.errors import DeclarationError
from daicho.plan import VersionMode
from daicho.plan.expiry import CHANGED_AT
from daicho.search.normalise import FIELD_CODE_POINTS

_INDEX_KEYS = tuple(f"GSI{number}{end}" for number in (1, 2, 3) for end in ("PK", "SK"))
_MARKS = (
    "_ttl_expired",
    "_ttl_expired_at",
    "_restored",
    "_dismissed",
    "_repair",
    "_quiet",
    "_cause",
    "_closing",
)
_OF_CONTENT = ("_history", "_bytes", "_deleted")
_KEPT = ("type", "version", "gen", "created_at", "versioned_at", "ttl", "seq", "split", *_MARKS)
RESERVED = frozenset(("PK", "SK", *_INDEX_KEYS, *_KEPT, *_OF_CONTENT, CHANGED_AT))
PROTECTED = ("model_validate", "model_dump")
"""Pydantic warns of each name of a field that begins with one of these."""
E = TypeVar("E", bound="Entity")


class _Body(dict[str, Any]):
    """A class body that names a misspelt field instead of raising a bare NameError."""

    def __init__(self, entity: str, scope: Mapping[str, Any]) -> None:
        super().__init__()
        self.entity, self.scope = entity, scope

    def __setitem__(self, name: str, value: Any) -> None:
        if isinstance(value, FieldSpec):
            _check_name(self.entity, name)  # a class cannot be made with some of these names
        super().__setitem__(name, value)

    def __missing__(self, name: str) -> Any:
        if name in self.scope or hasattr(builtins, name) or name.startswith("__"):
            raise KeyError(name)
        if name in self.get("__annotations__", {}):
            annotation = self["__annotations__"][name]
            type_name = getattr(annotation, "__name__", annotation)
            raise DeclarationError(
                f"{self.entity}.{name} is read by a declaration, so it needs a right-hand side: "
                f"{name}: {type_name} = field()"
            )
        similar_names = difflib.get_close_matches(
            name, [defined_name for defined_name in self if defined_name[0] != "_"], 1
        )
        hint = f"declare it above: {name}: str = field()"
        if similar_names:
            hint = f"did you mean {similar_names[0]!r}?"
        raise DeclarationError(f"{self.entity} reads undeclared {name!r}; {hint}")


@dataclass_transform(kw_only_default=True, field_specifiers=(field, ref))
class EntityMeta(type):
    """Collects an entity's fields and declarations."""

    fields_: dict[str, FieldSpec]
    declarations_: dict[str, Declaration]
    model_: type[BaseModel]
    versioned_: VersionMode | None
    split_field_: FieldSpec | None
    """The field whose sections are items of their own, if one is split."""
    object_fields_: tuple[str, ...]
    """The names of the fields that are objects in S3."""
    now_fields_: frozenset[str]
    """The names of the fields whose default is `now`."""
    owner_field_: FieldSpec | None
    """The field with the subject that owns the item, if one is declared."""
    referrers_: list[tuple[type[Any], FieldSpec]]
    """The references of other entities with ``on_delete=`` to it."""
    rules_: RuleSet = NO_RULES
    """What every write of an item computes and checks."""

    @property
    def cascading_(cls) -> dict[tuple[str, str], type[Any]]:
        """The entities whose items are deleted with one of this, by the name and the reference."""
        return {
            (spec.entity, spec.name): entity
            for entity, spec in cls.referrers_
            if spec.on_delete == "cascade"
        }

    @classmethod
    def __prepare__(mcs, name: str, bases: tuple[type, ...], /, **options: Any) -> dict[str, Any]:
        # Names that the class body may reach besides its own: the module, and enclosing scopes.
        frame = sys._getframe(1)
        return _Body(name, {**frame.f_globals, **frame.f_locals})

    def __new__(
        mcs, name: str, bases: tuple[type, ...], body: dict[str, Any], **options: Any
    ) -> EntityMeta:
        """Make the class; wrong declarations raise DeclarationError."""
        cls = super().__new__(mcs, name, bases, dict(body), **options)
        if bases:
            _collect_declarations(cls)
        return cls


class Entity(metaclass=EntityMeta):
    """The base of every entity. ``created_at`` and ``version`` come with it, read-only."""

    def __init__(self, /, **values: Any) -> None:
        """Validate the values.

        Raises:
            pydantic.ValidationError: unknown, missing or wrong values.
        """
        self.__dict__.update(vars(type(self).model_(**values)))
        self.__dict__["_made_now"] = type(self).now_fields_.difference(values)
        self.__dict__["_created_at"] = None
        self.__dict__["_version"] = 0
        self.__dict__["_versioned_at"] = None

    @property
    def created_at(self) -> dt.datetime:
        """When the item was created, in UTC; set once, when it is first stored."""
        moment: dt.datetime | None = self.__dict__["_created_at"]
        if moment is None:
            raise AttributeError(f"{type(self).__name__} has not been stored yet")
        return moment

    @property
    def version(self) -> int:
        """How often the item was written: 1 when created, 0 before."""
        return int(self.__dict__["_version"])

    @property
    def versioned_at(self) -> dt.datetime | None:
        """When this version was written, in UTC.

        None where no versions are kept, and of one that is older than the word ``Versioned``.
        """
        moment: dt.datetime | None = self.__dict__["_versioned_at"]
        return moment

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self.__dict__ == other.__dict__

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        values = ", ".join(f"{name}={value!r}" for name, value in get_values(self).items())
        return f"{type(self).__name__}({values})"


def get_values(item: Entity) -> dict[str, Any]:
    """An item's fields as they are: the given ones, the made ones, the copied ones."""
    return {name: item.__dict__[name] for name in type(item).fields_}


def list_made_now(item: Entity) -> frozenset[str]:
    """The fields of a new item that have the time at which it was made, because none was given."""
    made: frozenset[str] = item.__dict__["_made_now"]
    return made


def restore_item(
    cls: type[E],
    values: Mapping[str, Any],
    created_at: dt.datetime,
    version: int,
    versioned_at: dt.datetime | None = None,
) -> E:
    """An item as it was read from the table.

    Limits, and fields that must be given, are for what is written: an item from before they were
    declared is shown as it is, or one added limit would make whole lists unreadable.

    Raises:
        pydantic.ValidationError: what is stored does not fit the entity's types any more.
    """
    try:
        model = cls.model_(**values)
    except ValidationError:
        model = _make_lenient_model(cls)(**values)
    return place_item(cls, vars(model), created_at, version, versioned_at)


class HasVersion(Protocol):
    """An object with a version."""

    @property
    def version(self) -> int:
        """Each change raises it."""


def find_tag(item: HasVersion) -> int | str:
    """What identifies a state of an item: its version, or the digest of a stored item.

    Only a stored item without a version, which something else has written, has a digest.
    """
    tag: int | str = getattr(item, "_digest", item.version)
    return tag


def place_item(
    cls: type[E],
    values: Mapping[str, Any],
    created_at: dt.datetime,
    version: int,
    versioned_at: dt.datetime | None = None,
) -> E:
    """A stored item with these values, which are valid and complete."""
    item = cls.__new__(cls)
    item.__dict__.update(values)
    item.__dict__["_made_now"] = frozenset()
    item.__dict__["_created_at"] = created_at
    item.__dict__["_version"] = version
    item.__dict__["_versioned_at"] = versioned_at
    return item


def read_fields(
    cls: type[Entity], values: Mapping[str, Any], names: Iterable[str]
) -> dict[str, Any]:
    """Some fields of an item as they were read, by the types of `restore_item`'s older items.

    Raises:
        pydantic.ValidationError: what is stored does not fit the entity's types any more.
    """
    model = _make_lenient_model(cls)(**values)
    return {name: getattr(model, name) for name in names}


@cache
def _make_lenient_model(cls: EntityMeta) -> type[BaseModel]:
    """The model of items that older declarations allowed: the same types, without limits."""
    fields: dict[str, Any] = {}
    for name, spec in cls.fields_.items():
        if spec.factory is not None:
            fields[name] = (spec.annotation, Field(default_factory=spec.factory))
        elif spec.required or spec.is_derived:
            fields[name] = (spec.annotation | None, None)
        else:
            fields[name] = (spec.annotation, spec.default)
    return create_model(cls.__name__, **fields)


def _collect_declarations(cls: EntityMeta) -> None:
    annotations = _read_annotations(cls)
    fields = {name: _read_field(cls, name, kind) for name, kind in annotations.items()}
    declarations = {
        name: value
        for name, value in vars(cls).items()
        if isinstance(value, Declaration) and name not in annotations
    }
    untyped = [n for n, v in vars(cls).items() if isinstance(v, FieldSpec) and n not in annotations]
    if untyped:
        name = untyped[0]
        raise DeclarationError(f"{cls.__name__}.{name} has no type: {name}: str = field()")
    key = declarations.get("key")
    if key is None or not key.key_fields:
        raise DeclarationError(f"{cls.__name__} has no key: key = Key(id)")
    errors = [declaration.duplicate_error for declaration in declarations.values()]
    for error in errors:
        if error and errors.count(error) > 1:
            raise DeclarationError(f"{cls.__name__} {error}; remove one of the two declarations")
    declared = declarations.values()
    cls.versioned_ = next((each.version_mode for each in declared if each.version_mode), None)
    cls.split_field_ = next((each.split_field for each in declared if each.split_field), None)
    cls.object_fields_ = tuple(name for name, spec in fields.items() if spec.role == "object")
    cls.now_fields_ = frozenset(name for name, spec in fields.items() if spec.factory is now)
    cls.owner_field_ = _find_owner(cls, fields.values())
    cls.fields_, cls.declarations_ = fields, declarations
    cls.referrers_ = []
    for spec in fields.values():
        if spec.on_delete:
            spec.target.referrers_.append((cls, spec))
    cls.rules_ = collect_rules(cls.__name__, fields, declarations.values())
    cls.model_ = _make_model(cls)


def _find_owner(cls: EntityMeta, fields: Iterable[FieldSpec]) -> FieldSpec | None:
    """The field with the owner.

    Raises:
        DeclarationError: there are two, or it is no text.
    """
    owners = [spec for spec in fields if spec.role == "owner"]
    if len(owners) > 1:
        raise DeclarationError(
            f"{cls.__name__} has two owners: {owners[0]} and {owners[1]}; remove one of them"
        )
    if owners and owners[0].annotation is not str:
        raise DeclarationError(f"{owners[0]} is a subject; write {owners[0].name}: str")
    return owners[0] if owners else None


def _read_annotations(cls: EntityMeta) -> dict[str, Any]:
    own = {n: v for n, v in vars(cls).items() if isinstance(v, FieldSpec | Declaration)}
    try:
        # A field may bear the name of a builtin type (id, list): the module decides, not the body.
        module = vars(sys.modules[cls.__module__])
        hints = typing.get_type_hints(cls, globalns=dict(module), localns={}, include_extras=True)
    except (NameError, TypeError) as error:
        raise DeclarationError(
            f"{cls.__name__}: {error}; import the type, or correct its name in the annotation"
        ) from error
    for name, annotation in hints.items():
        if isinstance(annotation, FieldSpec) or annotation in own.values():
            raise DeclarationError(
                f"{cls.__name__}.{name} hides the type it is annotated with; import the module "
                "instead (import datetime as dt; date: dt.date)"
            )
    return {name: hints[name] for name in inspect.get_annotations(cls)}


def _check_name(entity: str, name: str) -> None:
    """Refuse a name that the library, Python or Pydantic uses.

    Raises:
        DeclarationError: names the field.
    """
    if name in RESERVED or name.startswith("_") or name.endswith("_"):
        reason = "the name is reserved"
    elif name == "keys":  # an object with it is a mapping for dict()
        reason = "Python takes an object with this attribute for a mapping"
    elif hasattr(BaseModel, name) or name.startswith(PROTECTED):
        reason = "Pydantic has an attribute of this name"
    else:
        return
    plain = name.strip("_") or "other"
    raise DeclarationError(f"{entity}.{name}: {reason}; choose another one, such as {plain}_value")


def _read_field(cls: EntityMeta, name: str, annotation: Any) -> FieldSpec:
    _check_name(cls.__name__, name)
    value = vars(cls).get(name, MISSING)
    if not isinstance(value, FieldSpec):
        if isinstance(value, Declaration):
            raise DeclarationError(
                f"{cls.__name__}.{name} is a declaration: it takes no type; "
                f"remove the annotation: {name} = ..."
            )
        value = FieldSpec(default=value)
        value.__set_name__(cls, name)
        setattr(cls, name, value)
    if value.role == "object":
        if annotation is not StoredObject:
            raise DeclarationError(f"{value} is an object: {name}: StoredObject = stored_object()")
        annotation = value.target.make_model(f"{cls.__name__}{name.title()}")
    value.annotation = annotation
    _check_pattern(value)
    return value


def _check_pattern(spec: FieldSpec) -> None:
    """Compile a field's pattern, which the model would do when it reads its first item.

    Pydantic compiles a text with the regular expressions of Rust, and takes a pattern that `re`
    has compiled as it is. A pattern takes some microseconds, the whole model a thousand times more.

    Raises:
        DeclarationError: it cannot be compiled.
    """
    pattern = (spec.limits or {}).get("pattern")
    if pattern is None or isinstance(pattern, re.Pattern):
        return
    try:
        SchemaValidator(str_schema(pattern=pattern))
    except SchemaError as error:
        reason = " ".join(str(error).split())
        raise DeclarationError(
            f"{spec}: pattern={pattern!r} cannot be used: {reason}; write a regular expression "
            "of Rust's regex (without look-around and backreferences), or give re.compile(...)"
        ) from error


def _make_model(cls: EntityMeta) -> type[BaseModel]:
    key_fields = cls.declarations_["key"].key_fields
    searched = {
        spec.name for declaration in cls.declarations_.values() for spec in declaration.searched
    }
    fields: dict[str, Any] = {}
    for name, spec in cls.fields_.items():
        limits = dict(spec.limits or {})
        if spec.kind == "str" and not spec.literals and name in searched:
            limits.setdefault("max_length", FIELD_CODE_POINTS)
            if spec.required:
                limits.setdefault("min_length", 1)  # nobody would find what is called nothing
        if spec in key_fields and spec.kind == "str" and not spec.literals:
            limits.setdefault("min_length", 1)  # an empty part would be no part
        if spec.is_derived:
            fields[name] = (spec.annotation | None, Field(default=None, **limits))
        elif spec.factory is not None:
            fields[name] = (spec.annotation, Field(default_factory=spec.factory, **limits))
        elif spec.default is MISSING:
            fields[name] = (spec.annotation, Field(**limits))
        else:
            fields[name] = (spec.annotation, Field(default=spec.default, **limits))
    return create_model(
        cls.__name__, __config__=ConfigDict(extra="forbid", defer_build=True), **fields
    )
