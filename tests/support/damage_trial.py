"""The trial of damage: every kind is inflicted at once on a table that is written all the time.

Everything is in memory, and its clock is simulated. The handlers, the stream and the steps of the
verification are those of the stack.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from daicho.storage.attributes import ItemKey
from daicho.stream.claims import Claim, render_payload_name
from daicho.stream.shard_items import put_claim
from daicho.verify.findings import Finding, Kind
from tests.support.all_damage import Place, find_place, inflict
from tests.support.busy_shop import BusyShop

CLEAN_RATE = 20


@dataclass
class DamageResult:
    """One trial.

    ``missed``: places where a finding had to be. ``unexpected``: findings at other places.
    ``repaired``, ``decided``: findings of the repair that are corrected, or are left to people.
    ``writes``: while verifications ran. ``again``: the outcome once people have decided.
    """

    inflicted: int = 0
    missed: list[Place] = field(default_factory=list)
    unexpected: list[Place] = field(default_factory=list)
    repaired: int = 0
    decided: int = 0
    writes: int = 0
    again: str = ""


def run_damage_trial(rate: int = 200) -> DamageResult:
    """Inflict all kinds, find them, repair them, decide the rest, and verify once more."""
    shop, result = BusyShop(rate=rate), DamageResult()
    inflicted = inflict(shop)
    result.inflicted = len(inflicted.required)
    findings: list[Finding] = []
    for repair in (False, True):
        _, findings = shop.run(repair=repair)
        found = {find_place(each.kind, each.key) for each in findings}
        result.missed += sorted(inflicted.required - found)
        result.unexpected += sorted(found - inflicted.required - inflicted.possible)
    result.repaired = sum(each.repaired for each in findings)
    result.decided = sum(bool(each.decision) and not each.repaired for each in findings)
    for undo in inflicted.undo:
        undo()
    shop.deployment.sweep()
    job, _ = shop.run()
    result.again, result.writes = str(job.outcome), shop.writes
    # A claim leaves the sums of its entity undecided, so it is the last kind.
    shop.has_claims, shard = True, "shardId-closed"
    claim = Claim(f"label#{'1'.zfill(40)}", "open", "Sale", 1, shop.deployment.clock.now())
    put_claim(shop.table, shard, claim)
    name = render_payload_name(shard, claim.seq)
    payload = [each.kind for each in shop.run()[1] if each.key.sk == name]
    result.inflicted += 1
    result.missed += [] if payload == [Kind.PAYLOAD] else [(Kind.PAYLOAD, ItemKey(shard, name))]
    return result


def run_clean_trial(runs: int = 20) -> list[Finding]:
    """Verify while shards are split and records were redriven; returns what was found."""
    found: list[Finding] = []
    for seed in range(runs):
        shop = BusyShop(rate=CLEAN_RATE, splits=True, seed=seed)
        shop.fill()
        for _ in range(2):
            shop.set_aside_and_redrive()
            found += shop.run()[1]
    return found
