"""A table that was taken over: what clients know of the lost one is refused, never mistaken."""

from __future__ import annotations

from typing import Any

import pytest

from daicho import Aggregate, Count, Domain, Entity, Key, Listing, Versioned, field, uid
from daicho.declare.registry import Daicho
from daicho.plan import Ledger
from daicho.query.access import Access
from daicho.testing import MemoryDeployment
from daicho.web.api import Api
from daicho.web.http.preconditions import RESTORED_SINCE
from tests.support.api_client import Client
from tests.support.lost_table import PARTS, TornCopy


class Memo(Entity):
    id: str = uid()
    text: str = field()

    key = Key(id)
    newest = Listing()
    texts = Aggregate(Count(), text, ranked=True)
    versions = Versioned("copy")


class Story:
    """A memo, its copy, and two more versions; then the copy takes the place of the table."""

    def __init__(self) -> None:
        domain = Domain("memos", Memo)
        domain.resource("/memos/{id}", Memo, "GET PUT PATCH DELETE")
        domain.mount("/memos", Memo.newest)
        domain.mount("/texts", Memo.texts.top)
        self.daicho = Daicho(domain)
        self.deployment = MemoryDeployment(self.daicho.append_generations(Ledger()))
        self.old = self.open_client("")
        for number in range(3):
            self.old.good("PUT", f"/memos/m{number}", {"text": f"{number}"})
        self.write(self.old, "first")
        self.deployment.catch_up()
        self.copy = TornCopy()
        for part in range(PARTS):
            self.copy.copy_part(self.deployment._dynamodb, part)
        self.tag = self.write(self.old, "lost")

    def open_client(self, lineage: str) -> Client:
        def open_book(access: Access) -> Any:
            return self.deployment.open_book("acme", access)

        return Client(Api(self.daicho, open_book, lineage=lineage), "acme")

    def write(self, client: Client, text: str) -> str:
        return client("PUT", "/memos/m0", {"text": text}).headers["ETag"]

    def take_over(self) -> Client:
        label = "2027-01-01T00:00:00.000"
        self.copy.replace(self.deployment._dynamodb, self.deployment._recorder, label)
        return self.open_client("1a2b3c4d")


@pytest.fixture
def story() -> Story:
    return Story()


def test_the_etag_of_a_lost_version_never_matches_another_content(story: Story) -> None:
    assert story.tag == '"3"'
    new = story.take_over()
    tag = story.write(new, "other")
    assert tag == '"1a2b3c4d-3"'
    current = {"text": "other", "version": 3}
    for header in (story.tag, f'W/{story.tag}, "7"'):
        for method, body in (("PUT", {"text": "x"}), ("PATCH", {"text": "x"}), ("DELETE", None)):
            refused = new(method, "/memos/m0", body, if_match=header)
            assert (refused.status, refused.json["detail"]) == (412, RESTORED_SINCE)
    shown = new("GET", "/memos/m0", if_none_match=story.tag)
    assert (shown.status, shown.headers["ETag"]) == (200, tag)
    assert {name: shown.json[name] for name in current} == current
    assert new("GET", "/memos/m0", if_none_match=f'"9", {tag}').status == 304
    assert new("PUT", "/memos/m0", {"text": "x"}, if_none_match="*").status == 412
    assert new("PATCH", "/memos/m0", {"text": "y"}, if_match=f"{story.tag}, {tag}").status == 200
    assert new("DELETE", "/memos/m0", if_match="*").status == 204


def test_a_cursor_of_the_lost_table_is_refused(story: Story) -> None:
    story.deployment.catch_up()
    paths = ("/memos?limit=1", "/texts?limit=1&live=true", "/memos/m0/versions?limit=1")
    old = {path: story.old.good("GET", path)["cursor"] for path in paths}
    new = story.take_over()
    story.write(new, "other")
    story.deployment.catch_up()
    for path, cursor in old.items():
        refused = new("GET", f"{path}&cursor={cursor}")
        assert (refused.status, refused.json["type"].rpartition("/")[2]) == (400, "bad-cursor")
        own = new.good("GET", path)["cursor"]
        assert new("GET", f"{path}&cursor={own}").status == 200
        assert story.old("GET", f"{path}&cursor={own}").status == 400


def test_another_malformed_precondition_is_a_400_still(story: Story) -> None:
    new = story.take_over()
    for header in ("2", '"2', '"1a2b3c4d-2" "3"'):
        assert new("PUT", "/memos/m0", {"text": "x"}, if_match=header).status == 400
