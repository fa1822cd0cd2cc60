"""Answers: items, pages of them, and nothing."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any
from urllib.parse import quote, urlencode

from daicho.declare.entity import Entity, HasVersion, find_tag
from daicho.declare.queries import ItemRef, ListQuery
from daicho.declare.results import UnreadableItem
from daicho.errors import BadCursor
from daicho.web.http import item_json
from daicho.web.http.operation import Call, Reply
from daicho.web.http.preconditions import IF_NONE_MATCH, matches_any
from daicho.web.http.shared_parameters import FIELDS
from daicho.web.schema import models

NO_CONTENT = Reply(204)


def show_item(call: Call, entity: Entity) -> Reply:
    """One requested item; 304 if the caller has this version already."""
    return show_unless_current(call, entity, lambda: item_json.render_item(entity), [entity])


def show_one(call: Call, question: ItemRef[Any]) -> Reply:
    """One requested item; with ``?fields=``, only those fields."""
    names = selected_fields(call)
    if not names:
        return show_item(call, call.book.get(question))
    view = call.book.view(question, *names)
    return show_unless_current(call, view, lambda: models.render_view(view))


def show_unless_current(
    call: Call, shown: HasVersion, render: Callable[[], str], items: Collection[Entity] = ()
) -> Reply:
    """What ``render`` returns; 304 if the caller has this version already, by If-None-Match."""
    tag = render_etag(shown)
    if_none_match: str | None = call.values.get(IF_NONE_MATCH.name)
    if if_none_match is not None and matches_any(if_none_match, tag):
        return Reply(304, headers={"ETag": tag}, page=(items, None))
    return Reply(200, render(), {"ETag": tag}, page=(items, None))


def list_one(call: Call, question: ItemRef[Any]) -> Reply:
    """A page with one item, or with none.

    Raises:
        BadCursor: there is a cursor, and no second page.
    """
    if call.values["cursor"] is not None:
        raise BadCursor
    item = call.book.find(question)
    return render_page([] if item is None else [item], None)


def show_changed(entity: Entity) -> Reply:
    """An item after a change."""
    tag = {"ETag": render_etag(entity)}
    return Reply(200, item_json.render_item(entity), tag, page=([entity], None))


def show_written(entity: Entity, *, location: str, created: bool | None = None) -> Reply:
    """A written item: 201 and its address, if it did not exist before."""
    # A version that created a removed item again has the time at which the item was created.
    new = created
    if new is None:
        new = entity.version == 1 or entity.versioned_at == entity.created_at
    headers = {"ETag": render_etag(entity)} | ({"Location": location} if new else {})
    return Reply(201 if new else 200, item_json.render_item(entity), headers, page=([entity], None))


def show_list(call: Call, *questions: ListQuery[Entity]) -> Reply:
    """A page of a list."""
    limit, cursor = call.values["limit"], call.values["cursor"]
    names = selected_fields(call)
    if names:
        views = call.book.views(*questions, names=names, limit=limit, cursor=cursor)
        rows = [models.render_view(view) for view in views.items]
        return render_list(rows, views.cursor, unreadable=views.unreadable)
    stored, end = call.book.read_stored_page(*questions, limit=limit, cursor=cursor)
    entity, ledger = stored.entity, stored.ledger
    read = stored.read_each(lambda image: item_json.render_image(entity, image, ledger))
    if read.unreadable:
        stored = replace(stored, images=read.images)
    return render_list(read.values, end, stored, unreadable=read.unreadable)


def selected_fields(call: Call) -> tuple[str, ...]:
    """The fields that a request names, without repetition; none if it selects all fields."""
    text: str | None = call.values.get(FIELDS)
    return tuple(dict.fromkeys(text.split(","))) if text else ()


def render_etag(item: HasVersion) -> str:
    """The ETag of an item: its version in quotes."""
    return f'"{find_tag(item)}"'


def render_page(
    entities: Collection[Entity],
    cursor: str | None,
    unreadable: Sequence[UnreadableItem] = (),
) -> Reply:
    """A page of items; ``unreadable``: those that it leaves out."""
    rows = [item_json.render_item(entity) for entity in entities]
    return render_list(rows, cursor, entities, unreadable=unreadable)


def render_list(
    rows: Sequence[str],
    cursor: str | None,
    entities: Collection[Entity] = (),
    values: Mapping[str, Any] | None = None,
    unreadable: Sequence[UnreadableItem] = (),
) -> Reply:
    """A page of items that are JSON already; ``entities``: their objects, if they have any.

    ``values``: what the page has in addition to its items, such as ``as_of``. ``unreadable``: the
    items that it leaves out.
    """
    added = dict(values or {})
    if unreadable:
        added["unreadable"] = [vars(item) for item in unreadable]
    more = "".join(f",{json.dumps(name)}:{json.dumps(value)}" for name, value in added.items())
    body = f'{{"items":[{",".join(rows)}],"cursor":{json.dumps(cursor)}{more}}}'
    return Reply(200, body, page=(entities, cursor), rows=rows, unreadable=unreadable)


def explain_empty(call: Call, entity: type[Entity], name: str | None, reply: Reply) -> Reply:
    """Add to a page without items why it is empty, if its owner is the caller by default.

    ``name``: of the parameter with the owner, if there is one. A caller who reads only own items
    needs no reason.
    """
    is_default = name is not None and not call.values.get(name)
    if reply.rows or reply.unreadable or not is_default or not call.book.may_read_all(entity):
        return reply
    note = f"no item is owned by you; {name}= names another owner"
    return render_list((), reply.page[1], values={"note": note})


def render_location(path: str, names: Iterable[str], item: Entity) -> str:
    """An item's address: its path filled in; fields that are not in the path as parameters."""
    return fill_path(path, {name: getattr(item, name) for name in names})


def fill_path(path: str, values: Mapping[str, object]) -> str:
    """A path with its variables filled in; the other values as parameters."""
    parameters: dict[str, str] = {}
    for name, value in values.items():
        text, variable = _render_plain(value), f"{{{name}}}"
        if variable in path:
            path = path.replace(variable, quote(text, safe=""))
        else:
            parameters[name] = text
    return f"{path}?{urlencode(parameters)}" if parameters else path


def _render_plain(value: object) -> str:
    """A value as a path or a query writes it."""
    match value:
        case bool():
            return "true" if value else "false"
        case dt.date():
            return value.isoformat()
        case _:
            return str(value)
