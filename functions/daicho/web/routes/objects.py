"""Items with objects over HTTP: replies show the URLs of an object with its description.

The URLs are signed again for each reply. A reply that is stored under an Idempotency-Key has no
URLs, because it is stored longer than a URL is valid. The reply to the creation of an item shows
where to put its object, and so does a reply to ``?upload=true``: S3 accepts the upload as long as
there is no object.
"""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from pydantic import BaseModel, Field, create_model

from daicho.declare.entity import Entity, restore_item
from daicho.declare.queries import ItemRef
from daicho.web.http.operation import Call, Operation, Parameter, QueryVariant, Reply
from daicho.web.http.problems import HttpError
from daicho.web.schema import models
from daicho.web.schema.model_refs import ModelRef
from daicho.web.schema.wire_types import render_instant, to_text_type

CREATED = 201
UPLOAD = Parameter(
    "upload",
    to_text_type(bool),
    "Show a URL to upload an object that is missing; not with fields.",
    default=False,
)


class Upload(BaseModel):
    """A request that S3 accepts, with exactly these headers and a body of exactly this size."""

    method: str
    url: str
    headers: dict[str, str]
    expires_at: dt.datetime


class Located(BaseModel):
    """An object, and a URL that downloads it until ``expires_at``, once it was uploaded.

    ``upload`` is a request that uploads it, once. It is shown after the creation of the item, and
    with ``?upload=true``.
    """

    type: str
    bytes: int
    url: str
    expires_at: dt.datetime
    upload: Upload | None = Field(default=None)


def _build_located_model(entity: type[Entity]) -> type[BaseModel]:
    """The model of a shown item whose objects have URLs."""
    item_model = models.build_item_model(entity)
    fields: dict[str, Any] = dict.fromkeys(entity.object_fields_, (Located, ...))
    model: type[BaseModel] = create_model(
        f"{entity.__name__}Located", __base__=item_model, __doc__=item_model.__doc__, **fields
    )
    return model


class ObjectUrls:
    """The objects of one entity."""

    def __init__(self, entity: type[Entity]) -> None:
        self.entity = entity
        item, located = models.refer_to_item(entity), ModelRef(_build_located_model, (entity,))
        self._models = {item: located, models.refer_to_page(item): models.refer_to_page(located)}

    def show(self, operation: Operation) -> None:
        """Add the URLs of the objects to every answer of the operation that shows the entity."""
        operation.variants = [
            self._show_located(variant, repeats=operation.method != "GET")
            if variant.returns in self._models
            else variant
            for variant in operation.variants
        ]

    def _show_located(self, variant: QueryVariant, *, repeats: bool) -> QueryVariant:
        is_list = variant.returns != models.refer_to_item(self.entity)
        return replace(
            variant,
            finish=partial(self._add_urls, is_list=is_list, repeats=repeats),
            returns=self._models[variant.returns],
            optional=variant.optional if repeats or is_list else (*variant.optional, UPLOAD),
        )

    def _add_urls(self, call: Call, reply: Reply, *, is_list: bool, repeats: bool) -> Reply:
        """Add the URLs to a reply. One that ``repeats`` may be stored: it has no items then."""
        if reply.body is None:
            return reply
        document = json.loads(reply.body)
        items, uploads = reply.page[0], reply.status == CREATED or call.values.get(UPLOAD.name)
        entries = document["items"] if is_list else [document]
        if repeats and not items:
            items = [self._restore_item(entry) for entry in entries]
            uploads = uploads and all(self._is_stored(call, item) for item in items)
        if not items:  # the reply has only some fields
            if uploads:
                raise HttpError(400, "ask for upload without fields", [(UPLOAD.name, "fields")])
            return reply
        for item, entry in zip(items, entries, strict=True):
            self._locate(call, item, entry, uploads=bool(uploads))
        return replace(reply, body=json.dumps(document, ensure_ascii=False))

    def _locate(self, call: Call, item: Entity, entry: dict[str, Any], *, uploads: bool) -> None:
        for name in self.entity.object_fields_:
            request = call.book.sign_download(item, name)
            entry[name] |= {"url": request.url, "expires_at": render_instant(request.expires_at)}
            if uploads:
                upload = call.book.sign_upload(item, name)
                expires_at = render_instant(upload.expires_at)
                entry[name]["upload"] = vars(upload) | {"expires_at": expires_at}

    def _restore_item(self, document: Mapping[str, Any]) -> Entity:
        """The item that a stored reply shows."""
        fields = {name: value for name, value in document.items() if name in self.entity.fields_}
        created = dt.datetime.fromisoformat(document["created_at"])
        return restore_item(self.entity, fields, created, document["version"])

    def _is_stored(self, call: Call, item: Entity) -> bool:
        names = models.list_key_names(self.entity)
        ref = ItemRef(self.entity, tuple(getattr(item, name) for name in names))
        return call.book.find(ref) is not None
