"""Answers: items, pages of them, and nothing."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any
from urllib.parse import quote, urlencode

from daicho.declare.entity import Entity
from daicho.declare.queries import ItemRef, ListQuery
from daicho.web.http import field_selection
from daicho.web.http.operation import VARIABLE, Call, Reply, variables_of
from daicho.web.http.preconditions import IF_NONE_MATCH, etag_of, matches_any
from daicho.web.schema import models

NOTHING = Reply(204)


def item(call: Call, found: Entity) -> Reply:
    """An item that was asked for; 304 if the caller has this version already."""
    reply = _unless_known(call, etag_of(found), lambda: models.text_of(found))
    return replace(reply, page=([found], None))


def one(call: Call, question: ItemRef[Any]) -> Reply:
    """One item that is asked for; of ``?fields=`` only those."""
    names = field_selection.asked(call)
    if not names:
        return item(call, call.book.get(question))
    view = call.book.view(question, *names)
    return _unless_known(call, etag_of(view), lambda: models.text_of_view(view))


def changed(found: Entity) -> Reply:
    """An item after a change."""
    tag = {"ETag": etag_of(found)}
    return Reply(200, models.text_of(found), tag, page=([found], None))


def written(found: Entity, *, location: str | None = None, created: bool | None = None) -> Reply:
    """An item that was written: 201 and where it is, if it was not there before."""
    # A version that created the item again, after it was removed, is of the moment it was created.
    first = found.version == 1 or found.versioned_at == found.created_at
    new = first if created is None else created
    headers = {"ETag": etag_of(found)} | ({"Location": location} if new and location else {})
    return Reply(201 if new else 200, models.text_of(found), headers, page=([found], None))


def items(call: Call, *questions: ListQuery[Entity]) -> Reply:
    """A page of a list."""
    limit, cursor, names = call.values["limit"], call.values["cursor"], field_selection.asked(call)
    if names:
        seen = call.book.views(*questions, names=names, limit=limit, cursor=cursor)
        return listed([models.text_of_view(each) for each in seen.items], seen.cursor)
    page = call.book.page(*questions, limit=limit, cursor=cursor)
    return page_of(page.items, page.cursor)


def page_of(found: Sequence[Entity], cursor: str | None) -> Reply:
    """A page of items."""
    reply = listed([models.text_of(each) for each in found], cursor)
    return replace(reply, page=(found, cursor))


def listed(texts: Sequence[str], cursor: str | None) -> Reply:
    """A page of what is JSON already."""
    return Reply(200, f'{{"items":[{",".join(texts)}],"cursor":{json.dumps(cursor)}}}')


def location(path: str, keys: Iterable[str], item: Entity) -> str:
    """Where an item is: its path filled in, and key fields that it does not name as parameters."""
    names = (*variables_of(path), *keys)
    return filled(path, {name: getattr(item, name) for name in names})


def filled(path: str, values: Mapping[str, object]) -> str:
    """A path with its variables filled in; the other values as parameters."""
    inside = variables_of(path)
    plain = {name: _plain(value) for name, value in values.items()}
    filled = VARIABLE.sub(lambda found: quote(plain[found[1]], safe=""), path)
    outside = {name: value for name, value in plain.items() if name not in inside}
    return f"{filled}?{urlencode(outside)}" if outside else filled


def _unless_known(call: Call, tag: str, text: Callable[[], str]) -> Reply:
    known = call.values.get(IF_NONE_MATCH.name)
    if known is not None and matches_any(known, tag):
        return Reply(304, headers={"ETag": tag})
    return Reply(200, text(), {"ETag": tag})


def _plain(value: object) -> str:
    """A value as a path or a query writes it."""
    match value:
        case bool():
            return "true" if value else "false"
        case dt.date():
            return value.isoformat()
        case _:
            return str(value)
