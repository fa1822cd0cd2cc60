"""Access: what the caller of a `Book` may read and write, by the rules of each entity.

This is the second layer: routes check roles, and the Book checks items and queries, whatever
function reads them. Reads that a write needs (a reference that must exist, a copied field) are
none of the caller, and are not checked.

What a caller may not read does not exist for it: `daicho.errors.NotFound`. What it may read and not
write is refused: `daicho.errors.Forbidden`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from daicho.declare.aggregates import TallyDeclaration
from daicho.declare.entity import Entity
from daicho.declare.fields import FieldSpec
from daicho.declare.listings import Listing
from daicho.declare.parts import PartSpec
from daicho.declare.queries import ItemRef, ListQuery, RankingQuery, TotalQuery
from daicho.declare.rules.access import AccessRule
from daicho.declare.rules.caller import Caller
from daicho.declare.rules.roles import OWNER, TENANT
from daicho.errors import Forbidden, Invalid
from daicho.query.key_resolver import build_not_found
from daicho.storage.attributes import Image, get_text

NO_RULES: Mapping[str, AccessRule] = {}
NO_ITEM = ("PK", "-")
"""An attribute and a value that no item has: a partition key begins with the tenant."""


class Access:
    """The access of one caller; of the system itself, which may do everything, without a caller.

    ``rules``: by the name of the entity. An entity without a rule is open to the whole tenant.
    ``lineage``: of a table that was taken over; its cursors are of this lineage alone.
    ``actor``: who writes, for events: the subject of the caller. ``hops``: see `daicho.Event`.
    """

    def __init__(
        self,
        caller: Caller | None = None,
        rules: Mapping[str, AccessRule] = NO_RULES,
        lineage: str = "",
        *,
        tenant: str = "",
        actor: str = "",
        hops: int = 0,
    ) -> None:
        self.caller, self._rules, self.lineage = caller, rules, lineage
        self.tenant = caller.tenant if caller else tenant
        self.actor, self.hops = caller.subject if caller else actor, hops
        self._suspensions = 0

    @contextmanager
    def suspend(self) -> Iterator[None]:
        """Admit everything until the end of the block."""
        self._suspensions += 1
        try:
            yield
        finally:
            self._suspensions -= 1

    def may_read(self, entity: type[Entity], image: Image) -> bool:
        """Whether the caller may read a stored item."""
        return self.may_read_of(entity.__name__, image)

    def may_read_of(self, name: str, image: Image) -> bool:
        """Whether the caller may read a stored item of the entity of this name."""
        rule = self._find_rule_of(name)
        if rule is None or rule.is_open or self._has_role(rule.reading_roles):
            return True
        return OWNER in rule.read and self._owns(rule, image)

    def may_read_all(self, entity: type[Entity]) -> bool:
        """Whether the caller may read the items of every owner."""
        rule = self._find_rule(entity)
        return rule is None or rule.is_open or self._has_role(rule.reading_roles)

    def add_owner(self, entity: type[Entity], names: Sequence[str]) -> Sequence[str]:
        """The attributes of an item to read, with the owner where `may_read` needs it."""
        rule = self._find_rule(entity)
        if rule is None or rule.is_open or rule.owner is None or rule.owner in names:
            return names
        return (*names, rule.owner)

    def check_write(self, ref: ItemRef[Any], image: Image) -> None:
        """Refuse to change or remove a stored item.

        Raises:
            NotFound: the caller may not read it.
            Forbidden: the caller may not write it.
        """
        rule = self._find_rule(ref.entity)
        if rule is None or self._writes_all(rule):
            return
        if OWNER in rule.write and self._owns(rule, image):
            return
        if not self.may_read(ref.entity, image):
            raise build_not_found(ref)
        raise Forbidden(_explain_write(rule))

    def check_item(self, item: Entity) -> None:
        """Refuse to write a part of an item that the caller has read, such as its object.

        Raises:
            Forbidden: the caller may not write it.
        """
        spec = type(item).owner_field_
        image: Image = {} if spec is None else {spec.name: {"S": getattr(item, spec.name)}}
        self.check_write(ItemRef(type(item), ()), image)

    def check_roles(
        self, names: Collection[str], entity: type[Entity], image: Image, field: str
    ) -> None:
        """Refuse a caller who has none of these roles and is not the owner, if that is named.

        ``image``: the stored item, or the new one if there is none.

        Raises:
            Forbidden: names the roles, for ``field``.
        """
        if self.caller is None or self._suspensions or self.caller.has_role(*names):
            return
        spec = entity.owner_field_ if OWNER in names and self.caller.subject else None
        if spec is not None and get_text(image, spec.name) == self.caller.subject:
            return
        needed = [f"the role {name!r}" for name in names if name != OWNER]
        owner = ["the owner of the item"] if OWNER in names else []
        raise Forbidden(f"only {' or '.join([*owner, *needed])} may do this", field=field)

    def assign_owner(self, item: Entity) -> None:
        """Set the owner of an item that is created or put, unless it is given.

        Raises:
            Forbidden: the caller may not write such an item, or not for this owner; or its token
                has no subject.
            Invalid: no owner is given where there is no caller.
        """
        entity, spec = type(item), type(item).owner_field_
        rule, caller = self._find_rule(entity), self.caller
        if spec is not None:
            given = getattr(item, spec.name)
            if not given and (caller is None or rule is None):
                raise Invalid("there is no caller to own the item: give an owner", field=spec.name)
            if rule is None or caller is None:
                return
            if not given:
                if not caller.subject:
                    raise Forbidden("the token names no subject, so it cannot own anything")
                vars(item)[spec.name] = caller.subject
            elif given != caller.subject and not self._has_role(rule.writing_roles):
                raise Forbidden(_explain_other_owner(rule), field=spec.name)
        if rule is not None and not self._writes_all(rule) and OWNER not in rule.write:
            raise Forbidden(_explain_write(rule))

    def find_required_owner(self, entity: type[Entity]) -> tuple[str, str] | None:
        """The attribute, and its value, of each item that the caller may remove.

        None if it may write items of any owner. If it may write none, no item has the value.
        """
        rule = self._find_rule(entity)
        if rule is None or self._writes_all(rule):
            return None
        if self.caller is None or rule.owner is None or OWNER not in rule.write:
            return NO_ITEM
        return (rule.owner, self.caller.subject) if self.caller.subject else NO_ITEM

    def check_lists(self, queries: Sequence[ListQuery[Any]]) -> None:
        """Refuse lists of which the caller may not read all items.

        The versions of one item are not checked: they are items, see `may_read`.

        Raises:
            Forbidden: names the roles that may read them.
        """
        for query in queries:
            if query.by != "versions":
                self._check_read(query.entity, _select_owners(_list_fields(query), query.parts))

    def check_figure(self, query: TotalQuery | RankingQuery) -> None:
        """Refuse a total or a ranking of items of which the caller may not read all.

        Raises:
            Forbidden: names the roles that may read it.
        """
        self._check_read(query.entity, _list_group_owners(query))

    def check_vote(self, query: TotalQuery) -> None:
        """Refuse a vote for a group of another owner, or without a role that the entity requires.

        Raises:
            Forbidden: names the roles that may vote.
        """
        rule = self._find_rule(query.entity)
        if rule is None or self._writes_all(rule):
            return
        subject = self.caller.subject if self.caller else ""
        if OWNER not in rule.write or _list_group_owners(query) - {subject}:
            raise Forbidden(_explain_write(rule))

    def _check_read(self, entity: type[Entity], owners: set[Any]) -> None:
        """Refuse to read items, unless all are of one of these ``owners``, who is the caller."""
        rule = self._find_rule(entity)
        if rule is None or rule.is_open or self._has_role(rule.reading_roles):
            return
        subject = self.caller.subject if self.caller else ""
        if OWNER not in rule.read or not subject or subject not in owners:
            raise Forbidden(_explain_read(rule))

    def _find_rule(self, entity: type[Entity]) -> AccessRule | None:
        """The rule that the caller is subject to, if any."""
        return self._find_rule_of(entity.__name__)

    def _find_rule_of(self, name: str) -> AccessRule | None:
        if self.caller is None or self._suspensions:
            return None
        return self._rules.get(name)

    def _owns(self, rule: AccessRule, image: Image) -> bool:
        subject = self.caller.subject if self.caller else ""
        return bool(subject) and rule.owner is not None and get_text(image, rule.owner) == subject

    def _writes_all(self, rule: AccessRule) -> bool:
        return TENANT in rule.write or self._has_role(rule.writing_roles)

    def _has_role(self, roles: Sequence[str]) -> bool:
        return self.caller is not None and self.caller.has_role(*roles)


SYSTEM = Access()
"""The access of jobs, commands and loads."""


def _list_fields(query: ListQuery[Any]) -> Sequence[FieldSpec | None]:
    """The field of each value of a list query; None for a value that is not one of a field."""
    declaration: Any = query.entity.declarations_[query.name]
    match query.by:
        case "partition" | "under":
            return tuple(declaration.parts[: len(query.parts)])
        case "inverse":
            return (declaration.parts[1],)
        case "listing" if isinstance(declaration, Listing):
            return [_get_whole_field(part) for part in declaration.partition]
    return [None] * len(query.parts)


def _list_group_owners(query: TotalQuery | RankingQuery) -> set[Any]:
    """The owners that the groups of a figure are of."""
    declaration: Any = query.entity.declarations_[query.aggregate]
    assert isinstance(declaration, TallyDeclaration)  # noqa: S101  # a query is made of one
    parts, values = declaration.within, query.within
    if isinstance(query, TotalQuery):
        parts, values = (*parts, *declaration.by), (*values, *query.by)
    return _select_owners([_get_whole_field(part) for part in parts], values)


def _get_whole_field(part: PartSpec) -> FieldSpec | None:
    """The field whose whole value a part is; None for a bucket of it, or one of a set."""
    is_whole = not (part.bucket or part.folded or part.each or part.edges)
    return part.field if is_whole else None


def _select_owners(specs: Sequence[FieldSpec | None], values: Sequence[Any]) -> set[Any]:
    """The values of the fields that name the owner of an item."""
    pairs = zip(specs, values, strict=True)
    return {value for spec, value in pairs if spec is not None and spec.role == "owner"}


def _explain_read(rule: AccessRule) -> str:
    roles = _join_roles(rule.reading_roles)
    if OWNER not in rule.read:
        return f"this takes {roles}"
    own = f"a caller without {roles}" if roles else "a caller"
    return f"{own} reads only its own items of {rule.entity}"


def _explain_write(rule: AccessRule) -> str:
    roles = _join_roles(rule.writing_roles)
    if OWNER not in rule.write:
        return f"this takes {roles}"
    return f"only its owner{f' or {roles}' if roles else ''} may write this {rule.entity}"


def _explain_other_owner(rule: AccessRule) -> str:
    roles = _join_roles(rule.writing_roles)
    remedy = f"{roles} may name another owner" if roles else "leave it out"
    return f"it is the subject of the token, or nothing: {remedy}"


def _join_roles(roles: Sequence[str]) -> str:
    return " or ".join(f"the role {role!r}" for role in roles)
