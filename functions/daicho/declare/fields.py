"""Fields: the left side gives the type of a value, the right side its use.

Only a field that a declaration reads needs a right side; ``text: str`` alone is a field too.
"""

from __future__ import annotations

import base64
import datetime as dt
import hashlib
import types
import typing
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from typing import Any, Literal, Union

from ulid import ULID

from daicho.errors import DeclarationError
from daicho.plan import TextKind
from daicho.search.phones import DEFAULT_REGION, find_rules

Role = Literal["plain", "uid", "ref", "refs", "copied", "computed", "object", "owner"]


class _Missing:
    def __repr__(self) -> str:
        return "MISSING"


MISSING: Any = _Missing()
"""No default: the field must be given."""


@dataclass(eq=False)
class FieldSpec:
    """The right side of a field; on the class it denotes the field itself."""

    role: Role = "plain"
    default: Any = MISSING
    factory: Callable[[], Any] | None = None
    target: Any = None
    source: FieldSpec | None = None
    frozen: bool = False
    hidden: bool = False
    limits: dict[str, Any] | None = None
    must_exist: bool = False
    on_delete: Literal["", "refuse", "cascade"] = ""
    reads_as: TextKind = "text"
    region: str = ""
    transitions: Mapping[str | None, Any] | None = None
    write: str | Collection[str] = ()
    name: str = ""
    entity: str = ""
    annotation: Any = None

    def __set_name__(self, owner: type, name: str) -> None:
        self.name, self.entity = name, owner.__name__

    def __str__(self) -> str:
        return f"{self.entity}.{self.name}"

    @property
    def required(self) -> bool:
        """Whether a caller must give a value."""
        return not self.is_derived and self.default is MISSING and self.factory is None

    @property
    def is_derived(self) -> bool:
        """Whether the library sets its value: it is copied from another item, or computed."""
        return self.role in ("copied", "computed")

    @property
    def accepts_none(self) -> bool:
        """Whether None is a value of its type."""
        return _accepts_none(self.annotation)

    @property
    def is_required_in_items(self) -> bool:
        """Whether an item without a value would violate the published schema."""
        return (self.required or self.is_derived) and not self.accepts_none

    @cached_property
    def kind(self) -> str:
        """The kind of the value in a key: str, int, bool, decimal, date, datetime, set or json.

        Every read and write of an item needs it, so it is computed once.
        """
        return _choose_kind(self.annotation)

    @property
    def literals(self) -> tuple[Any, ...] | None:
        """The values that a ``Literal`` annotation admits, or None."""
        inner = strip_none(self.annotation)
        return typing.get_args(inner) if typing.get_origin(inner) is Literal else None


def field(
    *,
    default: Any = MISSING,
    factory: Callable[[], Any] | None = None,
    frozen: bool = False,
    hidden: bool = False,
    kind: TextKind = "text",
    region: str | None = None,
    transitions: Mapping[str | None, Any] | None = None,
    write: str | Collection[str] = (),
    **limits: Any,
) -> Any:
    """A field that a declaration reads.

    Args:
        default: the value where none is given; without it the field is required.
        factory: makes the value where none is given (`now`, say).
        frozen: set when the item is created, never changed.
        hidden: never shown by the API (a salt, say).
        kind: how a search reads it: a ``company`` with its designator and without (Acme Inc.), a
            ``phone`` number by its national, its international and its 00 form.
        region: the country of phone numbers without the code of one: ``"GB"``. By default ``"JP"``.
        transitions: the states that may follow each state of a ``Literal``:
            ``{"draft": ("open", "void"), "open": ("paid",)}``. A state that is no key is final.
            The key None lists the states that a new item may have; without it, any.
        write: who may give and change the value: names of roles, or ``"owner"``. By default
            everybody who may write the item.
        limits: what Pydantic's ``Field`` takes: ``max_length``, ``pattern``, ``ge``, ``le``... and
            ``examples``, whose first the API's description shows.
    """
    if kind not in typing.get_args(TextKind):
        raise DeclarationError(
            f"a field is read as one of {typing.get_args(TextKind)}, not {kind!r}; "
            "write kind= with one of them, or leave it out"
        )
    if kind == "phone":
        region = _check_region(region or DEFAULT_REGION)
    elif region is not None:
        raise DeclarationError(
            f"region={region!r} is that of phone numbers, and kind={kind!r}; "
            'write kind="phone", or leave region= out'
        )
    return FieldSpec(
        default=default,
        factory=factory,
        frozen=frozen,
        hidden=hidden,
        limits=limits or None,
        reads_as=kind,
        region=region or "",
        transitions=transitions,
        write=write,
    )


def _check_region(region: str) -> str:
    if region != DEFAULT_REGION:  # which is known, without loading the library
        try:
            find_rules(region)
        except ValueError as error:
            raise DeclarationError(
                f'{error}; write the ISO code of a country, such as region="GB"'
            ) from None
    return region


