"""The rows that are derived of a base item: for searches, listings and hot lists."""

from __future__ import annotations

from dataclasses import replace

from daicho.derive import derived_items
from daicho.storage import keys
from daicho.storage.item_key import ItemKey
from tests.support.sample_tickets import CREATED, TICKET, build_ticket_image


def test_rows() -> None:
    found = derived_items.compute_index_rows(
        TICKET, build_ticket_image(title="Aj", queue="q#1", state="open", tags={"b", "a"})
    )
    own = "acme#~Ticket#1#-"
    order = f"{CREATED}#1"
    assert {key: (row.gsi2pk, row.gsi2sk) for key, row in found.items()} == {
        ItemKey(own, "search#1##"): ("acme#Ticket.search#1#", order),
        ItemKey(own, "search#1#a#"): ("acme#Ticket.search#1#a", order),
        ItemKey(own, "search#1#aj#"): ("acme#Ticket.search#1#aj", order),
        ItemKey(own, "open#2#q$231"): ("acme#Ticket.open#2#q$231", order),
        ItemKey(own, "tagged#1#a"): ("acme#Ticket.tagged#1#a", order),
        ItemKey(own, "tagged#1#b"): ("acme#Ticket.tagged#1#b", order),
    }


def test_sparse_means_that_what_is_missing_is_not_listed() -> None:
    closed = derived_items.compute_index_rows(TICKET, build_ticket_image(queue="q", state="closed"))
    without = derived_items.compute_index_rows(TICKET, build_ticket_image(state="open"))
    assert {key.sk for key in closed} == {key.sk for key in without} == {"search#1##"}


def test_hot_lists_have_shards_the_others_have_not() -> None:
    sharded = replace(TICKET, searches=(replace(TICKET.searches[0], shards=4),))
    places = {
        row.gsi2pk
        for row in derived_items.compute_index_rows(
            sharded, build_ticket_image(title="Aj")
        ).values()
    }
    shard = keys.compute_shard(4, "1")
    assert places == {
        f"acme#Ticket.search#1##{shard}",
        f"acme#Ticket.search#1#a#{shard}",
        "acme#Ticket.search#1#aj",
    }
