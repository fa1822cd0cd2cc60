"""Kinds of damage, each inflicted by hand on one item or one tally of a `VerifiedShop`.

A function takes the shop and the number of the item, or the group of the tally. It returns the key
at which a verification has to find the damage.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from daicho.layout.sections import render_sections_partition
from daicho.layout.versions import build_version_key
from daicho.storage import attributes, keys
from daicho.storage.attributes import Image, ItemKey, get_key
from daicho.tally import reader, slots, total_items
from daicho.verify.findings import Kind
from tests.support.verified_shop import Sale, VerifiedShop

Damage = Callable[[VerifiedShop, int], ItemKey]
TallyDamage = Callable[[VerifiedShop, str], ItemKey]
FUTURE = {"S": f"2999-01-01#{'9' * 40}"}
FAR_TTL = {"N": "99999999999"}


def get_base(entity: str, id: str) -> ItemKey:
    """The key of a base item."""
    return ItemKey(keys.render("acme", entity, id), "-")


def get_edge(number: int) -> ItemKey:
    """The key of an edge."""
    return ItemKey(keys.render("acme", "Likes", f"c{number}"), f"s{number}")


# --- Rows -----------------------------------------------------------------------------------------


def get_row(shop: VerifiedShop, number: int, name: str = "of_state") -> ItemKey:
    """The key of a row of a sale."""
    rows = shop.find_rows("Sale", f"s{number}")
    (key,) = (get_key(item) for sk, item in rows.items() if sk.startswith(f"{name}#"))
    return key


def remove_row(shop: VerifiedShop, number: int) -> ItemKey:
    """A row is missing."""
    key = get_row(shop, number)
    shop.table.delete(key)
    return key


def bury_row(shop: VerifiedShop, number: int) -> ItemKey:
    """A row has the mark of a removal."""
    key = get_row(shop, number)
    shop.change(key, GSI2PK=None, GSI2SK=None, ttl=FAR_TTL)
    return key


def leave_row(shop: VerifiedShop, number: int) -> ItemKey:
    """A row of an item that no longer exists."""
    kept = next(iter(shop.find_rows("Sale", f"s{number}").values()))
    shop.book.delete(Sale.key(f"s{number}"))
    shop.deployment.deliver()
    shop.table.put(kept, condition="attribute_exists(PK)", values={})
    return get_key(kept)


def leave_removal(shop: VerifiedShop, number: int) -> ItemKey:
    """The mark of a removal has no ``ttl``, so it is never removed."""
    key = get_row(shop, number)
    shop.book.delete(Sale.key(f"s{number}"))
    shop.deployment.deliver()
    shop.change(key, ttl=None)
    return key


def add_row(sort_key: str) -> Damage:
    """A row that its item does not derive."""

    def add(shop: VerifiedShop, number: int) -> ItemKey:
        row = shop.table.get(get_row(shop, number), consistent=True)
        key = ItemKey(row["PK"]["S"], sort_key)
        shop.table.put(
            {**row, "SK": {"S": key.sk}}, condition="attribute_not_exists(PK)", values={}
        )
        return key

    return add


def change_row(name: str, **values: object) -> Damage:
    """A row has other attributes."""

    def change(shop: VerifiedShop, number: int) -> ItemKey:
        key = get_row(shop, number, name)
        shop.change(key, **values)
        return key

    return change


OF_ROWS: tuple[tuple[Kind, Damage], ...] = (
    (Kind.ROW_MISSING, remove_row),
    (Kind.ROW_MISSING, bury_row),
    (Kind.ROW_WITHOUT_ITEM, leave_row),
    (Kind.ROW_NOT_DERIVED, add_row("of_state#1#stale")),
    (Kind.WRONG_LIST, change_row("of_state", GSI2PK={"S": "acme#Sale.of_state#1#lost"})),
    (Kind.WRONG_ORDER, change_row("of_state", GSI2SK={"S": "2001"})),
    (Kind.WRONG_COPY, change_row("of_customer", copy={"S": "{}"})),
    (Kind.WRONG_COPY, change_row("of_customer", copy=None)),
    (Kind.ROW_NUMBER, change_row("of_state", seq=FUTURE)),
    (Kind.ROW_NUMBER, change_row("of_state", seq=None)),
    (Kind.ROW_STATE, change_row("of_state", ttl=FAR_TTL)),
    (Kind.ROW_STATE, leave_removal),
    (Kind.UNKNOWN_INSTANCE, add_row("unheard#7#open")),
)


# --- Base items, and what belongs to them ---------------------------------------------------------


def move_edge(shop: VerifiedShop, number: int) -> ItemKey:
    """An item is at a key that its fields do not give."""
    image = shop.table.get(get_edge(number), consistent=True)
    key = ItemKey(keys.render("acme", "Likes", f"lost{number}"), f"s{number}")
    shop.table.delete(get_key(image))
    shop.table.put({**image, "PK": {"S": key.pk}}, condition="attribute_not_exists(PK)", values={})
    shop.deployment.deliver()
    return key


def change_edge(**values: object) -> Damage:
    """An edge has other attributes."""

    def change(shop: VerifiedShop, number: int) -> ItemKey:
        key = get_edge(number)
        shop.change(key, **values)
        return key

    return change


def remove_version(version: int) -> Damage:
    """A version of a memo is missing."""

    def remove(shop: VerifiedShop, number: int) -> ItemKey:
        key = build_version_key(get_base("Memo", f"m{number}"), "Memo", version)
        shop.table.delete(key)
        return key

    return remove


def remove_item_of_versions(shop: VerifiedShop, number: int) -> ItemKey:
    """Versions have neither an item nor the mark of a deletion."""
    base = get_base("Memo", f"m{number}")
    shop.table.delete(base)
    shop.deployment.deliver()
    return build_version_key(base, "Memo", 3)


def find_section(shop: VerifiedShop, number: int) -> ItemKey:
    """The key of the first section of a document."""
    partition = render_sections_partition(get_base("Document", f"d{number}"), "Document")
    items = shop.list_items("/Document")
    return next(get_key(item) for item in items if item["PK"]["S"] == partition)


def remove_section(shop: VerifiedShop, number: int) -> ItemKey:
    """A section is missing."""
    shop.table.delete(find_section(shop, number))
    return get_base("Document", f"d{number}")


def remove_document(shop: VerifiedShop, number: int) -> ItemKey:
    """Sections have no document."""
    shop.table.delete(get_base("Document", f"d{number}"))
    return find_section(shop, number)


def get_reservation(shop: VerifiedShop, number: int) -> ItemKey:
    """The key of the reservation of a customer's address."""
    items = shop.list_items("=Customer.email_is_unique")
    return next(get_key(each) for each in items if f"#{number}@example" in each["PK"]["S"])


