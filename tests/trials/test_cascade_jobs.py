"""On the local AWS, a deletion that exceeds a request is finished by a job, also after a kill."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import httpx
import pytest

from daicho.book.book import Book
from daicho_cli.aws import Stack
from daicho_cli.local import lifecycle
from daicho_cli.local.instance import LocalInstance
from tests.e2e.api import client, eventually, kill
from tests.support.changing_project import ChangingProject
from tests.support.dynoxide import free_port
from tests.support.trials import IS_TRIAL

MEMBERS = 300
DOMAIN = '''"""Groups, whose members are deleted with them."""

from daicho import Aggregate, Count, Domain, Entity, Key, field, ref, uid


class Group(Entity):
    """A group."""

    id: str = field()
    key = Key(id)


class Member(Entity):
    """A member of a group."""

    id: str = uid()
    group: str = ref(Group, must_exist=True, on_delete="cascade")
    key = Key(id)
    count = Aggregate(Count(), group)


domain = Domain("groups", Group, Member)
domain.resource("/groups/{id}", Group, "PUT GET DELETE")
domain.resource("/members/{id}", Member, "POST GET")
domain.mount("/groups/{group}/count", Member.count)
'''

pytestmark = pytest.mark.skipif(not IS_TRIAL, reason="a trial: make trials")


def test_a_job_deletes_what_a_request_does_not(tmp_path: Path) -> None:
    project = ChangingProject.create(tmp_path / "groups", {"groups.py": DOMAIN})
    place = LocalInstance(project.folder / ".local", free_port(), project.project)
    try:
        lifecycle.up(place, print, with_sample=False)
        stack = Stack.find(None, place.stack_file)
        book = Book(stack.connection.open(1), project.project.load_ledger(), "acme")
        member = project.project.discover().get_entity("Member")
        with client(place.stack(), "acme") as api:
            api.put("/groups/g", json={}).raise_for_status()
            for _ in range(MEMBERS):
                book.create(member(group="g"))
            accepted = api.delete("/groups/g")
            assert accepted.status_code == 202
        kill(place)
        lifecycle.up(place, print, with_sample=False)
        headers = {"authorization": f"Bearer {place.stack()['admins']['acme']}"}
        with httpx.Client(base_url=place.stack()["url"], headers=headers, timeout=60) as admin:
            read = partial(admin.get, accepted.headers["location"])
            job = eventually(read, lambda found: found.json().get("state") != "running").json()
            assert (job["state"], job["kind"], job["item"]) == ("succeeded", "cascade", "Group g")
            assert admin.get("/groups/g").status_code == 404
        with client(place.stack(), "acme") as api:
            count = partial(api.get, "/groups/g/count")
            found = eventually(count, lambda answer: answer.json().get("count") == 0)
            assert found.json()["count"] == 0
    finally:
        lifecycle.reset(place, print)
