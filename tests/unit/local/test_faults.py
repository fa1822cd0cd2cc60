"""Faults on purpose: what fails, what has happened then, and where there are none."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping
from copy import copy
from typing import Any

import pytest

from daicho.errors import SettingsError, UnavailableError
from daicho.handlers.wiring.dependencies import Dependencies
from daicho.local.faults import Faults, parse_share
from tests.support.stream_pump import Context

CALLS = 2_000


class Died(BaseException):
    """Stands for the end of the process: nothing catches it."""


def end(_status: int) -> None:
    raise Died


class Store:
    """Counts what reaches it."""

    name = "store"

    def __init__(self) -> None:
        self.reached: list[int] = []

    def put(self, number: int) -> int:
        self.reached.append(number)
        return number


def stores(share: float, seed: int = 1) -> tuple[Faults, Store, Any]:
    """Faults, a store, and the same store as a faulty handler meets it."""
    faults, store = Faults(share, chance=random.Random(seed), end=end), Store()
    given: Any = store
    dependencies = faults.wrap_dependencies(Dependencies(table=lambda: given, bucket=lambda: given))
    return faults, store, dependencies.table()


def test_what_is_no_call_is_as_it_was() -> None:
    _, _, seen = stores(0.9)
    assert seen.name == "store"


def test_some_invocations_die_at_any_call_or_when_all_is_done() -> None:
    faults, store, seen = stores(0.3)
    ends: Counter[int] = Counter()

    def handler(_event: Mapping[str, Any], _context: Any) -> dict[str, Any]:
        store.reached.clear()
        for number in range(10):
            try:
                seen.put(number)
            except UnavailableError:
                continue
        return {"state": {}}

    mortal = faults.end_at_random(handler)
    for _ in range(CALLS):
        try:
            assert mortal({}, Context()) == {"state": {}}
        except Died:
            ends[len(store.reached)] += 1
    assert 0.2 < ends.total() / CALLS < 0.4
    assert ends[0] > 0  # before anything was written
    assert sum(ends[number] for number in range(1, 6)) > 0


@pytest.mark.parametrize("share", ["0", "1", "-0.5", "nan", "some"])
def test_a_share_of_faults_is_between_0_and_1(share: str) -> None:
    with pytest.raises(SettingsError, match="FAULTS is"):
        parse_share({"FAULTS": share})


def test_nothing_fails_without_the_variable() -> None:
    assert (parse_share({}), parse_share({"FAULTS": "0.2"})) == (0, 0.2)


def test_a_copy_of_a_faulty_store_reaches_the_same_store() -> None:
    _, store, seen = stores(0.0)
    assert copy(seen).put(7) == 7
    assert store.reached == [7]
