"""A record that ends the process is cut out of its batch, and a redrive applies it (rule 16)."""

from __future__ import annotations

import math
from collections import Counter

import pytest

from daicho.storage import item_key
from tests.delivery.actors import Actor, Crash, Weather
from tests.delivery.aws.mapping import Failed, Returned
from tests.delivery.code import FIRST, FIXED, KILLER, MARK, Readings, versions
from tests.delivery.oracle.recounts import admissible, listed
from tests.delivery.oracle.verdict import differences
from tests.delivery.oracle.world import World
from tests.delivery.schedules.choices import Choices
from tests.delivery.site import Site
from tests.support.sample_ledger import build_image

RETRIES = 3
MANY = 1000


@pytest.fixture(autouse=True)
def quiet(capsys: pytest.CaptureFixture[str]) -> None:
    """What handlers write for CloudWatch is of no concern here."""


def site_with(killers: set[int], count: int) -> tuple[Site, World]:
    """Orders, of which some cannot even be looked at."""
    choices = Choices()
    site = Site(choices, Counter(), retries=RETRIES)
    site.calm()
    world = World(site.table, site.clock, choices, entities=("Order",), actions=("put",))
    for place in range(count):
        values = {"customer": "c", "id": f"{place:03}", "rank": 1, "status": "open"}
        if place in killers:
            values[MARK] = f"{KILLER}:{place}"
        item = build_image("Order", values)
        site.table.commit(item_key.get_key(item), item)
    return site, world


def run(site: Site, name: str, event: object, version: int) -> Actor:
    """Run a handler to its end, or its death."""
    actor = Actor(
        name,
        lambda actor: site.run(name, event, actor),  # type: ignore[arg-type]
        version=version,
        seconds=1e6,
        choices=Choices(),
        weather=Weather(),
        used=Counter(),
    )
    while not actor.finished:
        actor.step()
    return actor


def project(site: Site) -> list[tuple[int, ...]]:
    """Deliver all; gives the batches that died."""
    mapping, dead = site.mappings["project"], []
    while not mapping.at_end():
        (shard,) = mapping.ready()
        invocation = mapping.poll(shard)
        assert invocation is not None
        actor = run(site, "project", invocation.event, FIRST)
        if isinstance(actor.failure, Crash):
            dead.append(invocation.taken)
            mapping.settle(invocation, Failed("exit"))
        else:
            assert actor.failure is None
            mapping.settle(invocation, Returned(actor.outcome))
    return dead


@pytest.mark.parametrize("count", [2, 3, 7, 8, 33, 100])
@pytest.mark.parametrize("where", ["first", "middle", "last"])
def test_it_is_bisected_out_in_few_rounds(count: int, where: str) -> None:
    killer = {"first": 0, "middle": count // 2, "last": count - 1}[where]
    site, world = site_with({killer}, count)
    readings = Readings()
    with versions(readings, MANY):
        dead = project(site)
        rounds = [batch for batch in dead if len(batch) > 1]
        assert len(rounds) <= math.ceil(math.log2(count)) + 1
        assert dead[len(rounds) :] == [(killer,)] * (1 + RETRIES)
        assert len(site.laid_down) == 1
        assert len(differences(site, world)) > 0
        report = run(site, "redrive", {"action": "apply"}, FIXED).outcome
        run(site, "rollup", {}, FIXED)
    assert (report["applied"], report["claims"], report["discarded"]) == (1, [], [])
    recount = listed(site)
    assert recount <= admissible(site, readings, site.clock.now().timestamp())
    assert bool(recount) == (killer < count - 1), "its slot went past it, unless it is the last"
    assert differences(site, world, recount) == []


def test_several_of_them_are_each_cut_out() -> None:
    killers = {1, 2, 17, 30}
    site, world = site_with(killers, 31)
    with versions(Readings(), MANY):
        dead = project(site)
        assert {batch for batch in dead if len(batch) == 1} == {(each,) for each in killers}
        run(site, "redrive", {"action": "apply"}, FIXED)
        run(site, "rollup", {}, FIXED)
    assert differences(site, world, listed(site)) == []
