"""Requests to the API during a schedule: the Book's own writes, operation by operation.

A write of an article or a manual is a transaction with a version item. A change of a cart item's
state moves it: one write removes it and another puts it. The sections of a document are staged,
counted, replaced and removed in several writes. Some requests write all of these together.

A request may meet any fault, end between two operations, and be overtaken by others.
"""

from __future__ import annotations

import datetime as dt
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from decimal import Decimal
from itertools import count
from typing import Any, ClassVar
from unittest import mock

from daicho.book.book import Book
from daicho.declare.split import get_manifest
from daicho.errors import Conflict, NotFound, PreconditionFailed
from daicho.layout import base_item, sections
from daicho.storage.attributes import Image, ItemKey
from daicho.storage.table import Table
from daicho.testing.aws.client_errors import build_error
from daicho.testing.choices import Choices
from daicho.testing.faults.code_versions import MARK
from daicho.testing.faults.faulty_clients import FaultyDynamoDB
from daicho.testing.faults.processes import SimulatedProcess
from daicho.testing.faults.simulated_deployment import SimulatedDeployment
from daicho.testing.simulated_entities import TENANT
from daicho.testing.stack_settings import TABLE
from daicho.write import document_writer, section_writer
from tests.delivery.sample_entities import (
    STATES,
    Article,
    CartItem,
    Document,
    Manual,
    State,
    move_and_merge,
)
from tests.delivery.side_items import find_side_item_differences

REQUEST_LIFETIME = dt.timedelta(minutes=5)
"""A request ends after 30 seconds. DynamoDB accepts its signature for this long."""
PIECE_BYTES = 16
"""A longer section is divided into pieces."""
HARMLESS = "fine"
"""A mark on an image that every version of the code can process."""
REFUSALS = (Conflict, NotFound, PreconditionFailed)
"""The answers that a caller may get at any time; every other error is a bug."""
CART_STATES: tuple[State, ...] = STATES[:2]
Races = Sequence[tuple[str, str]]
RACES: Mapping[str, Races] = {
    "CartItem": (("move", "move"), ("move", "put"), ("merge", "move"), ("put", "move")),
    "Document": (
        ("read", "put"),
        ("delete", "put"),
        ("section", "put"),
        ("put", "delete"),
        ("put", "section"),
    ),
}
VERSIONED_RACES = (("put", "delete"), ("change", "put"), ("delete", "put"), ("read", "change"))
"""The requests that disturb each other most, by entity; the first one stops meanwhile."""
CHANGED_TITLE = "c"
"""The title of a document whose title was changed alone; any other one names its request."""
SECTION_NAMES = ("a", "b#")

Call = Callable[[Book], object]


