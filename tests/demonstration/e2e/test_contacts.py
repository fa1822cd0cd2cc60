"""Contacts over HTTP on the deployed local stack: names typed letter by letter."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from daicho.query.related_search import NAMES_CACHE_S
from tests.demonstration.e2e.delivery import delivered
from tests.e2e.api import client, eventually, everything

CONTACTS = [
    {"name": "山田 太郎", "company": "株式会社山田商店", "phone": "03-1234-5678"},
    {"name": "Yamada Hanako", "company": "Acme Co., Ltd.", "phone": "+81 90 1111 2222"},
    {"name": "José Müller", "company": "㈱デンソー", "phone": "(06) 6789-0000"},
]
TYPED = [
    ("山田 太郎", 0),
    ("㈱山田商店", 0),
    ("yamada hanako", 1),
    ("Acme Co., Ltd.", 1),
    ("090-1111-2222", 1),
    ("jose muller", 2),
    ("Important people", 2),
]


@pytest.fixture(scope="module")
def api(stack: dict[str, Any]) -> Iterator[httpx.Client]:
    with client(stack, "acme") as api:
        yield api


@pytest.fixture(scope="module")
def ids(api: httpx.Client) -> list[str]:
    """Contacts that are found already; the last is in a category."""
    made = [api.post("/contacts", json=each).json()["id"] for each in CONTACTS]
    group = api.post("/categories", json={"name": "Important people"}).json()["id"]
    assert api.put(f"/contacts/{made[2]}/categories/{group}").status_code == 204
    delivered(api)
    time.sleep(NAMES_CACHE_S)  # for so long an instance may not know of the category
    return made


def shown(api: httpx.Client, keyword: str) -> set[str]:
    # All pages: one that took too long comes short.
    return {row["id"] for row in everything(api, "/contacts", q=keyword)}


@pytest.mark.parametrize(("typed", "who"), TYPED)
def test_each_keystroke_answers(api: httpx.Client, ids: list[str], typed: str, who: int) -> None:
    for end in range(1, len(typed) + 1):
        assert ids[who] in shown(api, typed[:end]), typed[:end]


def test_changes_follow_through_the_stream(api: httpx.Client, ids: list[str]) -> None:
    path = f"/contacts/{ids[1]}"
    assert api.patch(path, json={"name": "Suzuki Hanako"}).status_code == 200
    delivered(api)
    assert ids[1] in shown(api, "suzu")
    # The old name is never shown, however long its postings stay.
    assert ids[1] not in shown(api, "yamad")
    assert api.post(f"{path}/calls", json={"note": "hello", "seconds": 60}).status_code == 201
    delivered(api)
    assert [call["note"] for call in everything(api, f"{path}/calls")] == ["hello"]
    (row,) = everything(api, "/contacts", q="suzuki", include="calls")
    assert [call["note"] for call in row["calls"]] == ["hello"]


def test_a_category_is_read_from_both_ends(api: httpx.Client, ids: list[str]) -> None:
    category = api.post("/categories", json={"name": "Zulieferer"}).json()["id"]
    there, members = f"/categories/{category}", [ids[0], ids[2]]
    for id in members:
        assert api.put(f"/contacts/{id}{there}").status_code == 204

    def listed() -> list[dict[str, Any]]:
        return everything(api, f"{there}/contacts")

    delivered(api)
    found = listed()
    assert [each["id"] for each in found] == members[::-1]
    assert "Zulieferer" in found[0]["category_names"].values()
    assert len(found[0]["category_names"]) == 2
    # A new name rewrites no contact. Searches remember names for some seconds.
    versions = [each["version"] for each in found]
    assert api.patch(there, json={"name": "Lieferanten"}).status_code == 200
    found_by = eventually(lambda: shown(api, "lieferan"), lambda found: found == set(members))
    assert found_by == set(members)
    assert eventually(lambda: shown(api, "zuliefer"), lambda found: not found) == set()
    assert [each["version"] for each in listed()] == versions
    assert api.delete(f"/contacts/{ids[0]}{there}").status_code == 204
    assert [each["id"] for each in listed()] == [ids[2]]
    assert api.delete(there).status_code == 204
    assert api.get(f"{there}/contacts").status_code == 404


def test_contacts_are_counted(api: httpx.Client, ids: list[str]) -> None:
    def count() -> int:
        found: int = api.get("/contacts/count", params={"live": "true"}).json()["count"]
        return found

    delivered(api)
    assert count() == len(everything(api, "/contacts")) >= len(ids)
