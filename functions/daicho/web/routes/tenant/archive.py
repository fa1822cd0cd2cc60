"""The routes of a tenant's archive: its rows, and jobs that restore them."""

from __future__ import annotations

import base64
import datetime as dt
import json
from typing import TYPE_CHECKING, Annotated, Any, Literal, cast

from pydantic import BaseModel, Field, WithJsonSchema, create_model

from daicho.declare.entity import Entity
from daicho.declare.expires import Expires
from daicho.declare.registry import Daicho
from daicho.errors import refuse
from daicho.items.mapper import to_item
from daicho.query.paging import CursorBinding, CursorPosition
from daicho.storage import keys
from daicho.storage.attributes import ItemKey
from daicho.tenants.tenant_jobs import RestoreRequest
from daicho.web.http.operation import Call, Operation, Parameter, QueryVariant, Reply
from daicho.web.http.shared_parameters import PAGING
from daicho.web.routes.tenant.job_views import RestoreJobView, build_restore_view
from daicho.web.schema import models
from daicho.web.schema.wire_types import to_json_type, to_text_type

if TYPE_CHECKING:
    from daicho.archive.row_format import ArchivedRow
    from daicho.plan import Ledger
    from daicho.query.access import Access
    from daicho.web.routes.tenant.session import TenantSession

ADMIN = "admin"
TAG = "tenant"
NAMES = ("list_archived_items", "restore_archived_items")
MAX_KEY_CHARACTERS = 25_000
"""The longest text of a key: JSON writes a byte of it in up to 6 characters, base64 3 in 4."""
_SINCE = "The first time of deletion that is included."
_UNTIL = "The first time of deletion that is not included."


class ArchivedItem(BaseModel):
    """An item that has expired and was archived."""

    entity: str
    key: str = Field(description="Identifies the item when it is restored.")
    deleted_at: dt.datetime
    generation: int | None = Field(description="The generation of the declarations of the item.")
    item: dict[str, Any] | None = Field(
        description="The fields. Null if the caller may not read the item, or if its declarations "
        "have changed so much that it cannot be read."
    )


class ArchivedItemPage(BaseModel):
    """A page of archived items, by day of deletion; the cursor is null on the last page only."""

    items: list[ArchivedItem]
    cursor: str | None
    unreadable: int = Field(description="Objects of the archive that could not be read.")


def build_archive_operations(daicho: Daicho) -> list[Operation]:
    """The routes, in the order of `NAMES`; none if no entity's items are archived."""
    archived = {
        entity.__name__: entity
        for entity in daicho.entities
        if any(
            isinstance(declared, Expires) and declared.archive
            for declared in entity.declarations_.values()
        )
    }
    if not archived:
        return []
    names: Any = Literal[tuple(sorted(archived))]

    def list_rows(call: Call) -> Reply:
        return _list_rows(call, archived)

    since, until = _build_range_types(to_text_type(dt.datetime))
    selected = (
        Parameter("entity", names, "The entity of the items."),
        Parameter("since", since, _SINCE),
        Parameter("until", until, _UNTIL),
    )
    query = QueryVariant(
        "Archive.list",
        "List expired items of an entity, by time of deletion",
        list_rows,
        ArchivedItemPage,
        required=selected,
        optional=PAGING,
        roles=(ADMIN,),
    )
    restore = QueryVariant(
        "Archive.restore",
        "Start a job that restores expired items; they live as long as new ones",
        _restore,
        RestoreJobView,
        roles=(ADMIN,),
    )
    return [
        Operation("GET", "/archive", TAG, [query]),
        Operation(
            "POST",
            "/archive/restorations",
            TAG,
            [restore],
            body_model=_build_body_model(names),
            status=202,
        ),
    ]


def _build_range_types(instant: Any) -> tuple[Any, Any]:
    """The types of the bounds of a range, with examples of which one is before the other."""
    bounds = ("2026-11-01T00:00:00Z", "2026-12-01T00:00:00Z")
    schemas = ({"type": "string", "format": "date-time", "examples": [each]} for each in bounds)
    since, until = (Annotated[instant, WithJsonSchema(schema)] for schema in schemas)
    return since, until