class BookRequests:
    """Draws requests about some entities, and about all of them together.

    ``max_items``: of each entity. ``mark_kinds``: the kinds of poison and killers that some of the
    written images are marked with.
    """

    races: ClassVar[Mapping[str, Races]] = RACES
    other_races: ClassVar[Races] = VERSIONED_RACES
    """The requests that disturb each other most, of entities that ``races`` does not name."""

    def __init__(
        self,
        deployment: SimulatedDeployment,
        choices: Choices,
        names: Sequence[str],
        max_items: int,
        mark_kinds: Sequence[str],
    ) -> None:
        self._deployment = deployment
        self._choices = choices
        self._names = names
        self._ids = "123"[:max_items]
        self._mark_kinds = mark_kinds
        self._prepared: deque[tuple[str, str, str]] = deque()
        self._requests = 0
        self._marks = 0
        self._ticks = 0
        self._wrong: list[str] = []
        deployment.observers.append(self._check_change)

    def draw(self) -> tuple[str, Callable[[SimulatedProcess], None]]:
        """A request: its description, and the work of the process that answers it."""
        self._requests += 1
        description, call = self._draw_request(str(self._requests))

        def work(process: SimulatedProcess) -> None:
            clock = self._deployment.clock
            end = clock.now() + REQUEST_LIFETIME
            store: Any = ExpiringStore(self._deployment.dynamodb, lambda: clock.now() <= end)
            client: Any = FaultyDynamoDB(store, process)
            ledger = self._deployment.entities.ledger
            with suppress(*REFUSALS):
                # A process has one thread: it could not wait for its turn in another.
                book = Book(Table(client, TABLE), ledger, TENANT, clock=self._now, parallelism=1)
                call(book)

        return description, work

    def prepare_race(self) -> None:
        """Let the next two requests be about one item, and disturb each other."""
        name, id = self._choices.pick(self._names), self._choices.pick(self._ids)
        verbs = self._choices.pick(self.races.get(name, self.other_races))
        self._prepared = deque((name, id, verb) for verb in verbs)

    def find_differences(self) -> list[str]:
        """The wrong changes, and the errors in versions, sections and moves, in a line each."""
        items = dict(self._deployment.dynamodb.items)
        return [*self._wrong, *find_side_item_differences(items, self._deployment.entities)]

    def _check_change(self, key: ItemKey, old: Image | None, new: Image | None) -> None:
        """Check a change of an item when it happens; wrong ones are collected."""

    def _now(self) -> dt.datetime:
        """The time, to the microsecond: no two items are created at the same time."""
        self._ticks += 1
        return self._deployment.clock.now() + dt.timedelta(microseconds=self._ticks)

    def _draw_request(self, text: str) -> tuple[str, Call]:
        if self._prepared:
            return self._draw_request_for(*self._prepared.popleft(), text)
        name = self._choices.pick(self._names, "entity")
        if len(self._names) > 1 and self._choices.draw_bool(0.2):
            return self._draw_together(text)
        return self._draw_request_for(name, "", "", text)

    def _draw_together(self, text: str) -> tuple[str, Call]:
        """One request about all entities."""
        parts = [self._draw_request_for(name, "", "", text) for name in self._names]

        def write_together(book: Book) -> None:
            with book.transaction():
                for _, call in parts:
                    call(book)

        return f"together: {'; '.join(text for text, _ in parts)}", write_together

    def _draw_request_for(self, name: str, id: str, verb: str, text: str) -> tuple[str, Call]:
        """A request about an entity; ``id`` and ``verb`` are drawn if they are empty."""
        id = id or self._choices.pick(self._ids)
        match name:
            case "CartItem":
                return self._draw_cart_request(id, verb, text)
            case "Document":
                return self._draw_document_request(id, verb, text)
            case _:
                return self._draw_versioned_request(name, id, verb, text)

    def _draw_versioned_request(self, name: str, id: str, verb: str, text: str) -> tuple[str, Call]:
        """A request about an entity with versions. Each writes a text that no other does."""
        pick = self._choices.pick
        entity: Any = Article if name == "Article" else Manual
        title, if_match = pick(("ab", "b")), pick((None, None, 1, 2))
        key, old_version = entity.key(id), entity.versions.at(id, version=pick((1, 2)))
        calls: Mapping[str, Call] = {
            "put": lambda book: book.put(entity(id=id, title=title, text=text), if_match=if_match),
            "change": lambda book: book.change(key, {"title": title, "text": text}),
            "delete": lambda book: book.delete(key, if_match=if_match),
            "create": lambda book: book.create(entity(id=id, title=title, text=text)),
            "restore": lambda book: book.restore(old_version),
            # None is forgotten: forgotten numbers expire in any order, which is no gap.
            "read": lambda book: (book.find(key), book.page(entity.versions(id))),
        }
        verb = verb or pick(("put", "put", "change", "change", "delete", *calls))
        return f"{verb} {name} {id} {title} {text}", calls[verb]

    def _draw_cart_request(self, sku: str, verb: str, text: str) -> tuple[str, Call]:
        """A request about an item in a cart. Its price is unique and never changes."""
        pick = self._choices.pick
        source, target = pick(CART_STATES), pick(CART_STATES)
        key = CartItem.key("c", source, sku)
        item = CartItem(user="c", state=source, sku=sku, price=Decimal(text))

        def put(book: Book) -> None:
            # Otherwise the SDK's repetition would put it here again after it has moved.
            with book.transaction() as transaction:
                transaction.put(item)

        calls: Mapping[str, Call] = {
            "put": put,
            "move": lambda book: book.change(key, {"state": target}),
            "merge": lambda book: move_and_merge(book, "c", sku, source, target),
            "count": lambda book: book.change(key, {"quantity": 2}),
            "delete": lambda book: book.delete(key),
        }
        verb = verb or pick(("put", "put", "move", "move", *calls))
        return f"{verb} CartItem {source} {sku} to {target} {text}", calls[verb]

    def _draw_document_request(self, id: str, verb: str, text: str) -> tuple[str, Call]:
        """A request about a document. One request writes the same value to all its sections."""
        pick = self._choices.pick
        name = pick(SECTION_NAMES)
        names = pick(((), ("a",), SECTION_NAMES))
        key, section = Document.key(id), Document.split(id, section=name)
        value: list[Any] = [text, pick(("", "a long text 台帳 " * 3))]
        title = f"{pick(('ab', 'b'))} {text}"
        document = Document(id=id, title=title, sections=dict.fromkeys(names, value))

        def write_both(book: Book) -> None:
            with book.transaction():
                for section_name in SECTION_NAMES:
                    book.put_section(Document.split(id, section=section_name), [*value, "alone"])
                book.remove_section(section)

        calls: Mapping[str, Call] = {
            "put": lambda book: book.put(document),
            "both": write_both,
            "section": lambda book: book.put_section(section, [*value, "alone"]),
            "remove": lambda book: book.remove_section(section),
            "delete": lambda book: book.delete(key),
            "create": lambda book: book.create(document),
            "title": lambda book: book.change(key, {"title": CHANGED_TITLE}),
            "read": lambda book: _read_document(book, key, section),
        }
        verb = verb or pick(("put", "put", "section", "section", "read", *calls))
        return f"{verb} Document {id} {name} {','.join(names)} {value}", calls[verb]

    def patch_book(self) -> AbstractContextManager[None]:
        """Make the Book's ids and pieces those of a schedule, and mark some of its images."""
        return self._patch_book()

    @contextmanager
    def _patch_book(self) -> Iterator[None]:
        ids = count(1)

        def new_id() -> str:
            return f"{next(ids):026}"

        with (
            mock.patch.object(sections, "PIECE_BYTES", PIECE_BYTES),
            mock.patch.object(document_writer, "new_id", new_id),
            mock.patch.object(section_writer, "new_id", new_id),
            mock.patch.object(
                base_item, "build_base_item", self._with_marks(base_item.build_base_item)
            ),
        ):
            yield

    def _with_marks(self, build: Callable[..., dict[str, Any]]) -> Callable[..., dict[str, Any]]:
        def build_marked(*arguments: Any) -> dict[str, Any]:
            image = build(*arguments)
            if self._mark_kinds:
                self._marks += 1
                kind = self._choices.pick((HARMLESS, *self._mark_kinds, HARMLESS))
                image[MARK] = {"S": f"{kind}:{self._marks}"}
            return image

        return build_marked


def _read_document(book: Book, key: Any, section: Any) -> None:
    """Read a document, which must be as it was at one moment."""
    book.find_section(section)
    document = book.find(key)
    if document is None:
        return
    manifest = get_manifest(document)
    of_one_request = [value for value in document.sections.values() if len(value) == 2]
    is_whole = manifest is not None and manifest.count == len(document.sections)
    is_mixed = any(value != of_one_request[0] for value in of_one_request)
    if of_one_request and document.title != CHANGED_TITLE:
        is_mixed = is_mixed or not document.title.endswith(f" {of_one_request[0][0]}")
    if not is_whole or is_mixed:
        raise AssertionError(f"read of two moments: {document}")


class ExpiringStore:
    """A store that refuses a request whose signature has expired."""

    def __init__(self, store: object, is_valid: Callable[[], bool]) -> None:
        self._store = store
        self._is_valid = is_valid

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._store, name)

        def carry_out(**request: Any) -> Any:
            if not self._is_valid():
                raise build_error("RequestExpired", name, "the signature is too old")
            return method(**request)

        return carry_out


class DocumentReads(BookRequests):
    """Documents are replaced while they are read."""

    races: ClassVar[Mapping[str, Races]] = {"Document": (("read", "put"),)}
