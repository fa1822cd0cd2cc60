"""Restoring: archived items back into the table, as writes like any other.

A restored item lives as long as a new one, is of its entity's current generation, and what is
derived from it follows through the stream. It carries `RESTORED`: which row it was made from,
and of which generation that was, so that a second run finds its own work done, and what goes on
counting an expired item is not counted twice (`daicho.stream.changes`).
"""

from __future__ import annotations

import base64
import datetime as dt
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from daicho.archive.object_format import CorruptObjectError
from daicho.archive.reader import ArchiveReader, Selection
from daicho.archive.row_format import ArchivedRow
from daicho.derive import contributions, derived_items
from daicho.errors import ConditionFailedError, DaichoError, UnavailableError
from daicho.layout import item_keys
from daicho.layout.tenant_items import build_closed_mark_key
from daicho.plan import Ledger, NewerGenerationError, UnknownEntityError
from daicho.runtime.clock import utc_now
from daicho.runtime.retry import RetryBudget, make_mapper, retry_all
from daicho.storage import attributes, item_key, keys
from daicho.storage.attributes import AttributeValue, Image
from daicho.storage.item_key import ItemKey
from daicho.stream.changes import RESTORED_MARK

Outcome = Literal["restored", "own", "replaced", "already", "newer", "waiting"]
WRITTEN: tuple[Outcome, ...] = ("restored", "replaced")
ATTEMPTS = 8
MAX_NAMED = 1_000
"""Rows that a report names one by one."""
RESTORED_LIFETIME = 48 * 3600.0


class RestorerTable(Protocol):
    """What this needs of the table."""

    def get(self, key: ItemKey, *, consistent: bool = False) -> Image | None:
        """Read one item."""

    def put(
        self,
        item: Image,
        *,
        condition: str,
        names: Mapping[str, str],
        values: Mapping[str, AttributeValue],
    ) -> Image | None:
        """Write a whole item if the condition holds."""


class UnrestorableError(DaichoError):
    """A row of which no item of today's declarations can be made."""


@dataclass
class RestoreReport:
    """What a restoring did, or, of a dry run, would do.

    ``rows``: selected; of one key only the newest is brought back. ``restored``: written now, of
    these ``replaced`` over a live item. ``already``: an earlier run's. ``newer``: left alone, as a
    live item stands there. ``waiting``: an expired item stands there, and has to be archived
    first. ``unrestorable`` and ``broken`` name rows and objects, and why. ``cursor``: the next
    run goes on behind it; ``finished``: there is nothing behind.
    """

    dry_run: bool = True
    rows: int = 0
    items: int = 0
    restored: int = 0
    replaced: int = 0
    already: int = 0
    newer: int = 0
    waiting: int = 0
    failed: int = 0
    unrestorable: list[dict[str, Any]] = field(default_factory=list)
    broken: dict[str, str] = field(default_factory=dict)
    cursor: str = ""
    finished: bool = False

    @property
    def complete(self) -> bool:
        """Whether everything that was selected is back."""
        left = (self.newer, self.waiting, self.failed, self.broken)
        return self.finished and not any(left)

    def to_json(self) -> dict[str, Any]:
        """The report as plain JSON values."""
        named = {"unrestorable": self.unrestorable[:MAX_NAMED]}
        return {**vars(self), **named, "failed": self.failed, "complete": self.complete}

    def add_failure(self, row: ArchivedRow, error: Exception) -> None:
        """Note a row that cannot be brought back."""
        self.failed += 1
        if len(self.unrestorable) < MAX_NAMED:
            key = [row.key.pk, row.key.sk]
            self.unrestorable.append({"seq": row.seq, "item": key, "error": str(error)})


