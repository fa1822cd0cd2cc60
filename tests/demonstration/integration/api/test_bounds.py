"""The bounds of a request: the worst one to a route takes what is stated, and no more."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace

import pytest

from daicho.runtime.bounds import DEFAULT_BOUNDS
from daicho_cli.cost.worst import WorstRequest, list_exceeding, list_worst_requests
from tests.support import attacks
from tests.support.attacks import ATTACKS, AttackedApi, Taken
from tests.support.deployment import Served
from tests.support.project_routes import PROJECT_ROUTES
from tests.support.worst_requests import WorstRequests

WORST = list_worst_requests(PROJECT_ROUTES.daicho, DEFAULT_BOUNDS)


@pytest.fixture
def api(served: Served) -> AttackedApi:
    return AttackedApi(served, DEFAULT_BOUNDS)


def test_every_route_is_bounded_by_default() -> None:
    assert len(WORST) > 50
    assert not list_exceeding(WORST, DEFAULT_BOUNDS)


@pytest.mark.parametrize("name", ATTACKS)
def test_the_measured_attacks_are_within_the_bounds(api: AttackedApi, name: str) -> None:
    taken = ATTACKS[name](api)
    assert taken.read <= DEFAULT_BOUNDS.read_units
    assert taken.written <= DEFAULT_BOUNDS.write_units
    if taken.answer.status >= 400:
        assert taken.answer.status in {413, 422}
        assert taken.written == 0
        assert "limit" in taken.answer.text or "at most" in taken.answer.text


def find_worst(method: str, path: str, name: str = "") -> WorstRequest:
    (found,) = (
        each for each in WORST if (each.method, each.path, each.name) == (method, path, name)
    )
    return found


def check_stated(taken: Taken, stated: WorstRequest) -> None:
    """What a request took is at most what is stated, and at least half of it."""
    assert taken.answer.status < 300, taken.answer.text
    assert taken.requests <= stated.requests
    assert taken.read <= stated.read
    assert taken.written <= stated.written
    if stated.written:
        assert taken.written >= stated.written / 2
    else:
        assert taken.read >= stated.read / 2


def test_the_largest_item_takes_what_is_stated(api: AttackedApi) -> None:
    check_stated(attacks.create_largest(api), find_worst("POST", "/contacts"))


def test_a_document_of_the_most_sections_takes_what_is_stated(api: AttackedApi) -> None:
    check_stated(attacks.put_most_sections(api), find_worst("PUT", "/documents/{id}"))


def test_a_page_of_large_items_ends_early_and_is_followed_to_the_end(api: AttackedApi) -> None:
    check_stated(ATTACKS["a page of 100 contacts of 16 KB"](api), find_worst("GET", "/contacts"))
    low = AttackedApi(api.served, replace(DEFAULT_BOUNDS, read_units=100))
    cursor: str | None = ""
    shown: list[str] = []
    while cursor is not None:
        taken = low.send("GET", f"/contacts?limit=100{cursor and f'&cursor={cursor}'}")
        assert taken.read <= 100
        shown += [item["id"] for item in taken.answer.json["items"]]
        cursor = taken.answer.json["cursor"]
    assert len(shown) == len(set(shown)) >= 100


def test_a_figure_with_too_many_slots_is_answered_from_its_total(api: AttackedApi) -> None:
    for name in ("a fast poll with 2,000 slots", "an exact poll of 100 candidates"):
        answer = ATTACKS[f"live figures of {name}"](api).answer
        assert (answer.status, answer.json["rolled_up"]) == (200, True)
    few = attacks.open_poll(api, "exact", candidates=50)
    taken = api.send("GET", f"/polls/{few}?live=true")
    assert taken.answer.json["rolled_up"] is False
    check_stated(taken, find_worst("GET", "/polls/{id}"))


def test_what_was_stored_without_bounds_can_be_read_in_parts_and_removed(served: Served) -> None:
    free, bounded = AttackedApi(served, None), AttackedApi(served, DEFAULT_BOUNDS)
    whole = ATTACKS["GET of a document of 4.5 MB"](free)
    assert (whole.answer.status, len(whole.answer.text) > 4_000_000) == (200, True)
    assert "read_units is 250" in bounded.send("GET", "/documents/large").answer.text
    assert bounded.send("GET", "/documents/large/s1").answer.status == 200
    removed = bounded.send("DELETE", "/documents/large")
    assert (removed.answer.status, removed.written <= 1_000) == (204, True)
    assert bounded.send("GET", "/documents/large").answer.status == 404


TAKEN = ("read", "written", "requests")
MOST_SECONDS = 1.0
"""Of the processor, of one answered request."""
NOT_SENT = {
    *((method, "/places") for method in ("PATCH", "DELETE")),
    *((method, "/sales/{id}") for method in ("GET", "PATCH", "DELETE")),
    *(("POST", path) for path in ("/sales", "/carts/{user}/checkout", "/polls/{poll}/votes")),
    ("PUT", "/contacts/{id}/categories/{category}"),
    ("GET", "/songs/{song}/download-series"),
}
"""Routes whose documented example needs items that no other example makes."""


def test_the_worst_request_of_every_route_takes_at_most_what_is_stated(served: Served) -> None:
    worst = WorstRequests(AttackedApi(served, DEFAULT_BOUNDS))
    worst.send_all(served.catch_up)
    stated = defaultdict[tuple[str, str], list[WorstRequest]](list)
    for each in WORST:
        stated[each.method, each.path].append(each)
    assert stated.keys() - worst.taken.keys() <= NOT_SENT
    half = 0
    for route, requests in worst.taken.items():
        most = {name: max(getattr(each, name) for each in requests) for name in TAKEN}
        bound = {name: max(getattr(each, name) for each in stated[route]) for name in TAKEN}
        assert all(most[name] <= bound[name] for name in TAKEN), (route, most, bound)
        assert max(each.seconds for each in requests) <= MOST_SECONDS, route
        half += any(most[name] >= bound[name] / 2 > 0 for name in ("read", "written"))
    assert half >= 20, half  # others have short fields, or their examples select few items
