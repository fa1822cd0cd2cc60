"""Roles and owners of routes, from the access rules of the entities that they read and write."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from daicho.declare.domain import Resource
from daicho.declare.rules.access import AccessRule
from daicho.declare.rules.roles import OWNER, TENANT
from daicho.errors import DeclarationError
from daicho.runtime.frozen_dataclasses import dataclass
from daicho.web.http.operation import Operation
from daicho.web.routes.declared_queries import DeclaredQuery
from daicho.web.schema import models

AccessRules = Mapping[str, AccessRule]


@dataclass(frozen=True)
class ListAccess:
    """What a list or a figure needs: one of the roles, if there are any.

    ``is_own``: the parameter with the owner is the caller by default.
    """

    roles: tuple[str, ...] = ()
    is_own: bool = False


OPEN = ListAccess()
"""Nothing is needed."""


def choose_list_access(
    rules: AccessRules, query: DeclaredQuery, roles: tuple[str, ...]
) -> ListAccess:
    """What a mounted declaration needs; ``roles`` are those that its route declares.

    A query of items of several owners needs a role that may read all of them.

    Raises:
        DeclarationError: there is no such role, or the route declares another one.
    """
    rule = rules.get(query.entity.__name__)
    if rule is None or rule.is_open:
        return ListAccess(roles)
    if query.reads_one_item or (OWNER in rule.read and query.owner_parameter):
        return ListAccess(roles, is_own=query.owner_parameter is not None)
    if not rule.reading_roles:
        raise DeclarationError(
            f"{query.name} reads items of all owners of {rule.entity}, and no role may do so: "
            f"domain.access({rule.entity}, read=('owner', 'staff'), ...), "
            f"or group it by {rule.owner}"
        )
    other = next((role for role in roles if role not in rule.reading_roles), None)
    if other is not None:
        raise DeclarationError(
            f"{query.name} is for the role {other!r}, which may not read all items of "
            f"{rule.entity}: domain.access({rule.entity}, read=(..., {other!r}), ...)"
        )
    return ListAccess(roles or rule.reading_roles)


def check_chosen_keys(rules: AccessRules, resource: Resource) -> None:
    """Refuse that callers choose keys in a space that they share with items they may not read.

    The answer to a write at a key that is taken would show that somebody has such an item.

    Raises:
        DeclarationError: PUT or POST would take such a key.
    """
    entity = resource.entity
    rule = rules.get(entity.__name__)
    if rule is None or rule.is_open:
        return
    key = models.build_key_model(entity)
    kinds = {spec.role for spec in key.parts}
    allowed = {"PUT": {"owner"}, "POST": {"owner", "uid"}}
    for verb, sufficient in allowed.items():
        if verb in resource.verbs and not kinds & sufficient:
            names = ", ".join(spec.name for spec in key.parts)
            owner = rule.owner or "owner"
            raise DeclarationError(
                f"{resource.path}: a caller of {verb} would learn which keys of {entity.__name__} "
                f"others have, because it chooses the key and may not read their items: "
                f"key = Key({owner}, {names}), or POST with an id: str = uid()"
            )


def show_access(rules: AccessRules, entity: str, operation: Operation) -> Operation:
    """Note who may read or write the items of an operation, for its description."""
    rule = rules.get(entity)
    if rule is None:
        return operation
    names = rule.read if operation.method == "GET" else rule.write
    if TENANT not in names:
        operation.variants = [replace(variant, access=names) for variant in operation.variants]
    return operation
