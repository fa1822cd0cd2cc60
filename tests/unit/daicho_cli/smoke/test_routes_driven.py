"""The HTTP checks over an API in memory: right, and with one fault each."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from importlib import import_module
from typing import Any

import httpx
import pytest

from daicho.declare.registry import Daicho
from daicho.plan import Ledger
from daicho_cli.smoke.calls import Outcome
from tests.support.api_client import Answer
from tests.unit.daicho_cli.smoke.memory_api import MemoryApi, _no_pauses, drive

__all__ = ["_no_pauses"]
pytestmark = pytest.mark.usefixtures("_no_pauses")
KINDS = 18


class StreamStands(MemoryApi):
    """Nothing is derived."""

    def derive(self) -> None:
        """Deliver nothing."""


class NothingRolledUp(MemoryApi):
    """Totals are never updated."""

    def derive(self) -> None:
        self.deployment.deliver()


class IgnoredHeader(MemoryApi):
    """A header of requests has no effect."""

    ignored = ""

    def answer(self, request: httpx.Request, headers: dict[str, str]) -> Answer:
        kept = {name: value for name, value in headers.items() if name != self.ignored}
        return super().answer(request, kept)


class IgnoredIfMatch(IgnoredHeader):
    """A stale change is accepted."""

    ignored = "if-match"


class IgnoredIfNoneMatch(IgnoredHeader):
    """An item that has not changed is sent again."""

    ignored = "if-none-match"


class IgnoredKey(IgnoredHeader):
    """A repeated request creates a second item."""

    ignored = "idempotency-key"

    def answer(self, request: httpx.Request, headers: dict[str, str]) -> Answer:
        answer = super().answer(request, headers)
        if headers.get("idempotency-key") and request.method == "PUT":
            etag = f'"{len(self.requests)}"'
            return replace(answer, headers={**answer.headers, "etag": etag, "ETag": etag})
        return answer


class DeletedNothing(MemoryApi):
    """A deleted item is still there."""

    def answer(self, request: httpx.Request, headers: dict[str, str]) -> Answer:
        if request.method == "DELETE":
            return Answer(204, {}, "", "")
        return super().answer(request, headers)


class ChangedAnswer(MemoryApi):
    """Some answers are changed on their way."""

    def answer(self, request: httpx.Request, headers: dict[str, str]) -> Answer:
        answer = super().answer(request, headers)
        if request.method != "GET" or answer.status != httpx.codes.OK:
            return answer
        document = json.loads(answer.text)
        self.change(request, document)
        return replace(answer, text=json.dumps(document))

    def change(self, request: httpx.Request, document: Any) -> None:
        raise NotImplementedError


class CountedTwice(ChangedAnswer):
    """Each item counts for two."""

    def change(self, request: httpx.Request, document: Any) -> None:
        if isinstance(document, dict) and "count" in document:
            document["count"] *= 2


class LostBehindCursor(ChangedAnswer):
    """The second page of a list is empty."""

    def change(self, request: httpx.Request, document: Any) -> None:
        if "cursor" in request.url.params:
            document["items"] = []


class OldVersionLost(ChangedAnswer):
    """The first version shows what the second one has."""

    def change(self, request: httpx.Request, document: Any) -> None:
        if request.url.path.endswith("/versions/1"):
            document.update({name: f"{value} 2" for name, value in document.items()})


class BrokenPath(MemoryApi):
    """Every request to some path fails. Without a ``method``, requests by any."""

    method, word, status = "", "", 500

    def answer(self, request: httpx.Request, headers: dict[str, str]) -> Answer:
        if self.method in ("", request.method) and self.word in request.url.path:
            return Answer(self.status, {"content-type": "application/problem+json"}, "{}", "")
        return super().answer(request, headers)


class BrokenSections(BrokenPath):
    """No section is stored."""

    method, word = "PUT", "/documents/"


class BrokenVotes(BrokenPath):
    """No vote is accepted."""

    method, word = "POST", "/votes"


class ForbiddenItems(BrokenPath):
    """The first route of a kind is forbidden; another one must not hide it."""

    word, status = "/carts/", 403


class OtherObject(MemoryApi):
    """The download is not what was uploaded."""

    def answer_object(self, request: httpx.Request) -> httpx.Response:
        return httpx.Response(200, content=b"another object")


class MissingRoute(MemoryApi):
    """The deployment is older than the checkout."""

    def describe(self) -> object:
        described: Any = super().describe()
        paths = {path: each for path, each in described["paths"].items() if path != "/orders/{id}"}
        return {**described, "paths": paths}


class OpenDoor(MemoryApi):
    """Requests without a token are answered."""

    def refuse_anonymous(self) -> httpx.Response:
        return httpx.Response(404, json={"status": 404})


class PlainErrors(MemoryApi):
    """Errors are no problem documents."""

    def answer(self, request: httpx.Request, headers: dict[str, str]) -> Answer:
        answer = super().answer(request, headers)
        if answer.status == httpx.codes.NOT_FOUND:
            return replace(answer, headers={"content-type": "text/plain"})
        return answer


FAULTS = {
    StreamStands: {"row of a new item", "exactly one more, at once", "total includes it"},
    NothingRolledUp: {"total includes it"},
    IgnoredIfMatch: {"change with If-Match"},
    IgnoredIfNoneMatch: {"read with its ETag"},
    IgnoredKey: {"create, and repeat under one key"},
    DeletedNothing: {"remove"},
    CountedTwice: {"exactly one more, at once"},
    LostBehindCursor: {"pages with a cursor"},
    OldVersionLost: {"versions"},
    BrokenSections: {"section"},
    BrokenVotes: {"fast vote"},
    ForbiddenItems: {
        "create, and repeat under one key",
        "change with If-Match",
        "read with its ETag",
        "remove",
    },
    OtherObject: {"object"},
    MissingRoute: {"describes the routes of this checkout"},
    OpenDoor: {"status 401 without a token"},
    PlainErrors: {"problem document with status 404", "remove"},
}
"""Which checks fail with each fault, and no others."""


class NewProject(MemoryApi):
    """The API of the project that `daicho init` makes."""

    daicho = Daicho(import_module("daicho_cli.init.templates.domains.products").domain)
    ledger = daicho.append_generations(Ledger())


def test_a_new_project_passes_with_the_kinds_that_it_has() -> None:
    driven = drive(NewProject())
    assert [each for each in driven.results if each.outcome is Outcome.FAILED] == []
    missing = {each.subject for each in driven.results if each.outcome is Outcome.NOT_DECLARED}
    assert missing == {"section", "versions", "object", "edge", "ballot", "counter", "series"}
    driven_subjects = {each.subject for each in driven.results if each.outcome is Outcome.PASSED}
    assert {"POST /products", "GET /products?name=", "GET /categories"} <= driven_subjects


def test_an_api_without_faults_passes() -> None:
    driven = drive(MemoryApi())
    outcomes = Counter(each.outcome for each in driven.results)
    assert outcomes[Outcome.FAILED] == 0, [r for r in driven.results if r.outcome is Outcome.FAILED]
    assert outcomes[Outcome.PASSED] == KINDS
    assert [each.check for each in driven.results if each.outcome is Outcome.NOT_DECLARED] == [
        "read from both ends",
        "bucket of a new item",
    ]
    (unchecked,) = (each for each in driven.results if each.outcome is Outcome.NOT_CHECKED)
    assert unchecked.subject == "archive"
    assert not [request for request in driven.requests if request.startswith("DELETE /tenant")]


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: str(fault.__name__))
def test_a_fault_fails_its_checks_and_no_others(fault: type[MemoryApi]) -> None:
    driven = drive(fault())
    failed = {each.check for each in driven.results if each.outcome is Outcome.FAILED}
    assert failed == FAULTS[fault], [
        r.detail for r in driven.results if r.outcome is Outcome.FAILED
    ]