def remove_reservation(shop: VerifiedShop, number: int) -> ItemKey:
    """The reservation of a value is missing."""
    key = get_reservation(shop, number)
    shop.table.delete(key)
    return key


def add_reservation(shop: VerifiedShop, number: int) -> ItemKey:
    """An orphaned reservation: its owner has another value."""
    key = get_reservation(shop, number)
    image = shop.table.get(key, consistent=True)
    left = ItemKey(key.pk.replace(f"#{number}@", f"#left{number}@"), "-")
    shop.table.put({**image, "PK": {"S": left.pk}}, condition="attribute_not_exists(PK)", values={})
    return left


REPAIRED: tuple[tuple[Kind, Damage], ...] = (
    (Kind.WRONG_EDGE, change_edge(GSI1PK={"S": "acme#Likes#elsewhere"})),
    (Kind.VERSION, remove_version(3)),
    (Kind.RESERVATION, remove_reservation),
    (Kind.RESERVATION, add_reservation),
)
"""What a repair can determine."""
DECIDED: tuple[tuple[Kind, Damage], ...] = (
    (Kind.WRONG_KEY, move_edge),
    (Kind.WRONG_ATTRIBUTES, change_edge(type=None)),
    (Kind.WRONG_ATTRIBUTES, change_edge(gen=None)),
    (Kind.WRONG_ATTRIBUTES, change_edge(version=None)),
    (Kind.VERSION, remove_version(2)),
    (Kind.VERSION, remove_item_of_versions),
    (Kind.SECTION, remove_section),
)
"""What somebody has to decide."""


# --- Tallies --------------------------------------------------------------------------------------


def name_states(group: str) -> str:
    """The tally of a state."""
    return f"acme#+Sale.by_state#1#{group}"


def name_most(group: str) -> str:
    """The tally of a customer, which has a place in a ranking."""
    return f"acme#+Sale.most#1#{group}"


def find_slot(shop: VerifiedShop, group: str) -> Image:
    """The first slot of the tally of a state."""
    return next(iter(reader.read_slots(shop.table, name_states(group))))


def find_total(shop: VerifiedShop, tally: str) -> Image:
    """The total of a tally."""
    total: Image = shop.table.get(total_items.build_total_key(tally), consistent=True)
    return total


def write_by_hand(shop: VerifiedShop, image: Image, **values: object) -> None:
    """Write an item of a tally, as somebody who knows its revision."""
    revision = attributes.to_value(slots.read_revision(image) + 1)
    item: dict[str, Any] = {**image, "rev": revision, **values}
    key = get_key(item)
    shop.table.delete(key)
    shop.table.put(item, condition="attribute_not_exists(PK)", values={})


def change_slot(shop: VerifiedShop, group: str) -> ItemKey:
    """A slot has another value."""
    write_by_hand(shop, find_slot(shop, group), items={"N": "40"})
    return total_items.build_total_key(name_states(group))


def remove_slot(shop: VerifiedShop, group: str) -> ItemKey:
    """A slot is missing."""
    shop.table.delete(get_key(find_slot(shop, group)))
    return total_items.build_total_key(name_states(group))


def repeat_slot(shop: VerifiedShop, group: str) -> ItemKey:
    """A slot is there twice."""
    copy = slots.build_slot_key(name_states(group), "shardId-other")
    write_by_hand(shop, find_slot(shop, group), SK={"S": copy.sk})
    return total_items.build_total_key(name_states(group))


