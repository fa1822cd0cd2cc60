"""Totals that are rolled up at once, under the faults that those of the schedule meet."""

from __future__ import annotations

from dataclasses import replace

import pytest

from daicho.plan import Ledger
from daicho.testing.choices import Choices
from tests.delivery.sample_values import SAMPLE_ENTITIES
from tests.delivery.worlds.tallies import SHARDS, Tallies

SEEDS = range(1, 101)


def roll_up_at_once(ledger: Ledger) -> Ledger:
    """A ledger in which every count of downloads is rolled up at once."""
    generations = tuple(
        replace(
            each,
            plan=replace(
                each.plan,
                aggregates=tuple(replace(a, rolled_up="at once") for a in each.plan.aggregates),
            ),
        )
        for each in ledger.entities["Download"]
    )
    return Ledger({**ledger.entities, "Download": generations})


class TalliesAtOnce(Tallies):
    """At the end, before the scheduled rollup, one more is counted and nothing is in its way."""

    entities = replace(
        SAMPLE_ENTITIES,
        ledgers={
            version: roll_up_at_once(ledger) for version, ledger in SAMPLE_ENTITIES.ledgers.items()
        },
    )

    def _play(self) -> None:
        super()._play()
        self.early = self._find_differences()
        self._lambda.seconds = (300,)
        self._count(SHARDS[0])
        self._finish()
        self.early += [
            each for each in self._find_differences() if not each.startswith("still dirty")
        ]
        self._lambda.run_to_end("rollup", {})


def test_totals_are_what_was_counted_at_once_and_after_the_schedule(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(
        "daicho.tally.immediate_rollup.MAX_SECONDS", 60
    )  # each operation takes one here
    for seed in SEEDS:
        tallies = TalliesAtOnce(Choices(f"at once/{seed}"))
        assert tallies.run() == [], f"seed {seed}"
        assert tallies.early == [], f"seed {seed}"
