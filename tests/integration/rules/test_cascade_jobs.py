"""A deletion with more items than a request deletes becomes a job: its answers, kills, its ends."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest

from daicho.book import cascade_worker
from daicho.book.book import Book
from daicho.errors import BeingBuilt, Unfinished, UnreadableError
from daicho.handlers import jobs
from daicho.handlers.wiring.dependencies import Dependencies
from daicho.handlers.wiring.invocation import Handler
from daicho.tenants.restore_job import RestoreJob
from daicho.write import cascades
from tests.support.api_client import Client
from tests.support.deployment import Served, serving_in_memory
from tests.support.mortal_stores import Killed, Turns, let_end
from tests.support.ruled_domains.accounts import Group, Member, MemberNote
from tests.support.ruled_project import DOMAIN_PACKAGE, LEDGER
from tests.support.stream_pump import Context, environment
from tests.support.two_tenants import Machine

ADMIN = {"sub": "ada", "cognito:groups": ["admin"]}
BOUNDS = {"READ_UNITS": "250", "WRITE_UNITS": "1000"}


class Deletions:
    """The API and the jobs of one deployment."""

    def __init__(self, served: Served) -> None:
        self.served, self.machine = served, Machine()
        api = served.build_api(self.make_dependencies(served.table), **BOUNDS)
        self.api, self.acme = api, Client(api, "acme", ADMIN)
        self.environment = environment(
            served.table.name, DOMAIN_PACKAGE=DOMAIN_PACKAGE, SETTLE_SECONDS="1", SCAN_UNITS="1000"
        )

    def make_dependencies(self, table: Any) -> Dependencies:
        machine: Any = self.machine
        return Dependencies(
            table=lambda *_, **__: table,
            machine=lambda _: machine,
            sleep=lambda _: None,
            parallelism=1,
        )

    @property
    def book(self) -> Book:
        return Book(self.served.table, LEDGER, "acme")

    def create_group(self, count: int, id: str = "g") -> None:
        """A group with so many members, each with a note."""
        self.acme.good("PUT", f"/groups/{id}", {})
        for number in range(count):
            self.book.create(Member(id=f"{id}{number}", group=id))
            self.book.create(MemberNote(id=f"{id}{number}", member=f"{id}{number}"))

    @property
    def newest(self) -> dict[str, Any]:
        """What the state machine was given for the newest job."""
        return [*self.machine.started.values()][-1]

    def build_jobs(self, turns: Turns | None = None) -> Handler:
        """The function of jobs, in a process that ends at one of its requests."""
        table = let_end(self.served.table, turns or Turns())
        return jobs.build(self.environment, LEDGER, self.make_dependencies(table))

    def step(self, at: int | None = None, *, after: bool = False) -> dict[str, Any]:
        """A step of the newest job; its process ends before or after a request."""
        return self.build_jobs(Turns(at, after=after))(self.newest, Context())

    def read_job(self) -> dict[str, Any]:
        page: dict[str, Any] = self.acme.good("GET", "/jobs")
        job: dict[str, Any] = page["items"][0]
        assert self.acme.good("GET", f"/jobs/{job['id']}") == job
        return job

    def list_keys(self) -> set[tuple[str, str]]:
        """The entity and the id of each item."""
        images = [image for image in self.served.list_items() if "type" in image]
        return {(image["type"]["S"], image["id"]["S"]) for image in images}

    def check_references(self) -> None:
        """Each item that is left refers to one that exists."""
        keys = self.list_keys()
        for image in self.served.list_items():
            for name, entity in (("group", "Group"), ("member", "Member")):
                if name in image and "type" in image:
                    assert (entity, image[name]["S"]) in keys


@pytest.fixture
def deletions() -> Iterator[Deletions]:
    with serving_in_memory(DOMAIN_PACKAGE, LEDGER) as served:
        yield Deletions(served)


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """A request deletes four items."""
    for module in (cascades, cascade_worker):
        monkeypatch.setattr(module, "MAX_CASCADED", 4)


def refuse_deletions(patch: pytest.MonkeyPatch, error: Exception) -> None:
    """Let the job meet an error."""

    def refuse(*_: Any) -> None:
        raise error

    patch.setattr(Book, "delete", refuse)


def test_who_asked_for_a_job_reads_it_and_others_do_not(deletions: Deletions, few: None) -> None:
    deletions.create_group(5)
    members = {name: Client(deletions.api, "acme", {"sub": name}) for name in ("bob", "eve")}
    path = members["bob"]("DELETE", "/groups/g").headers["Location"]
    assert members["bob"].good("GET", path)["asked_by"] == "bob"
    assert deletions.acme.good("GET", path)["asked_by"] == "bob", "an administrator reads all"
    unknown = members["eve"]("GET", "/jobs/01KAKZ0C7SJ7W9V0E3M4N5P6Q7")
    refused = members["eve"]("GET", path)
    assert (refused.status, unknown.status) == (404, 404)
    assert refused.json["type"] == unknown.json["type"]
    assert members["bob"]("GET", "/jobs").status == 403


def test_a_request_within_its_bounds_starts_a_job_for_the_rest(deletions: Deletions) -> None:
    deletions.create_group(250)
    accepted = deletions.acme("DELETE", "/groups/g")
    assert (accepted.status, accepted.text) == (202, "")
    job = deletions.read_job()
    assert accepted.headers["Location"] == f"/jobs/{job['id']}"
    assert {name: job[name] for name in ("kind", "state", "item", "asked_by", "error")} == {
        "kind": "cascade",
        "state": "running",
        "item": "Group g",
        "asked_by": "ada",
        "error": None,
    }
    again = deletions.acme("DELETE", "/groups/g", Idempotency_Key="a repeat takes none")
    assert (again.status, again.headers["Location"]) == (202, accepted.headers["Location"])
    deletions.machine.started.clear()
    assert deletions.acme("DELETE", "/groups/g").status == 202
    assert len(deletions.machine.started) == 1, "an earlier request may have ended before the start"
    assert deletions.step() == {"done": True, "wait": 0}
    job = deletions.read_job()
    assert (job["state"], deletions.list_keys()) == ("succeeded", set())
    assert job["deleted"] == 200, "which three requests have left"
    assert deletions.acme("DELETE", "/groups/g").status == 404
    assert deletions.step() == {"done": True, "wait": 0}, "a late step of a job that has ended"


@pytest.mark.usefixtures("few")
def test_a_job_that_is_killed_at_any_request_goes_on(deletions: Deletions) -> None:
    deletions.create_group(7)
    assert deletions.acme("DELETE", "/groups/g").status == 202
    lives, done = 0, False
    while not done:
        lives = lives % 97 + 1
        with suppress(Killed):
            done = deletions.step(lives)["done"]
        with suppress(Killed):  # the last request is made, and its answer is lost
            done = done or deletions.step(lives, after=True)["done"]
        deletions.check_references()
    assert (deletions.read_job()["state"], deletions.list_keys()) == ("succeeded", set())


@pytest.mark.usefixtures("few")
def test_an_item_that_is_created_again_stays(deletions: Deletions) -> None:
    deletions.create_group(5)
    assert deletions.acme("DELETE", "/groups/g").status == 202
    while deletions.list_keys():
        with suppress(Unfinished):
            deletions.book.delete(Group.key("g"))
    deletions.create_group(5)
    before = deletions.list_keys()
    assert deletions.acme("DELETE", "/groups/g").status == 409, "of the item that is gone"
    kept = deletions.list_keys()
    assert deletions.step()["done"]
    assert deletions.read_job()["state"] == "succeeded"
    assert deletions.list_keys() == kept < before


@pytest.mark.usefixtures("few")
def test_a_rule_ends_a_job(deletions: Deletions) -> None:
    deletions.create_group(6)
    assert deletions.acme("DELETE", "/groups/g").status == 202
    kept = min(id for entity, id in deletions.list_keys() if entity == "MemberNote")
    deletions.acme.good("PATCH", f"/member-notes/{kept}", {"kept": True})
    while not deletions.step()["done"]:
        continue
    job = deletions.read_job()
    assert (job["state"], "MemberNote" in job["error"]) == ("failed", True), job["error"]
    deletions.check_references()
    assert deletions.acme("GET", "/groups/g").status == 200


@pytest.mark.usefixtures("few")
def test_one_job_of_a_tenant_at_a_time(deletions: Deletions) -> None:
    for id in "ab":
        deletions.create_group(5, id)
    assert deletions.acme("DELETE", "/groups/a").status == 202
    other = deletions.acme("DELETE", "/groups/b")
    assert (other.status, other.headers["Retry-After"]) == (409, "10")
    assert "deletes another item" in other.text
    assert deletions.step()["done"]
    assert deletions.acme("DELETE", "/groups/b").status == 202
    assert deletions.step()["done"]
    assert deletions.list_keys() == set()


@pytest.mark.usefixtures("few")
def test_the_end_of_a_tenant_ends_its_jobs(deletions: Deletions) -> None:
    deletions.create_group(5)
    assert deletions.acme("DELETE", "/groups/g").status == 202
    cascade = deletions.newest
    assert deletions.acme("DELETE", "/tenant").status == 202
    assert deletions.build_jobs()(cascade, Context())["done"]
    states = {job["kind"]: job["state"] for job in deletions.acme.good("GET", "/jobs")["items"]}
    assert states == {"cascade": "failed", "tenant deletion": "running"}


@pytest.mark.usefixtures("few")
def test_a_step_ends_with_its_time_and_tells_of_an_abandoned_job(deletions: Deletions) -> None:
    deletions.create_group(9)
    assert deletions.acme("DELETE", "/groups/g").status == 202
    handler, given = deletions.build_jobs(), deletions.newest
    ended = Context()
    ended._end = 0
    assert handler(given, ended) == {"done": False, "wait": 0}
    assert deletions.read_job()["state"] == "running"
    handler({**given, "failed": "States.Timeout"}, Context())
    job = deletions.read_job()
    assert (job["state"], job["error"]) == ("failed", "States.Timeout")
    assert deletions.acme("DELETE", "/groups/g").status == 202, "a new job"


def test_without_jobs_the_caller_repeats(deletions: Deletions) -> None:
    deletions.create_group(60)
    book = deletions.book
    with pytest.raises(Unfinished, match="100 items that refer to it were deleted"):
        book.delete(Group.key("g"))
    book.delete(Group.key("g"))
    assert deletions.list_keys() == set()


def test_code_without_cascades_reads_the_job_as_a_restore(deletions: Deletions) -> None:
    deletions.create_group(60)
    assert deletions.acme("DELETE", "/groups/g").status == 202
    (image,) = (each for each in deletions.served.list_items() if "kind" in each)
    assert RestoreJob.from_image(image).state == "running"


@pytest.mark.usefixtures("few")
def test_a_job_that_waits_for_a_declaration_stays_under_way(
    deletions: Deletions, monkeypatch: pytest.MonkeyPatch
) -> None:
    deletions.create_group(9)
    assert deletions.acme("DELETE", "/groups/g").status == 202
    before = deletions.read_job()
    with monkeypatch.context() as patch:
        refuse_deletions(patch, BeingBuilt("not all references have a reservation yet"))
        assert deletions.step() == {"done": False, "wait": 60}
    job = deletions.read_job()
    assert (job["state"], job["updated_at"] > before["updated_at"]) == ("running", True)
    assert deletions.step()["done"]


@pytest.mark.usefixtures("few")
def test_an_item_that_cannot_be_read_ends_a_job(
    deletions: Deletions, monkeypatch: pytest.MonkeyPatch
) -> None:
    deletions.create_group(9)
    assert deletions.acme("DELETE", "/groups/g").status == 202
    refuse_deletions(monkeypatch, UnreadableError("Member", "it is no text", "note"))
    assert deletions.step()["done"]
    job = deletions.read_job()
    assert (job["state"], job["error"]) == ("failed", "Member.note cannot be read: it is no text")