def run_away(shop: VerifiedShop, group: str) -> ItemKey:
    """A slot has a number above all of the stream, so it refuses a sale."""
    slot = find_slot(shop, group)
    label, _, number = slot["seq"]["S"].partition("#")
    write_by_hand(shop, slot, seq={"S": f"{label}#{'9' * len(number)}"})
    shop.book.create(Sale(id=f"lost-{group}", customer="c1", state=group, amount=7))
    shop.deployment.catch_up()
    return get_key(slot)


def change_base(prefix: str) -> TallyDamage:
    """A base has another value: of live items, or of those that stay counted."""

    def change(shop: VerifiedShop, group: str) -> ItemKey:
        total = find_total(shop, name_states(group))
        changed = {f"{prefix}_items": {"N": "3"}, f"{prefix}_total": {"N": "2.5"}}
        write_by_hand(shop, total, **changed)
        return get_key(total)

    return change


def name_trips(place: str) -> str:
    """The tally of the trips to a place, which stay counted when they expire."""
    return f"acme#+Trip.ever#1#{place}"


def find_kept_slot(shop: VerifiedShop, place: str) -> Image:
    """The slot of the trips to a place that have expired."""
    items = reader.read_slots(shop.table, name_trips(place))
    return next(item for item in items if item["SK"]["S"].startswith("kept#"))


def change_kept_slot(shop: VerifiedShop, place: str) -> ItemKey:
    """A slot of expired items has another value."""
    write_by_hand(shop, find_kept_slot(shop, place), items={"N": "40"})
    return total_items.build_total_key(name_trips(place))


def remove_kept_slot(shop: VerifiedShop, place: str) -> ItemKey:
    """A slot of expired items is missing."""
    shop.table.delete(get_key(find_kept_slot(shop, place)))
    return total_items.build_total_key(name_trips(place))


def remove_kept_tally(shop: VerifiedShop, place: str) -> ItemKey:
    """Nothing is left of a tally of expired items."""
    for item in (find_kept_slot(shop, place), find_total(shop, name_trips(place))):
        shop.table.delete(get_key(item))
    return total_items.build_total_key(name_trips(place))


def change_total(shop: VerifiedShop, group: str) -> ItemKey:
    """A total is not the sum of its base and its slots."""
    total = find_total(shop, name_states(group))
    write_by_hand(shop, total, total={"N": "1000"})
    return get_key(total)


def invent_tally(shop: VerifiedShop, group: str) -> ItemKey:
    """A tally of a group without items."""
    tally = name_states(f"{group} nowhere")
    write_by_hand(shop, find_slot(shop, group), PK={"S": tally})
    return total_items.build_total_key(tally)


def change_ranking(**values: object) -> TallyDamage:
    """The place in a ranking is missing, or another one."""

    def change(shop: VerifiedShop, group: str) -> ItemKey:
        total = find_total(shop, name_most(group))
        kept = {name: value for name, value in total.items() if not name.startswith("GSI3")}
        write_by_hand(shop, kept, **values)
        return get_key(total)

    return change


def leave_ranking(shop: VerifiedShop, group: str) -> ItemKey:
    """A place in a ranking is left over."""
    total = find_total(shop, name_most(group))
    for sale in shop.list_items("Sale"):
        if sale["customer"]["S"] == group:
            shop.book.delete(Sale.key(sale["id"]["S"]))
    shop.deployment.catch_up()
    empty = find_total(shop, name_most(group))
    write_by_hand(shop, empty, GSI3PK=total["GSI3PK"], GSI3SK=total["GSI3SK"])
    return get_key(empty)


OF_SUMS: tuple[tuple[set[Kind], TallyDamage], ...] = (
    ({Kind.TALLY, Kind.TOTAL}, change_slot),
    ({Kind.TALLY, Kind.TOTAL}, remove_slot),
    ({Kind.TALLY, Kind.TOTAL}, repeat_slot),
    ({Kind.TALLY, Kind.SLOT_NUMBER}, run_away),
    ({Kind.TALLY, Kind.TOTAL}, change_base("base")),
    ({Kind.TALLY, Kind.TOTAL}, change_base("kept")),
    ({Kind.TOTAL}, change_total),
    ({Kind.TALLY_WITHOUT_ITEMS, Kind.TOTAL}, invent_tally),
)
"""Of the tally of a state. The kinds are those of a tally that nothing else changes."""
OF_KEPT: tuple[TallyDamage, ...] = (change_kept_slot, remove_kept_slot, remove_kept_tally)
"""Of the tally of a place, to which trips went that have expired."""
OF_RANKINGS: tuple[tuple[set[Kind], TallyDamage], ...] = (
    ({Kind.RANKING}, change_ranking()),
    ({Kind.RANKING}, change_ranking(GSI3PK={"S": "acme#Sale.most#1"}, GSI3SK={"S": "0#c1"})),
    ({Kind.RANKING}, leave_ranking),
)
"""Of the tally of a customer."""