class Restorer:
    """Brings archived items back."""

    def __init__(
        self,
        store: RestorerTable,
        archive: ArchiveReader,
        ledger: Ledger,
        *,
        threads: int = 8,
        now: Callable[[], dt.datetime] = utc_now,
    ) -> None:
        self._store, self._archive, self._ledger = store, archive, ledger
        self._map = make_mapper(threads)
        self._now = now

    def restore(
        self,
        selection: Selection,
        *,
        dry_run: bool = True,
        over_newer: bool = False,
        resume: str = "",
        tell: Callable[[RestoreReport], None] = lambda _: None,
        patience: RetryBudget | None = None,
    ) -> RestoreReport:
        """Bring back what is selected, object after object.

        Of rows of one key the newest counts. Nothing is written over a live item unless
        ``over_newer``. ``resume``: the cursor of a report that was not finished. ``tell`` hears
        of the report after each object. It may be run again: what is back stays as it is.
        """
        patience = patience or RetryBudget.for_seconds(RESTORED_LIFETIME)
        report = RestoreReport(dry_run, cursor=resume)
        newest = self._find_newest(selection, report)
        report.items = len(newest)
        run = _RestoreRun(self._store, self._ledger, self._now(), over_newer, report)
        for stored in self._archive.list_selected(selection, behind=resume):
            if stored.name in report.broken:
                continue
            try:
                contents = self._archive.read(stored.name)
            except CorruptObjectError as error:
                report.broken[stored.name] = str(error)
                continue
            rows = [
                row for row in contents.rows if row in selection and newest.get(row.key) == row.seq
            ]
            if retry_all(rows, run.restore_row, patience, self._map):
                return report
            report.cursor = stored.name
            tell(report)
        report.finished = True
        return report

    def _find_newest(self, selection: Selection, report: RestoreReport) -> dict[ItemKey, str]:
        """The newest selected row of each key, by its number."""

        def broken(name: str, error: CorruptObjectError) -> None:
            report.broken[name] = str(error)

        newest: dict[ItemKey, str] = {}
        for row in self._archive.read_rows(selection, broken):
            report.rows += 1
            newest[row.key] = max(row.seq, newest.get(row.key, ""))
        return newest


@dataclass(frozen=True)
class _RestoreRun:
    """One run over the rows; safe to share by threads."""

    store: RestorerTable
    ledger: Ledger
    now: dt.datetime
    over_newer: bool
    report: RestoreReport
    lock: threading.Lock = field(default_factory=threading.Lock)
    closed: dict[str, bool] = field(default_factory=dict)

    def restore_row(self, row: ArchivedRow) -> None:
        """Bring one row's item back, or find why not.

        Raises:
            UnavailableError: it is not known to be done.
        """
        try:
            if self._is_closed(row.tenant):
                raise UnrestorableError(f"the tenant {row.tenant} is closed for good")
            image = build_restored_image(row, self.ledger, self.now)
        except UnrestorableError as error:
            with self.lock:
                self.report.add_failure(row, error)
            return
        dry = self.report.dry_run
        stands = self.store.get(row.key, consistent=True) if dry else None
        for _ in range(ATTEMPTS):
            outcome = self._restore_item(image, stands)
            if dry or outcome not in WRITTEN:
                return self._count(outcome)
            try:
                self.store.put(image, **_is_restored_onto(stands))
            except ConditionFailedError as refused:
                stands = refused.item
            else:
                return self._count(outcome)
        raise UnavailableError(f"others are at {row.key}, again and again")

    def _is_closed(self, tenant: str) -> bool:
        """Whether a tenant was deleted: what came back of it nobody could read or remove."""
        if tenant not in self.closed:
            mark = self.store.get(build_closed_mark_key(tenant), consistent=True)
            self.closed[tenant] = mark is not None
        return self.closed[tenant]

    def _restore_item(self, image: Image, existing: Image | None) -> Outcome:
        if existing is None:
            return "restored"
        mark, wanted = existing.get(RESTORED_MARK), image[RESTORED_MARK]
        if mark == wanted:
            return "own"  # this very write: its answer was lost
        if mark is not None and mark["M"].get("seq") == wanted["M"]["seq"]:
            return "already"
        if (attributes.get_integer(existing, "ttl") or _NEVER) <= self.now.timestamp():
            return "waiting"
        return "replaced" if self.over_newer else "newer"

    def _count(self, outcome: Outcome) -> None:
        report = self.report
        with self.lock:
            report.restored += outcome in ("restored", "replaced", "own")
            report.replaced += outcome == "replaced"
            report.already += outcome == "already"
            report.newer += outcome == "newer"
            report.waiting += outcome == "waiting"


