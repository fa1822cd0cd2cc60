"""Who may read and write the items of an entity: everybody of the tenant, their owners, or roles.

`daicho.query.access` applies the rules to the requests of a caller.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import cached_property
from typing import Any

from daicho.declare.entity import Entity
from daicho.declare.fields import FieldSpec
from daicho.declare.rules.roles import OWNER, TENANT, RoleArgument, read_names
from daicho.errors import DeclarationError
from daicho.runtime.frozen_dataclasses import dataclass


def owned_by_caller(*, hidden: bool = False, **limits: Any) -> Any:
    """The subject of the token that created the item. It never changes.

    It is not taken from a request, unless the caller has a role that may write the items of others
    (`Domain.access`). An item that was stored before its entity had this field has no owner: "".

    Args:
        hidden: never shown by the API.
        limits: those of `field`.
    """
    return FieldSpec(
        role="owner",
        default="",
        frozen=True,
        hidden=hidden,
        limits={"min_length": 1, **limits},
    )


@dataclass(frozen=True)
class AccessRule:
    """Who may read and write the items of one entity.

    ``read`` and ``write`` have "tenant", "owner" or names of roles. ``owner``: the name of the
    field with the owner, None if the entity has none.
    """

    entity: str
    read: tuple[str, ...] = (TENANT,)
    write: tuple[str, ...] = (TENANT,)
    owner: str | None = None

    @cached_property
    def reading_roles(self) -> tuple[str, ...]:
        """The roles that may read all items."""
        return tuple(name for name in self.read if name not in (TENANT, OWNER))

    @cached_property
    def writing_roles(self) -> tuple[str, ...]:
        """The roles that may write all items, and name another owner."""
        return tuple(name for name in self.write if name not in (TENANT, OWNER))

    @property
    def is_open(self) -> bool:
        """Whether everybody of the tenant may read all items."""
        return TENANT in self.read


def build_access_rule(entity: type[Entity], read: RoleArgument, write: RoleArgument) -> AccessRule:
    """The rule of an entity, as `Domain.access` declares it.

    Raises:
        DeclarationError: nobody could read or write; there is no owner; or a caller who may write
            could not read what it has written.
    """
    name, spec = entity.__name__, entity.owner_field_
    values = {"read": read_names(read, name), "write": read_names(write, name)}
    for verb, names in values.items():
        if not names:
            raise DeclarationError(f"{name}: access(..., {verb}=()) admits nobody; name a role")
        if OWNER in names and spec is None:
            raise DeclarationError(
                f"{name} has no owner, and access(..., {verb}={OWNER!r}) needs one: "
                "owner: str = owned_by_caller()"
            )
    unread = [each for each in values["write"] if each not in values["read"]]
    if unread and TENANT not in values["read"]:
        raise DeclarationError(
            f"{name}: {unread[0]!r} may write items and must read them too, because an answer "
            f"shows what was written: access({name}, read=(..., {unread[0]!r}), ...)"
        )
    return AccessRule(name, values["read"], values["write"], spec.name if spec else None)


def read_verb_roles(
    argument: RoleArgument | Mapping[str, RoleArgument], verbs: Collection[str], where: str
) -> Mapping[str, tuple[str, ...]]:
    """The roles of each verb of a resource, and of ``LIST``: of all lists that come with it.

    Without an entry for ``LIST``, lists need the role of ``GET``.

    Raises:
        DeclarationError: a verb that the resource does not have.
    """
    if not isinstance(argument, Mapping):
        names = read_names(argument, where)
        return dict.fromkeys((*verbs, "LIST"), names)
    for verb in argument:
        if verb not in verbs and verb != "LIST":
            raise DeclarationError(
                f"{where}: role={{{verb!r}: ...}} names none of its verbs {' '.join(verbs)}; "
                "use one of them"
            )
    roles = {verb: read_names(given, where) for verb, given in argument.items()}
    return {"LIST": roles.get("GET", ()), **roles}


def build_default_rules(entities: Collection[type[Entity]]) -> dict[str, AccessRule]:
    """The rules of the entities that have an owner, if nothing else is declared."""
    return {
        entity.__name__: AccessRule(entity.__name__, owner=entity.owner_field_.name)
        for entity in entities
        if entity.owner_field_ is not None
    }
