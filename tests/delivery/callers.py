"""Callers of the API, while all else goes on: the Book's own writes, operation by operation.

A write of an article or a manual is a transaction with a version item. A change of a cart item's
state moves it: removed here, put there. A document has its sections beside it, which are staged,
counted, replaced and cleared away in several writes. Some requests write all of these at once.

A request may be met by any fault, ended between two operations, and overtaken by others.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from decimal import Decimal
from itertools import count
from typing import Any
from unittest import mock

from daicho.book.book import Book
from daicho.declare.split import get_manifest
from daicho.errors import Conflict, NotFound, PreconditionFailed
from daicho.layout import base_item, sections
from daicho.runtime.retry import MAX_PAUSE_S, RetryBudget
from daicho.storage.table import Table
from daicho.write import document_writer, section_writer
from domains import carts
from domains.articles import Article
from domains.carts import CartItem, CartItemChange
from domains.documents import Document
from domains.manuals import Manual
from tests.delivery.actors import Actor, acting
from tests.delivery.aws.clients import DynamoClient
from tests.delivery.aws.dynamo import error
from tests.delivery.code import MARK
from tests.delivery.schedules.choices import Choices
from tests.delivery.site import TABLE, Site

TENANT = "t"
ENTITIES = ("Article", "CartItem", "Document", "Manual")
LONGEST = dt.timedelta(minutes=5)
"""A request is over after 30 seconds, and one that is still under way then is no good for longer:
so long its signature holds."""
OPERATIONS_A_SECOND = 20.0
"""An operation takes an actor a second, and a caller's retry_budget is of seconds."""
PIECE_BYTES = 16
"""A section that is longer is cut."""
FINE = "fine"
"""A mark on an image that every version of the code can read."""
REFUSALS = (Conflict, NotFound, PreconditionFailed)
"""What a caller may be told, whatever happens; all else is a bug."""

Ask = Callable[[Book], object]


