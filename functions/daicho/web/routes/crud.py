"""What the verbs of a resource do: POST, PUT, GET, PATCH, DELETE, and membership of `refs`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from daicho.declare.domain import Resource, find_total_count
from daicho.declare.entity import Entity
from daicho.declare.queries import ItemRef, TotalQuery
from daicho.errors import Conflict, PreconditionFailed, Raced
from daicho.web.http import responses
from daicho.web.http.operation import Answerer, Call, Reply
from daicho.web.http.preconditions import CREATE_ONLY, is_create_only, resolve_version
from daicho.web.schema import models


def build_post(resource: Resource) -> Answerer:
    """Create an item with a generated id."""
    entity, count = resource.entity, find_total_count(resource.entity)

    def answer(call: Call) -> Reply:
        if resource.most is not None and count is not None:
            item_count = call.book.read(TotalQuery(entity, count, (), ()), live=True).items
            if item_count >= resource.most:
                message = f"a tenant has at most {resource.most:,} of {entity.__name__}"
                raise Conflict(f"{message}: delete one first")
        made = call.book.create(_build_item(resource.entity, call))
        return responses.show_written(
            made, location=render_item_location(resource, made), created=True
        )

    return answer


def build_put(resource: Resource) -> Answerer:
    """Create an item or replace it."""

    def answer(call: Call) -> Reply:
        item = _build_item(resource.entity, call)
        only_new = is_create_only(call.values.get(CREATE_ONLY.name))
        one = build_ref(resource.entity, call.values)
        version = resolve_known_version(call, one)
        written = call.book.put(item, if_match=version, if_none_match=only_new)
        return responses.show_written(written, location=render_item_location(resource, written))

    return answer


def build_get(resource: Resource) -> Answerer:
    """Show an item."""
    return lambda call: responses.show_one(call, build_ref(resource.entity, call.values))


def build_patch(resource: Resource) -> Answerer:
    """Change some fields of an item."""

    def answer(call: Call) -> Reply:
        one = build_ref(resource.entity, call.values)
        changes = models.get_given_fields(call.body) if call.body else {}
        return responses.show_changed(
            call.book.change(one, changes, if_match=resolve_known_version(call, one))
        )

    return answer


def build_delete(resource: Resource) -> Answerer:
    """Remove an item."""

    def answer(call: Call) -> Reply:
        one = build_ref(resource.entity, call.values)
        call.book.delete(one, if_match=resolve_known_version(call, one))
        return responses.NO_CONTENT

    return answer


def add_member(resource: Resource, name: str, variable: str) -> Answerer:
    """Put the id of another item into a set of references."""
    target: type[Entity] = resource.entity.fields_[name].target

    def answer(call: Call) -> Reply:
        member: str = call.values[variable]
        call.book.get(ItemRef(target, (member,)))
        return _change_set(resource.entity, name, call, lambda members: members | {member})

    return answer


def remove_member(resource: Resource, name: str, variable: str) -> Answerer:
    """Take an id out of a set of references."""

    def answer(call: Call) -> Reply:
        member: str = call.values[variable]
        return _change_set(resource.entity, name, call, lambda members: members - {member})

    return answer


def render_item_location(resource: Resource, item: Entity) -> str:
    """Where an item is: its path, and key fields that are not in it as parameters."""
    return responses.render_location(resource.path, models.list_key_names(resource.entity), item)


def _change_set(
    entity: type[Entity], name: str, call: Call, change: Callable[[set[str]], set[str]]
) -> Reply:
    one = build_ref(entity, call.values)
    item = call.book.get(one)
    members: set[str] = getattr(item, name)
    wanted = change(members)
    if wanted != members:
        try:
            call.book.change(one, {name: wanted}, if_match=item.version)
        except PreconditionFailed as error:  # no caller's If-Match: the request starts again
            raise Raced("others were faster, again and again; try again") from error
    return responses.NO_CONTENT


def _build_item(entity: type[Entity], call: Call) -> Entity:
    """The item of path, query and body."""
    named = {name: value for name, value in call.values.items() if name in entity.fields_}
    return entity(**named, **(models.get_given_fields(call.body) if call.body else {}))


def build_ref(entity: type[Entity], values: Mapping[str, Any]) -> ItemRef[Entity]:
    """The item that a path and a query name."""
    return ItemRef(entity, tuple(values[name] for name in models.list_key_names(entity)))


def resolve_known_version(call: Call, one: ItemRef[Entity]) -> int | None:
    """The version that If-Match asks for, None without one.

    Raises:
        PreconditionFailed: no version that the caller knows is the item's.
    """
    return resolve_version(call.values, lambda: call.book.find(one), "item")