def build_restored_image(
    row: ArchivedRow, ledger: Ledger, now: dt.datetime
) -> dict[str, AttributeValue]:
    """The image that a row is brought back as.

    Raises:
        UnrestorableError: says why none can be made.
    """
    try:
        current = ledger.current_generation(row.entity)
        plan, old = current.plan, dict(row.item)
        image: dict[str, AttributeValue] = {
            **{name: to_storable(value) for name, value in old.items() if name not in _SET_ANEW},
            "version": {"N": str((attributes.get_integer(old, "version") or 0) + 1)},
            "gen": {"N": str(current.number)},
        }
        if plan.expires is not None:
            image["ttl"] = {"N": str(int(now.timestamp()) + plan.expires.seconds)}
        if plan.key.edge:
            inverted = item_keys.build_inverted_key(row.tenant, plan, image)
            image |= {"GSI1PK": {"S": inverted.pk}, "GSI1SK": {"S": inverted.sk}}
        if item_keys.build_base_key(row.tenant, plan, image) != item_key.get_key(image):
            raise UnrestorableError("its declarations give it another key today")
        derived_items.compute_index_rows(plan, image)
        contributions.compute_contributions(plan, image)
        # The projector reads it by the plan that it was archived under, too.
        contributions.compute_contributions(ledger.find_plan(row.entity, row.gen or 0), image)
    except (UnknownEntityError, NewerGenerationError) as error:
        raise UnrestorableError(str(error)) from error
    except (ValueError, ArithmeticError, LookupError, TypeError, AttributeError) as error:
        raise UnrestorableError(f"it cannot be read: {error!r}") from error
    mark = {
        "seq": {"S": row.seq},
        "at": {"S": keys.render_instant(now)},
        "gen": {"N": str(row.gen or 0)},
    }
    image[RESTORED_MARK] = {"M": mark}
    if attributes.measure_image(image) > attributes.MAX_ITEM_BYTES:
        raise UnrestorableError(f"it takes over {attributes.MAX_ITEM_BYTES} bytes")
    return image


def to_storable(value: AttributeValue) -> dict[str, Any]:
    """An attribute value as botocore takes it: binary ones are base64 in the archive."""
    ((kind, content),) = value.items()
    match kind:
        case "B":
            return {"B": _decode_value(content)}
        case "BS":
            return {"BS": [_decode_value(each) for each in content]}
        case "M":
            return {"M": {name: to_storable(each) for name, each in content.items()}}
        case "L":
            return {"L": [to_storable(each) for each in content]}
        case _:
            return {kind: content}


def _decode_value(text: str) -> bytes:
    return base64.b64decode(text, validate=True)


def _is_restored_onto(existing: Image | None) -> dict[str, Any]:
    """The condition that nothing stands there, or the very item that was seen."""
    if existing is None:
        return {"condition": "attribute_not_exists(PK)", "names": {}, "values": {}}
    names = {f"#{name}": name for name in ("version", "created_at", "ttl")}
    there = {name: existing[name] for name in names.values() if name in existing}
    same = [
        f"#{name} = :{name}" if name in there else f"attribute_not_exists(#{name})"
        for name in names.values()
    ]
    values = {f":{name}": value for name, value in there.items()}
    return {"condition": " AND ".join(same), "names": names, "values": values}


_SET_ANEW = frozenset({"ttl", "version", "gen", "GSI1PK", "GSI1SK", RESTORED_MARK})
_NEVER = float("inf")
