"""The changes that a traffic file describes."""

from __future__ import annotations

from collections import Counter

from daicho.plan import KeyPlan
from daicho_cli.cost.events import is_moved, list_events
from daicho_cli.cost.traffic import (
    ChangeTraffic,
    EntityTraffic,
    Traffic,
    TransactionTraffic,
)
from tests.unit.daicho_cli.cost.plans import VALUES, generation


def test_each_example_has_its_share_and_keyed_requests_are_apart() -> None:
    song = EntityTraffic(
        creates=100,
        deletes=10,
        expiries=4,
        idempotent=0.2,
        examples=(VALUES, {**VALUES, "title": "Peg"}),
        changes=(ChangeTraffic(20, {"title": "x"}),),
    )
    events = list_events(generation(), Traffic(entities={"Song": song}))
    counts: Counter[tuple[str, bool]] = Counter()
    for event in events:
        counts[event.kind, event.keyed] += event.count  # type: ignore[assignment]
        assert event.keyed == event.transactional
    assert counts == {
        ("create", False): 80, ("create", True): 20, ("change", False): 16, ("change", True): 4,
        ("delete", False): 8, ("delete", True): 2, ("expire", False): 4,
    }  # fmt: skip
    assert len([event for event in events if event.kind == "create"]) == 4


def test_a_change_keeps_what_it_does_not_name() -> None:
    song = EntityTraffic(
        changes=(ChangeTraffic(1, {"title": "Peg"}), ChangeTraffic(1, {"artist": None})),
        examples=({**VALUES, "id": "x"},),
    )
    renamed, removed = list_events(generation(), Traffic(entities={"Song": song}))
    assert renamed.before is not None
    assert renamed.after is not None
    assert removed.after is not None
    assert (renamed.before["title"], renamed.after["title"]) == ({"S": "Aja"}, {"S": "Peg"})
    assert renamed.after["id"] == {"S": "x"}
    assert renamed.after["version"] == {"N": "2"}
    assert not is_moved(renamed)
    assert "artist" not in removed.after


def test_a_change_of_the_key_moves_the_item() -> None:
    cart = generation("Cart", key=KeyPlan(("id",), ("artist",), moves="artist"))
    described = EntityTraffic(changes=(ChangeTraffic(1, {"artist": "saved"}),), examples=(VALUES,))
    (event,) = list_events(cart, Traffic(entities={"Cart": described}))
    assert is_moved(event)


def test_transactions_add_their_items() -> None:
    checkout = TransactionTraffic("checkout", 5, creates={"Song": 1}, deletes={"Song": 3})
    close = TransactionTraffic("close", 2, changes={"Song": 1})
    song = EntityTraffic(changes=(ChangeTraffic(0, {"title": "x"}),))
    traffic = Traffic(entities={"Song": song}, transactions=(checkout, close))
    events = list_events(generation(), traffic)
    assert [(event.kind, event.count) for event in events] == [
        ("create", 5), ("delete", 15), ("change", 2),
    ]  # fmt: skip
    assert all(event.transactional and not event.keyed for event in events)
