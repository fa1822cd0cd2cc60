"""The releases of a project: what the code of each one declares, and the ledger that it has."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from daicho.errors import DeclarationError
from daicho.layout.backfill_state import BackfillState
from daicho.plan import EntityPlan, Ledger, check_locked
from daicho.testing.faults.code_versions import FIXED_CODE, FIXED_RELEASES, NEW_CODE, OLD_CODE
from daicho.testing.simulated_entities import SimulatedEntities, ValueSource

_FIRST_VERSION = 10
"""Versions of the simulated code from here on are those of stream consumers with one ledger."""


@dataclass(frozen=True)
class CodeHistory:
    """Releases, oldest first; they are numbered from 1.

    ``declared``: what the code of each release declares, not numbered. ``ledgers``: the ledger of
    each release, which has one generation more of each entity that changed.
    """

    declared: Sequence[Sequence[EntityPlan]]
    ledgers: Sequence[Ledger]
    _built: dict[tuple[int, int], Ledger | None] = field(default_factory=dict)

    @property
    def newest(self) -> int:
        """The number of the newest release."""
        return len(self.ledgers)

    def get_ledger(self, number: int) -> Ledger:
        """The ledger of a release."""
        return self.ledgers[number - 1]

    def build_ledger(self, code: int, number: int) -> Ledger | None:
        """The ledger of release ``number``, as the code of release ``code`` loads it.

        None if that code refuses it: a later release ended something that the code declares.
        """
        if (code, number) not in self._built:
            try:
                ledger = check_locked(self.declared[code - 1], self.get_ledger(number))
            except DeclarationError:
                ledger = None
            self._built[code, number] = ledger
        return self._built[code, number]

    def find_recorded(self, states: Mapping[str, BackfillState]) -> int:
        """The first release whose ledger has every generation that backfill items record."""
        for number, ledger in enumerate(self.ledgers, 1):
            if all(
                entity in ledger.entities
                and ledger.newest_generation(entity).number >= state.newest
                for entity, state in states.items()
            ):
                return number
        return self.newest


def get_code_version(number: int) -> int:
    """The version of the simulated code of stream consumers that have the ledger of a release."""
    return _FIRST_VERSION + number


def get_fixed_version(number: int) -> int:
    """The same, after everything is fixed that these could not process."""
    return FIXED_RELEASES + number


def simulate_history(
    history: CodeHistory, draw_values: Callable[[EntityPlan, ValueSource], dict[str, Any]]
) -> SimulatedEntities:
    """The entities of a history. The oracle, and the code at the end, have the newest ledger."""
    newest = history.ledgers[-1]
    by_release = {
        get_code_version(number): ledger for number, ledger in enumerate(history.ledgers, 1)
    }
    fixed = {get_fixed_version(number): ledger for number, ledger in enumerate(history.ledgers, 1)}
    common = {OLD_CODE: history.ledgers[0], NEW_CODE: newest, FIXED_CODE: newest}
    return SimulatedEntities({**common, **by_release, **fixed}, draw_values)
