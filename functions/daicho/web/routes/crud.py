"""What the verbs of a resource do: POST, PUT, GET, PATCH, DELETE, and membership of `refs`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from daicho.declare.domain import Resource, find_total_count
from daicho.declare.entity import Entity
from daicho.declare.fields import FieldSpec
from daicho.declare.queries import ItemRef, TotalQuery
from daicho.errors import Conflict, PreconditionFailed, Raced, Unfinished
from daicho.web.http import responses
from daicho.web.http.operation import Call, Reply
from daicho.web.http.preconditions import CREATE_ONLY, is_create_only, resolve_tag
from daicho.web.http.shared_parameters import choose_owner
from daicho.web.schema import models


def create_item(resource: Resource, call: Call) -> Reply:
    """Create an item with a generated id.

    Raises:
        Conflict: the tenant has as many items as the resource allows.
    """
    if resource.max_items is not None:
        _check_room(resource.entity, resource.max_items, call)
    item = call.book.create(_build_item(resource.entity, call))
    return responses.show_written(item, location=render_item_location(resource, item), created=True)


def put_item(resource: Resource, call: Call) -> Reply:
    """Create an item or replace it."""
    item = _build_item(resource.entity, call)
    only_new = is_create_only(call.values.get(CREATE_ONLY.name))
    version = resolve_known_tag(call, build_ref(resource.entity, call))
    written = call.book.put(item, if_match=version, if_none_match=only_new)
    return responses.show_written(written, location=render_item_location(resource, written))


def get_item(resource: Resource, call: Call) -> Reply:
    """Show an item."""
    return responses.show_one(call, build_ref(resource.entity, call))


def change_item(resource: Resource, call: Call) -> Reply:
    """Change some fields of an item."""
    ref = build_ref(resource.entity, call)
    changes = _get_given_fields(call)
    version = resolve_known_tag(call, ref)
    return responses.show_changed(call.book.change(ref, changes, if_match=version))


def delete_item(resource: Resource, call: Call) -> Reply:
    """Remove an item. If more refers to it than a request deletes, a job does the rest."""
    book, ref = call.book, build_ref(resource.entity, call)
    try:
        book.delete(ref, if_match=resolve_known_tag(call, ref))
    except Unfinished as unfinished:
        if book.start_cascade is None:
            raise
        return Reply(202, headers={"Location": f"/jobs/{book.start_cascade(unfinished.item)}"})
    return responses.NO_CONTENT


def add_member(resource: Resource, spec: FieldSpec, variable: str, call: Call) -> Reply:
    """Put the id of another item, which must exist, into a set of references.

    ``variable``: its name in the path.
    """
    member: str = call.values[variable]
    call.book.get(ItemRef(spec.target, (member,)))
    return _change_members(resource, spec, call, lambda members: members | {member})


def remove_member(resource: Resource, spec: FieldSpec, variable: str, call: Call) -> Reply:
    """Take an id out of a set of references. ``variable``: its name in the path."""
    member: str = call.values[variable]
    return _change_members(resource, spec, call, lambda members: members - {member})


def _change_members(
    resource: Resource, spec: FieldSpec, call: Call, change: Callable[[set[str]], set[str]]
) -> Reply:
    ref = build_ref(resource.entity, call)
    item = call.book.get(ref)
    members: set[str] = getattr(item, spec.name)
    changed = change(members)
    if changed != members:
        try:
            call.book.change(ref, {spec.name: changed}, if_match=item.version)
        except PreconditionFailed as error:  # no caller's If-Match: the request starts again
            raise Raced from error
    return responses.NO_CONTENT


def render_item_location(resource: Resource, item: Entity) -> str:
    """Where an item is: its path, and key fields that are not in it as parameters."""
    return responses.render_location(resource.path, models.list_key_names(resource.entity), item)


def _check_room(entity: type[Entity], max_items: int, call: Call) -> None:
    """Refuse a creation while a tenant has ``max_items`` items, as counted now."""
    count = find_total_count(entity)
    if count is None:
        return
    with call.book.as_system():
        items = call.book.read(TotalQuery(entity, count, (), ()), live=True).items
    if items >= max_items:
        message = f"a tenant has at most {max_items:,} of {entity.__name__}"
        raise Conflict(f"{message}: delete one first")


def _build_item(entity: type[Entity], call: Call) -> Entity:
    """The item of path, query and body."""
    named = {name: value for name, value in call.values.items() if name in entity.fields_}
    owner = entity.owner_field_
    if owner is not None and named.get(owner.name, "") is None:
        del named[owner.name]  # the Book sets it
    return entity(**named, **_get_given_fields(call))


def _get_given_fields(call: Call) -> dict[str, Any]:
    """The values that a body gives, without the fields that it omits."""
    body = call.body
    return {name: getattr(body, name) for name in body.model_fields_set} if body else {}


def build_ref(entity: type[Entity], call: Call) -> ItemRef[Entity]:
    """The item that a path and a query name. Without an owner, it is an item of the caller.

    Raises:
        Forbidden: see `choose_owner`.
    """
    owner, names = entity.owner_field_, models.list_key_names(entity)
    if owner is None or owner.name not in names:
        return ItemRef(entity, tuple(call.values[name] for name in names))
    values = {**call.values, owner.name: choose_owner(call, owner.name)}
    return ItemRef(entity, tuple(values[name] for name in names))


def resolve_known_tag(call: Call, ref: ItemRef[Entity]) -> int | str | None:
    """The version, or the digest, that If-Match asks for, None without one.

    Raises:
        PreconditionFailed: no ETag that the caller knows is the item's.
    """
    return resolve_tag(call.values, lambda: call.book.find(ref))
