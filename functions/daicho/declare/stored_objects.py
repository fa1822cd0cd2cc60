"""Objects of items: data too large for the table, such as an image, is stored in S3.

An item holds the type and size of its object. The object itself is transferred between S3 and the
holder of a URL that is signed for it, for a limited time, and never through the API.

Source: multi-tenancy (a tenant's photos), "Data modeling building blocks in DynamoDB", Amazon
DynamoDB Developer Guide.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, create_model

from daicho.declare.fields import FieldSpec
from daicho.errors import DeclarationError, Invalid
from daicho.layout import cleanup_marks
from daicho.layout.object_names import render_object_name
from daicho.runtime.frozen_dataclasses import dataclass
from daicho.storage import keys
from daicho.storage.attributes import ItemKey

DOWNLOAD_SECONDS = 60 * 60
"""How long a URL may be used: an address that was passed on does not open for ever."""
MAX_OBJECT_BYTES = 5 * 1024**3
"""The limit of S3 for one upload."""


class StoredObject(BaseModel):
    """The description of an object in its item: media type, and size in bytes."""

    model_config = ConfigDict(extra="forbid")

    type: str
    bytes: int


@dataclass(frozen=True)
class ObjectLimits:
    """The limits of an object."""

    max_bytes: int
    types: tuple[str, ...]

    def make_model(self, name: str) -> type[StoredObject]:
        """The model of the values that are written of such an object."""
        size = Annotated[int, Field(ge=1, le=self.max_bytes)]
        kind: Any = Literal[self.types]
        fields: dict[str, Any] = {"type": (kind, ...), "bytes": (size, ...)}
        return create_model(name, __base__=StoredObject, __doc__=StoredObject.__doc__, **fields)


@dataclass(frozen=True)
class SignedRequest:
    """Where an object is taken to or from: a request that S3 carries out until ``expires_at``.

    It must have just these headers, and a body of just that size.
    """

    method: Literal["GET", "PUT"]
    url: str
    headers: Mapping[str, str]
    expires_at: dt.datetime


def stored_object(*, max_bytes: int, types: tuple[str, ...]) -> Any:
    """Declare an object in S3 that belongs to the item, by a field of type `StoredObject`.

    Its type and size are given when the item is created, and signed: S3 takes nothing else. It is
    deleted with the item.

    Args:
        max_bytes: how large it may be, 5 GB at most.
        types: of which media types: ``("image/png", "image/jpeg")``.
    """
    if not 1 <= max_bytes <= MAX_OBJECT_BYTES:
        raise DeclarationError(
            f"an object has 1 to {MAX_OBJECT_BYTES} bytes, not {max_bytes}; "
            "choose max_bytes= in this range"
        )
    if not types or not all("/" in media_type for media_type in types):
        raise DeclarationError(
            f"an object is of media types like 'image/png', not {types!r}; "
            'write types=("image/png", "image/jpeg")'
        )
    return FieldSpec(role="object", target=ObjectLimits(max_bytes, tuple(types)), frozen=True)


def check_object_keys(entity: Any, base: ItemKey, key_field: str) -> None:
    """Refuse an item whose objects, or the marks that look after them, would have no place.

    Raises:
        Invalid: its key is too long; it names the field ``key_field``.
    """
    try:
        for field in entity.object_fields_:
            render_object_name(base, entity.__name__, field)
            cleanup_marks.render_owner_partition(base, entity.__name__)
    except keys.KeyTooLongError as error:
        raise Invalid(str(error), field=key_field) from error
    except Invalid as error:
        raise Invalid(error.detail, field=key_field) from error