def _build_body_model(names: Any) -> type[BaseModel]:
    since, until = _build_range_types(to_json_type(dt.datetime))
    fields: dict[str, Any] = {
        "entity": (names, Field(description="The entity of the items.")),
        "since": (since, Field(description=_SINCE)),
        "until": (until, Field(description=_UNTIL)),
        "key": (
            str | None,
            Field(
                None,
                max_length=MAX_KEY_CHARACTERS,
                description="Restores only the item with this key.",
                examples=[None],
            ),
        ),
        "dry_run": (bool, Field(False, description="Counts what a restore would do.")),
        "over_newer": (bool, Field(False, description="Replaces live items too.")),
    }
    description = "Expired items to restore. Of each item the newest selected row is restored."
    return create_model("ArchiveRestoration", __doc__=description, **fields)


def _list_rows(call: Call, archived: dict[str, type[Entity]]) -> Reply:
    # Loaded by the first request that needs it (ADR 0158).
    from daicho.archive.page_reader import ArchivePosition, read_archive_page  # noqa: PLC0415
    from daicho.archive.reader import Selection  # noqa: PLC0415

    session, values = cast("TenantSession", call.book), call.values
    session.tenants.check_open(session.tenant)
    entity, since, until = values["entity"], values["since"], values["until"]
    _check_range(since, until)
    archive = session.archive
    if archive is None:
        raise refuse(404, "this API has no archive")
    identity = ("archive", entity, since.isoformat(), until.isoformat())
    binding = CursorBinding(session.tenant, identity)
    found = binding.read_cursor(values["cursor"])
    position = ArchivePosition(found.order, found.list) if found else ArchivePosition()
    selection = Selection((entity,), session.tenant, None, since, until)
    page = read_archive_page(archive.reader, selection, position, values["limit"])
    after = None if page.next is None else CursorPosition(page.next.name, page.next.rows)
    shown = ArchivedItemPage(
        items=[
            _show_row(row, archived[row.entity], session.access, archive.ledger)
            for row in page.rows
        ],
        cursor=binding.write_cursor(after),
        unreadable=len(page.unreadable),
    )
    return Reply(200, shown.model_dump_json())


def _show_row(
    row: ArchivedRow, entity: type[Entity], access: Access, ledger: Ledger
) -> ArchivedItem:
    from daicho.archive.restored_image import to_storable  # noqa: PLC0415

    item: dict[str, Any] | None
    try:
        image = {name: to_storable(value) for name, value in row.item.items()}
        may_read = access.may_read(entity, image)
        item = json.loads(models.render_item(to_item(entity, image, ledger))) if may_read else None
    except Exception:  # an old row may be anything, and the others are shown
        item = None
    return ArchivedItem(
        entity=row.entity,
        key=_encode_key(row.key),
        deleted_at=row.deleted_at,
        generation=row.gen,
        item=item,
    )


def _restore(call: Call) -> Reply:
    session, body = cast("TenantSession", call.book), cast("Any", call.body)
    _check_range(body.since, body.until)
    request = RestoreRequest(
        body.entity,
        body.since,
        body.until,
        None if body.key is None else _decode_key(body.key, session.tenant, body.entity),
        dry_run=body.dry_run,
        over_newer=body.over_newer,
    )
    job = session.jobs.restore(request)
    return Reply(202, build_restore_view(job).model_dump_json(), {"Location": f"/jobs/{job.id}"})


def _check_range(since: dt.datetime, until: dt.datetime) -> None:
    if since >= until:
        raise refuse(422, "since is not before until", field="since")


def _encode_key(key: ItemKey) -> str:
    text = json.dumps([key.pk, key.sk], separators=(",", ":"))
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def _decode_key(text: str, tenant: str, entity: str) -> ItemKey:
    """The key of an archived item, as `_encode_key` has written it.

    Raises:
        Refusal: 422, it is none of an item of this tenant and entity.
    """
    try:
        match json.loads(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))):
            case [str(pk), str(sk)]:
                key = ItemKey(pk, sk)
                # Compared with our own text: no second spelling, and nothing but two texts.
                if _encode_key(key) == text and _is_of(key, tenant, entity):
                    return key
    except (ValueError, RecursionError):  # neither base64 nor JSON, or deeply nested
        pass
    raise refuse(422, "the key is none of an archived item of this entity", field="key")


def _is_of(key: ItemKey, tenant: str, entity: str) -> bool:
    """Whether DynamoDB accepts a key, and it is one of items of a tenant and entity.

    Raises:
        UnicodeEncodeError: it has a lone surrogate.
    """
    fits = len(key.pk.encode()) <= keys.PARTITION_KEY_BYTES
    fits &= 0 < len(key.sk.encode()) <= keys.SORT_KEY_BYTES
    return fits and keys.parse(key.pk)[:2] == (tenant, entity)
