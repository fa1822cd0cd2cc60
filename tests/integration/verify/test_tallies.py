"""Verification of tallies: damage is found while writes continue, and repaired once."""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import count
from typing import Any

import pytest

from daicho.derive.contributions import Amount
from daicho.storage import attributes
from daicho.storage.attributes import Image
from daicho.storage.item_key import get_key
from daicho.storage.protocols import apply_update
from daicho.stream.claims import Claim, put_claim_update
from daicho.stream.journal import NO_RUN, RUN_KEY, parse_amount
from daicho.stream.recount_list import build_recount_mark, list_recounts
from daicho.tally import reader, slots, total_items
from daicho.verify.findings import Kind
from daicho.verify.tally_repair import build_marker_key
from tests.support.verified_shop import Sale, VerifiedShop

STATES, MOST = "acme#+Sale.by_state#1#open", "acme#+Sale.most#1#c1"
Damage = Callable[[VerifiedShop], str]


@pytest.fixture
def shop() -> VerifiedShop:
    shop = VerifiedShop()
    shop.fill()
    shop.deployment.roll_up()
    return shop


def find_slot(shop: VerifiedShop, tally: str = STATES) -> Image:
    """The slot of a tally, which has one."""
    (slot,) = reader.read_slots(shop.table, tally)
    return slot


def write(shop: VerifiedShop, image: Image, **values: object) -> None:
    """Write an item by hand."""
    revision = attributes.to_value(slots.read_revision(image) + 1)
    item: dict[str, Any] = {**image, "rev": revision, **values}
    key = get_key(item)
    shop.table.delete(key)
    shop.table.put(item, condition="attribute_not_exists(PK)", values={})


def change_slot(shop: VerifiedShop) -> str:
    write(shop, find_slot(shop), items={"N": "40"})
    return STATES


def remove_slot(shop: VerifiedShop) -> str:
    shop.table.delete(get_key(find_slot(shop)))
    return STATES


def repeat_slot(shop: VerifiedShop) -> str:
    copy = slots.build_slot_key(STATES, "shardId-other")
    write(shop, find_slot(shop), SK={"S": copy.sk})
    return STATES


def run_away(shop: VerifiedShop) -> str:
    slot = find_slot(shop)
    label, _, number = slot["seq"]["S"].partition("#")
    write(shop, slot, seq={"S": f"{label}#{'9' * len(number)}"})
    shop.book.create(Sale(id="lost", customer="c1", amount=7))
    shop.deployment.catch_up()
    return STATES


def change_base(prefix: str) -> Damage:
    def change(shop: VerifiedShop) -> str:
        total = shop.table.get(total_items.build_total_key(STATES), consistent=True)
        write(shop, total, **{f"{prefix}_items": {"N": "3"}, f"{prefix}_total": {"N": "2.5"}})
        return STATES

    return change


def change_total(shop: VerifiedShop) -> str:
    total = shop.table.get(total_items.build_total_key(STATES), consistent=True)
    write(shop, total, total={"N": "1000"})
    return STATES


def invent_tally(shop: VerifiedShop) -> str:
    tally = "acme#+Sale.by_state#1#nowhere"
    write(shop, find_slot(shop), PK={"S": tally})
    return tally


def change_ranking(**values: object) -> Damage:
    def change(shop: VerifiedShop) -> str:
        total = shop.table.get(total_items.build_total_key(MOST), consistent=True)
        kept = {name: value for name, value in total.items() if not name.startswith("GSI3")}
        write(shop, kept, **values)
        return MOST

    return change


def leave_ranking(shop: VerifiedShop) -> str:
    total = shop.table.get(total_items.build_total_key(MOST), consistent=True)
    for number in (1, 3, 5):
        shop.book.delete(Sale.key(f"s{number}"))
    shop.deployment.catch_up()
    empty = shop.table.get(total_items.build_total_key(MOST), consistent=True)
    write(shop, empty, GSI3PK=total["GSI3PK"], GSI3SK=total["GSI3SK"])
    return MOST


KINDS: tuple[tuple[set[Kind], Damage], ...] = (
    ({Kind.TALLY, Kind.TOTAL}, change_slot),
    ({Kind.TALLY, Kind.TOTAL}, remove_slot),
    ({Kind.TALLY, Kind.TOTAL}, repeat_slot),
    ({Kind.TALLY, Kind.SLOT_NUMBER}, run_away),
    ({Kind.TALLY, Kind.TOTAL}, change_base("base")),
    ({Kind.TALLY, Kind.TOTAL}, change_base("kept")),
    ({Kind.TOTAL}, change_total),
    ({Kind.TALLY_WITHOUT_ITEMS, Kind.TOTAL}, invent_tally),
    ({Kind.RANKING}, change_ranking()),
    (
        {Kind.RANKING},
        change_ranking(GSI3PK={"S": "acme#Sale.most#1"}, GSI3SK={"S": "0#c1"}),
    ),
    ({Kind.RANKING}, leave_ranking),
)


