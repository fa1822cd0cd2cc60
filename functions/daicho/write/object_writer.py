"""Removes items that have objects in S3, with their objects, for a `Book`.

Items that have objects are created and replaced like any other.
"""

from __future__ import annotations

import datetime as dt
import logging
from typing import TypeVar

from daicho.declare.entity import Entity
from daicho.declare.queries import ItemRef
from daicho.errors import StoreError
from daicho.layout import cleanup_marks
from daicho.query.item_objects import ItemObjects
from daicho.query.key_resolver import display_name
from daicho.runtime.settings import UPLOAD_SECONDS
from daicho.storage.requests import Put
from daicho.write.item_writer import ItemWriter

E = TypeVar("E", bound=Entity)
logger = logging.getLogger(__name__)

URL_SIGNING_GRACE = dt.timedelta(minutes=1)
"""How long after the read of an item a URL may be signed for it: a request takes half of that."""


def delete_with_objects(
    writer: ItemWriter, objects: ItemObjects, ref: ItemRef[E], *, if_match: int | str | None
) -> None:
    """See `Book.delete`. The objects are removed last: no item is left without its object.

    An upload URL that was signed just before may still be valid. So the sweep removes the object
    once more after such a URL has expired.
    """
    with writer.transaction() as transaction:
        item = transaction.get(ref)
        transaction.remove(ref, if_match=if_match)
        key, names = objects.get_item_key(item), objects.list_object_names(item)
        due = writer.clock() + dt.timedelta(seconds=UPLOAD_SECONDS) + URL_SIGNING_GRACE
        partition = cleanup_marks.render_owner_partition(key, ref.entity.__name__)
        marks = [
            cleanup_marks.build_mark(partition, field, due, object=name)
            for field, name in names.items()
        ]
        writer.commit([Put(mark) for mark in marks])
    if writer.open_transaction is not None:
        return  # it is not committed yet: the sweep removes the objects
    try:
        for name in names.values():
            objects.open_bucket().remove(name)
    except StoreError as error:
        logger.warning("left to the sweep: %s: %s", display_name(ref), error)