def uid(factory: Callable[[], Any] | None = None, **options: Any) -> Any:
    """An identifier that is made when none is given: a ULID, so that ids sort by time.

    ``factory`` makes it another way (a random salt, say); ``options`` are those of `field`.
    """
    spec: FieldSpec = field(frozen=True, factory=factory or new_id, **options)
    spec.role = "uid"
    return spec


def ref(
    target: type,
    *,
    default: Any = MISSING,
    must_exist: bool = False,
    on_delete: Literal["", "refuse", "cascade"] = "",
) -> Any:
    """The id of another entity's item, whose existence is not checked by default.

    If it ``must_exist``, it is checked when somebody refers to it: that write and the check are
    then one transaction, at 3 write and 2 read units more. The item may be deleted after that. With
    ``on_delete="refuse"`` it is not deleted while an item refers to it, and with ``"cascade"`` the
    items that refer to it are deleted first.

    Raises:
        DeclarationError: ``on_delete`` without ``must_exist``, or another value.
    """
    if not isinstance(target, type):
        raise DeclarationError(f"ref() takes an entity, not {target!r}; write ref(User)")
    if on_delete not in ("", "refuse", "cascade") or (on_delete and not must_exist):
        raise DeclarationError(
            f"ref(on_delete={on_delete!r}) takes 'refuse' or 'cascade', and a reference that must "
            f'exist; write ref({target.__name__}, must_exist=True, on_delete="refuse")'
        )
    return FieldSpec(
        role="ref",
        target=target,
        default=default,
        limits={"min_length": 1},
        must_exist=must_exist,
        on_delete=on_delete,
    )


def refs(target: type) -> Any:
    """A set of ids of another entity, for few (at most 50); an `Edge` is for many."""
    if not isinstance(target, type):
        raise DeclarationError(f"refs() takes an entity, not {target!r}; write refs(User)")
    return FieldSpec(role="refs", target=target, factory=set, limits={"max_length": 50})


def copied(reference: Any, source: Any) -> Any:
    """A snapshot of the referenced item's field, taken once, when the item is created.

    It is hidden where the other is.
    """
    if not isinstance(reference, FieldSpec) or reference.role != "ref":
        raise DeclarationError(
            "copied() reads through a ref of the same entity; "
            "declare the ref above, user: str = ref(User), and write copied(user, "
            "User.name)"
        )
    if not isinstance(source, FieldSpec):
        raise DeclarationError(
            f"copied() takes a field of another entity, not {source!r}; "
            "write copied(user, User.name)"
        )
    hidden = source.hidden
    return FieldSpec(role="copied", target=reference, source=source, frozen=True, hidden=hidden)


def id_of(idempotency_key: str) -> str:
    """The id of what is created under a key: always the same, as long as a ULID, in no order."""
    digest = hashlib.blake2b(idempotency_key.encode(), digest_size=16).digest()
    return base64.b32encode(digest).decode().rstrip("=").lower()


def new_id() -> str:
    """A ULID in lower case: 26 characters that sort by the time they were made."""
    return str(ULID()).lower()


def now() -> dt.datetime:
    """This moment, in UTC."""
    return dt.datetime.now(dt.UTC)


created_at: Any = FieldSpec(name="created_at", entity="Entity", annotation=dt.datetime)
"""The moment an item was created, for a declaration that reads it. Inherited by every entity."""
changed_at: Any = FieldSpec(name="changed_at", entity="Entity", annotation=dt.datetime)
"""The moment of the last write of an item, for `Expires`. Only entities that read it keep it."""


_KINDS: dict[Any, str] = {
    str: "str",
    int: "int",
    bool: "bool",
    Decimal: "decimal",
    dt.date: "date",
    dt.datetime: "datetime",
}


def _choose_kind(annotation: Any) -> str:
    inner = strip_none(annotation)
    if typing.get_origin(inner) is typing.Annotated:
        inner = typing.get_args(inner)[0]
    if typing.get_origin(inner) is Literal:
        return (
            "str" if all(isinstance(literal, str) for literal in typing.get_args(inner)) else "json"
        )
    if typing.get_origin(inner) is set and typing.get_args(inner) == (str,):
        return "set"
    return _KINDS.get(inner, "json")


def _accepts_none(annotation: Any) -> bool:
    members = typing.get_args(annotation)
    if typing.get_origin(annotation) is typing.Annotated:
        return _accepts_none(members[0])
    is_union = typing.get_origin(annotation) in (Union, types.UnionType)
    return annotation is type(None) or (is_union and any(map(_accepts_none, members)))


def strip_none(annotation: Any) -> Any:
    """The type of a field's values that are not None."""
    if typing.get_origin(annotation) in (Union, types.UnionType):
        inner = [member for member in typing.get_args(annotation) if member is not type(None)]
        if len(inner) == 1:
            return inner[0]
    return annotation