class Callers:
    """Draws requests about some entities, of so many ``items`` each, and about all of them at once.

    ``kinds`` of poison and killers are marked on some of what they write.
    """

    def __init__(
        self,
        site: Site,
        choices: Choices,
        entities: Sequence[str],
        *,
        items: int,
        kinds: Sequence[str],
    ) -> None:
        self._site = site
        self._choices = choices
        self._entities = entities
        self._ids = "123"[:items]
        self._kinds = kinds
        self._asked = 0
        self._marked = 0
        self._ticks = 0

    def drawn(self) -> tuple[str, Callable[[Actor], None]]:
        """What is asked, in a line; and the work of who answers it."""
        self._asked += 1
        line, ask = self._request(str(self._asked))

        def work(actor: Actor) -> None:
            clock, until = self._site.clock.now, self._site.clock.now() + LONGEST
            timely: Any = _Timely(self._site.table, lambda: clock() <= until)
            table = Table(DynamoClient(timely, actor), TABLE)  # type: ignore[arg-type]
            with suppress(*REFUSALS):
                ask(Book(table, self._site.declared.newest, TENANT, clock=self._now))

        return line, work

    def _now(self) -> dt.datetime:
        """The time, to the microsecond: no two items are created in the same one."""
        self._ticks += 1
        return self._site.clock.now() + dt.timedelta(microseconds=self._ticks)

    def _request(self, text: str) -> tuple[str, Ask]:
        what = self._choices.pick(self._entities, "what")
        if len(self._entities) > 1 and self._choices.chance(0.2):
            parts = [self._asked_of(each, text) for each in self._entities]

            def together(book: Book) -> None:
                with book.transaction():
                    for _, ask in parts:
                        ask(book)

            return f"together: {'; '.join(line for line, _ in parts)}", together
        return self._asked_of(what, text)

    def _asked_of(self, what: str, text: str) -> tuple[str, Ask]:
        match what:
            case "CartItem":
                return self._of_cart(text)
            case "Document":
                return self._of_document(text)
            case _:
                return self._of_versions(what, text)

    def _of_versions(self, what: str, text: str) -> tuple[str, Ask]:
        """Of what every version is kept of. Each write says something that no other does."""
        pick = self._choices.pick
        entity: Any = Article if what == "Article" else Manual
        id, title, match = pick(self._ids), pick(("ab", "b")), pick((None, None, 1, 2))
        one, old = entity.key(id), entity.versions.at(id, version=pick((1, 2)))
        asked: Mapping[str, Ask] = {
            "put": lambda book: book.put(entity(id=id, title=title, text=text), if_match=match),
            "change": lambda book: book.change(one, {"title": title, "text": text}),
            "delete": lambda book: book.delete(one, if_match=match),
            "create": lambda book: book.create(entity(id=id, title=title, text=text)),
            "restore": lambda book: book.restore(old),
            # Not forgotten: numbers of the forgotten expire in any order, which is no gap.
            "read": lambda book: (book.find(one), book.page(entity.versions(id))),
        }
        verb = pick(("put", "put", "change", "change", "delete", *asked))
        return f"{verb} {what} {id} {title} {text}", asked[verb]

    def _of_cart(self, text: str) -> tuple[str, Ask]:
        """Of a thing in a cart, whose price no other has, wherever it goes."""
        pick = self._choices.pick
        sku, here, there = pick(self._ids), pick(_STATES), pick(_STATES)
        one = CartItem.key("c", here, sku)
        item = CartItem(user="c", state=here, sku=sku, price=Decimal(text))
        move = CartItemChange(state=there)

        def put(book: Book) -> None:
            # Else the SDK's repeat would put it here again when it has moved on.
            with book.transaction() as transaction:
                transaction.put(item)

        asked: Mapping[str, Ask] = {
            "put": put,
            "move": lambda book: book.change(one, {"state": there}),
            "add up": lambda book: carts.change(book, "c", sku, move, here),
            "count": lambda book: book.change(one, {"quantity": 2}),
            "delete": lambda book: book.delete(one),
        }
        verb = pick(("put", "put", "move", "move", *asked))
        return f"{verb} CartItem {here} {sku} to {there} {text}", asked[verb]

    def _of_document(self, text: str) -> tuple[str, Ask]:
        """Of a document. What is written of it at once says the same in all its sections."""
        pick = self._choices.pick
        id, name, names = pick(self._ids), pick(_SECTIONS), pick(((), ("a",), _SECTIONS))
        one, section = Document.key(id), Document.split(id, section=name)
        value: list[Any] = [text, pick(("", "a long text 台帳 " * 3))]
        whole = Document(id=id, title=pick(("ab", "b")), sections=dict.fromkeys(names, value))

        def both(book: Book) -> None:
            with book.transaction():
                for each in _SECTIONS:
                    book.put_section(Document.split(id, section=each), [*value, "alone"])
                book.remove_section(section)

        asked: Mapping[str, Ask] = {
            "put": lambda book: book.put(whole),
            "both": both,
            "section": lambda book: book.put_section(section, [*value, "alone"]),
            "remove": lambda book: book.remove_section(section),
            "delete": lambda book: book.delete(one),
            "create": lambda book: book.create(whole),
            "title": lambda book: book.change(one, {"title": "c"}),
            "read": lambda book: _read(book, one, section),
        }
        verb = pick(("put", "put", "section", "section", "read", *asked))
        return f"{verb} Document {id} {name} {','.join(names)} {value}", asked[verb]

    @contextmanager
    def played(self) -> Iterator[None]:
        """Let the Book's waiting, ids and pieces be those of a schedule."""
        ids = count(1)

        def new_id() -> str:
            return f"{next(ids):026}"

        with (
            mock.patch.object(RetryBudget, "for_seconds", _paced),
            mock.patch.object(sections, "PIECE_BYTES", PIECE_BYTES),
            mock.patch.object(document_writer, "new_id", new_id),
            mock.patch.object(section_writer, "new_id", new_id),
            mock.patch.object(
                base_item, "build_base_item", self._marking(base_item.build_base_item)
            ),
        ):
            yield

    def _marking(self, complete: Callable[..., dict[str, Any]]) -> Callable[..., dict[str, Any]]:
        def marking(*given: Any) -> dict[str, Any]:
            image = complete(*given)
            if self._kinds:
                self._marked += 1
                kind = self._choices.pick((FINE, *self._kinds, FINE))
                image[MARK] = {"S": f"{kind}:{self._marked}"}
            return image

        return marking


_STATES: tuple[carts.State, ...] = ("active", "saved")
_SECTIONS = ("a", "b#")


def _read(book: Book, one: Any, section: Any) -> None:
    """Read a document, which must be as it was at one moment."""
    book.find_section(section)
    found = book.find(one)
    if found is None:
        return
    manifest = get_manifest(found)
    at_once = [value for value in found.sections.values() if len(value) == 2]
    is_whole = manifest is not None and manifest.count == len(found.sections)
    if not is_whole or any(value != at_once[0] for value in at_once):
        raise AssertionError(f"read of two moments: {found}")


class _Timely:
    """A store that answers nobody who comes too late."""

    def __init__(self, store: object, is_timely: Callable[[], bool]) -> None:
        self._store = store
        self._is_timely = is_timely

    def __getattr__(self, name: str) -> Any:
        call = getattr(self._store, name)

        def carry_out(**request: Any) -> Any:
            if not self._is_timely():
                raise error("RequestExpired", name, "the signature is too old")
            return call(**request)

        return carry_out


def _paced(seconds: float, *, longest: float = MAX_PAUSE_S) -> RetryBudget:
    """Patience by an actor's own time."""
    actor = acting()
    if actor is None:
        return RetryBudget(lambda: 0.0, reserve=0)
    until = actor.seconds - seconds * OPERATIONS_A_SECOND
    return RetryBudget(lambda: actor.seconds - until, 0, actor.sleep, lambda: 0.9, longest)
