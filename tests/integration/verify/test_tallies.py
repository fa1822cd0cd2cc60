"""Verification of tallies: damage is found while writes continue, and repaired once."""

from __future__ import annotations

import json
from itertools import count

import pytest

from daicho.derive.contributions import Amount
from daicho.storage.attributes import Image
from daicho.storage.protocols import apply_update
from daicho.stream.claims import Claim, put_claim_update
from daicho.stream.journal import NO_RUN, RUN_KEY, parse_amount
from daicho.stream.recount_list import build_recount_mark, list_recounts
from daicho.tally import reader
from daicho.verify.findings import Kind
from daicho.verify.tally_pages import TallyPage, TallyPages, render_tally_prefix
from daicho.verify.tally_repair import build_marker_key
from tests.support.inflicted_damage import (
    OF_RANKINGS,
    OF_SUMS,
    TallyDamage,
    change_base,
    change_slot,
    find_slot,
    name_most,
    name_states,
)
from tests.support.verified_shop import Sale, VerifiedShop

STATES, MOST = name_states("open"), name_most("c1")


@pytest.fixture
def shop() -> VerifiedShop:
    shop = VerifiedShop()
    shop.fill()
    shop.deployment.roll_up()
    return shop


KINDS = (
    *((kinds, damage, "open") for kinds, damage in OF_SUMS),
    *((kinds, damage, "c1") for kinds, damage in OF_RANKINGS),
)


@pytest.mark.parametrize(("kinds", "damage", "group"), KINDS)
def test_damage_is_found_and_repaired_once_while_writes_continue(
    shop: VerifiedShop, kinds: set[Kind], damage: TallyDamage, group: str
) -> None:
    tally = damage(shop, group).pk
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
    change_slot(shop, "open")
    job = shop.request(repair=True)
    while shop.kill_step(job, after):
        after += 1
    while not shop.step(job).done:
        shop.deployment.clock.advance(10)
    shop.deployment.catch_up()
    check_sums(shop)
    assert shop.verify().outcome == "clean"


def test_a_sample_compares_totals_and_judges_no_sum(shop: VerifiedShop) -> None:
    change_slot(shop, "open")
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
    change_base("base")(shop, "open")
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
    change_slot(shop, "open")
    before = find_slot(shop, "open")["items"]
    job = shop.verify(repair=True)
    marker = shop.table.get(build_marker_key(job.id, STATES), consistent=True)
    assert (before, marker["tally"]) == ({"N": "40"}, {"S": STATES})
    assert parse_amount(json.loads(marker["live"]["S"])) == Amount(40 - 6)


def test_sums_that_nobody_judged_are_not_clean(
    shop: VerifiedShop, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An item cannot be read while the table is scanned, and can be when it is checked again."""
    read, broken = TallyPages._read_item, ["Sale"]

    def read_later(
        pages: TallyPages, image: Image, tenant: str, entity: str, result: TallyPage
    ) -> None:
        if entity in broken:
            broken.remove(entity)
            result.unreadable.add(render_tally_prefix(tenant, entity))
        else:
            read(pages, image, tenant, entity, result)

    monkeypatch.setattr(TallyPages, "_read_item", read_later)
    job = shop.verify(repair=True)
    assert shop.list_kinds(job) == [(str(Kind.SUMS), render_tally_prefix("acme", "Sale"))]
    assert job.outcome == "undecided"
    assert shop.verify().outcome == "clean"