@pytest.mark.parametrize(("kinds", "damage"), KINDS)
def test_damage_is_found_and_repaired_once_while_writes_continue(
    shop: VerifiedShop, kinds: set[Kind], damage: Damage
) -> None:
    tally = damage(shop)
    numbers = count()

    def sell() -> None:
        number = next(numbers)
        shop.book.create(Sale(id=f"new{number}", customer="c0", state="sold", amount=2))
        shop.book.delete(Sale.key(f"new{number}"))

    shop.between = sell
    found = shop.verify()
    assert {each.kind for each in shop.list_findings(found)} == kinds
    assert {each.key.pk for each in shop.list_findings(found)} == {tally}
    repaired = shop.verify(repair=True)
    assert repaired.outcome == "repaired"
    assert next(numbers) > 3
    shop.deployment.catch_up()
    again = shop.verify(repair=True)
    assert (again.outcome, shop.list_findings(again)) == ("clean", [])
    check_sums(shop)


def check_sums(shop: VerifiedShop) -> None:
    """All figures are those of the sales."""
    sales = shop.list_items("Sale")
    amounts = [int(item["amount"]["N"]) for item in sales if item["state"]["S"] == "open"]
    for read in (reader.read_live_amount, reader.read_rolled_up_amount):
        amount = read(shop.table, STATES)
        assert (amount.items, int(amount.total)) == (len(amounts), sum(amounts))
    of_customer = [item for item in sales if item["customer"]["S"] == "c1"]
    assert reader.read_rolled_up_amount(shop.table, MOST).items == len(of_customer)


def test_nothing_is_reported_of_a_shop_in_which_everything_changes(shop: VerifiedShop) -> None:
    numbers = count()

    def change() -> None:
        number = next(numbers)
        shop.book.create(Sale(id=f"n{number}", customer=f"c{number % 3}", amount=number))
        if number > 2:
            shop.book.change(Sale.key(f"n{number - 2}"), {"state": "sold", "amount": 5})
            shop.book.delete(Sale.key(f"n{number - 3}"))

    shop.between = change
    job = shop.verify()
    assert (job.outcome, shop.list_findings(job)) == ("clean", [])
    assert next(numbers) > 1


@pytest.mark.parametrize("after", range(0, 12, 2))
def test_a_repair_that_is_killed_and_repeated_corrects_once(shop: VerifiedShop, after: int) -> None:
    change_slot(shop)
    job = shop.request(repair=True)
    while shop.kill_step(job, after):
        after += 1
    while not shop.step(job).done:
        shop.deployment.clock.advance(10)
    shop.deployment.catch_up()
    check_sums(shop)
    assert shop.verify().outcome == "clean"


def test_a_sample_compares_totals_and_judges_no_sum(shop: VerifiedShop) -> None:
    change_slot(shop)
    for _ in range(20):
        job = shop.verify(sample=0.5)
        assert {each.kind for each in shop.list_findings(job)} <= {Kind.TOTAL}
        if job.outcome == "damage":
            break
        shop.deployment.clock.advance(60)
    else:
        pytest.fail("no sample found it")
    # No batch wrote a journal for it.
    assert shop.table.get(RUN_KEY, consistent=True) is None


def test_an_open_claim_leaves_the_sums_undecided(shop: VerifiedShop) -> None:
    change_base("base")(shop)
    shop.has_claims = True
    (shard,) = shop.deployment._stream.shards
    now = shop.deployment.clock.now()
    claim = Claim("2999-01-01#" + "1".zfill(40), "open", "Sale", 1, now)
    apply_update(shop.table, put_claim_update(shard, claim))
    job = shop.verify(repair=True)
    undecided = {each.kind for each in shop.list_findings(job) if each.verdict == "undecided"}
    assert Kind.SUMS in undecided
    assert Kind.TALLY not in {each.kind for each in shop.list_findings(job)}
    flag = shop.table.get(RUN_KEY, consistent=True)
    assert flag["journal"] == {"S": NO_RUN}


def test_a_recounted_tally_leaves_the_list(shop: VerifiedShop) -> None:
    now = shop.deployment.clock.now()
    apply_update(shop.table, build_recount_mark(STATES, "2026#1", None, now))
    shop.deployment.clock.advance(1)
    shop.verify()
    assert [each.tally for each in list_recounts(shop.table)] == [STATES]
    shop.verify(repair=True)
    assert not list(list_recounts(shop.table))


def test_a_correction_names_what_it_took_back(shop: VerifiedShop) -> None:
    change_slot(shop)
    before = find_slot(shop)["items"]
    job = shop.verify(repair=True)
    marker = shop.table.get(build_marker_key(job.id, STATES), consistent=True)
    assert (before, marker["tally"]) == ({"N": "40"}, {"S": STATES})
    assert parse_amount(json.loads(marker["live"]["S"])) == Amount(40 - 6)
