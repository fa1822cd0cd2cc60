"""Requests about items that refer to others: whatever fails, none refers to nothing at any time.

An item is deleted while others begin to refer to it. A request deletes one item that refers to it;
if there are more, it starts a job, of which each process does a step. Both end between any two
operations, and are repeated by a later request.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, suppress
from functools import partial
from typing import Any, ClassVar
from unittest import mock

from daicho.book.book import Book
from daicho.book.cascade_worker import CascadeWorker
from daicho.declare.queries import ItemRef
from daicho.errors import Invalid, ReferenceNotFound, UnavailableError, Unfinished
from daicho.jobs.lease import OvertakenError
from daicho.runtime.retry import RetryBudget
from daicho.storage.attributes import Image, ItemKey
from daicho.storage.item_cache import ItemCache
from daicho.tenants.cascade_job import CascadeJob
from daicho.tenants.lifecycle import Tenants
from daicho.tenants.tenant_jobs import TenantJobs
from daicho.testing.faults.processes import SimulatedProcess
from daicho.testing.simulated_entities import TENANT
from daicho.write import cascades
from tests.delivery.book_requests import BookRequests, Call, Races
from tests.delivery.referring_entities import REFERENCES, Chair, Cushion, Lease, Owner
from tests.simulator.oracle.unique_values import compare_unique_values

CLASSES: Mapping[str, Any] = {"Chair": Chair, "Cushion": Cushion, "Lease": Lease, "Owner": Owner}
RACES = (("delete", "refer"), ("refer", "delete"), ("delete", "put"), ("delete", "delete"))
"""The requests that disturb each other most; the first one stops meanwhile."""
ATTEMPTS = 5
"""How often a request is sent that makes what others need."""


class ReferringRequests(BookRequests):
    """Draws requests about few items, so that they meet. One change is one whole moment."""

    races: ClassVar[Mapping[str, Races]] = {}
    other_races: ClassVar[Races] = RACES

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._job = ""
        """The job that was started last, as the state machine is told."""
        self._is_furnishing = self._choices.draw_bool(0.3)
        """Whether some requests first give an owner what is deleted with it."""

    def draw(self) -> tuple[str, Callable[[SimulatedProcess], None]]:
        """A request. The references are compared before it: each write is one transaction."""
        self._compare()
        return super().draw()

    def find_differences(self) -> list[str]:
        """See the base class; and whatever referred to nothing, at any time."""
        self._compare()
        images = [item for _, item in self._deployment.dynamodb.items]
        now = int(self._deployment.clock.now().timestamp())
        compared = compare_unique_values(images, self._deployment.entities.ledger, now)
        return [*super().find_differences(), *compared.differences]

    def patch_book(self) -> AbstractContextManager[None]:
        """Let a request delete one item. Nothing is marked: no image is poison."""
        patched: Any = mock.patch.object(cascades, "MAX_CASCADED", 1)
        return patched  # type: ignore[no-any-return]

    def _draw_request_for(self, name: str, id: str, verb: str, text: str) -> tuple[str, Call]:
        """A request about an entity; ``id`` and ``verb`` are drawn if they are empty.

        A prepared race is about one item, which a deletion puts before: some requests refer to it,
        whatever entity is drawn.
        """
        pick = self._choices.pick
        id, other = id or pick(self._ids), pick(self._ids)
        if verb == "refer":
            name, other = pick(("Lease", "Chair") if name != "Chair" else ("Cushion",)), id
        elif verb == "delete" and name in ("Lease", "Cushion"):
            name = pick(("Owner", "Chair"))
        key = CLASSES[name].key(id)
        field, _ = REFERENCES.get(name, ("", ""))
        is_empty = name == "Lease" and verb != "refer" and pick((False, False, True))
        reference = {field: None if is_empty else other} if field else {}
        item = CLASSES[name](id=id, **reference)
        change = reference if field and pick((False, True)) else {"note": text}
        if name == "Cushion":
            change = reference

        def move_and_delete(book: Book) -> None:
            with book.transaction() as transaction:
                transaction.delete(Lease.key(id))
                transaction.put(Lease(id=other, owner=id))

        def put_and_delete(book: Book) -> None:
            for each in (Owner(id=other), item) if name == "Chair" else (item,):
                _insist(partial(book.put, each))
            self._delete(book, key)

        def furnish_and_delete(book: Book) -> None:
            _insist(lambda: book.put(Owner(id=other)))
            for each in "123":  # the request and the first step of its job leave one
                _insist(partial(book.put, Chair(id=each, owner=other)))
                _insist(partial(book.put, Cushion(id=each, chair=each)))
            _insist(lambda: self._delete(book, Owner.key(other)))

        calls: dict[str, Call] = {
            "put": lambda book: book.put(item),
            "refer": lambda book: book.put(item),
            "create": lambda book: book.create(item),
            "change": lambda book: book.change(key, change),
            "delete": lambda book: self._delete(book, key),
            "step": self._step_job,
            "swap": move_and_delete,
        }
        if self._is_furnishing:
            calls["furnish"] = furnish_and_delete
        if verb == "delete":
            calls["delete"] = put_and_delete
        more = ("furnish",) if self._is_furnishing else ()
        verb = verb or pick((*more, "put", "put", "change", "delete", "delete", *calls))
        return f"{verb} {item!r} {change}", _admit_refusals(calls[verb])

    def _delete(self, book: Book, key: ItemRef[Any]) -> None:
        """Delete an item, and start a job if that takes more than a request."""
        try:
            book.delete(key)
        except Unfinished as unfinished:
            machine: Any = mock.Mock(start=lambda name, _: setattr(self, "_job", name))
            tenants = Tenants(book._table, ItemCache(self._now), machine, self._now)
            TenantJobs(tenants, TENANT, "").delete_item(unfinished.item)
            self._step_job(book)

    def _step_job(self, book: Book) -> None:
        """A step of the newest job, maybe beside another process at it."""
        ledger, budget = self._deployment.entities.ledger, RetryBudget(lambda: 1_000.0)
        bucket: Any = None
        worker = CascadeWorker(book._table, self._now, ledger, CLASSES, bucket, lambda _: None)
        with suppress(OvertakenError):
            _insist(lambda: worker.run_step(TENANT, self._job, budget))
        stored = dict(self._deployment.dynamodb.items)
        for image in [item for item in stored.values() if item.get("kind") == {"S": "cascade"}]:
            job = CascadeJob.from_image(image)
            left = stored.get(ItemKey(*job.key), {}).get("created_at")
            if job.state == "succeeded" and left == {"S": job.created_at}:
                self._wrong.append(f"the job {job.id} has ended before {job.key} is gone")

    def _check_change(self, key: ItemKey, old: Image | None, new: Image | None) -> None:
        """Nothing: a transaction changes one item after another, and is compared as a whole."""

    def _compare(self) -> None:
        """Compare the references of all items with the items that exist."""
        items = [item for _, item in self._deployment.dynamodb.items if "version" in item]
        live = {
            (item["type"]["S"], item["id"]["S"])
            for item in items
            if item.get("type", {}).get("S") in CLASSES and item["PK"]["S"].startswith("t#")
        }
        for item in items:
            field, target = REFERENCES.get(item.get("type", {}).get("S", ""), ("", ""))
            referred = item.get(field, {}).get("S") if field else None
            if referred is not None and (target, referred) not in live:
                self._wrong.append(
                    f"{item['PK']['S']} refers to {target} {referred}, which is gone"
                )


def _insist(call: Callable[[], object]) -> None:
    """Repeat what a store refuses, some times."""
    for _ in range(ATTEMPTS - 1):
        with suppress(UnavailableError):
            call()
            return
    call()


def _admit_refusals(call: Call) -> Call:
    """A request that may be refused for a reference, be unfinished, or need a request alone."""

    def send(book: Book) -> None:
        try:
            call(book)
        except (ReferenceNotFound, Unfinished):
            pass
        except Invalid as error:
            if "several transactions" not in str(error):
                raise

    return send
