"""Records that the projector refuses on purpose, at stage local: a demonstration of quarantine.

An operator turns the switch on (`daicho.operations.poison_switch`). The records of one entity are
then poison, as if the code could not compute them, until it is turned off. The redrive applies them
at any time: only the projector refuses them. At other stages nothing is wrapped and nothing read.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import Any, cast

from daicho.handlers.wiring.dependencies import AWS_DEPENDENCIES, Dependencies
from daicho.handlers.wiring.invocation import Context, Handler
from daicho.plan import Ledger
from daicho.runtime.settings import Settings

_log = logging.getLogger(__name__)


def with_poison_switch(build: Callable[..., Handler]) -> Callable[..., Handler]:
    """The same way to build a handler; at stage local the handler reads the switch."""

    def build_with_switch(
        environ: Mapping[str, str],
        ledger: Ledger | None = None,
        dependencies: Dependencies = AWS_DEPENDENCIES,
    ) -> Handler:
        settings = Settings.parse(environ)
        if settings.stage != "local":
            return build(environ, ledger, dependencies)
        poisoned = PoisonedLedger(ledger or Ledger.load_newest(settings.lock_file))
        handler = build(environ, cast("Ledger", poisoned), dependencies)
        return _read_switch_first(handler, poisoned, dependencies, settings.table_name)

    return build_with_switch


class PoisonedLedger:
    """A ledger that has no plan for the images of one entity; ``entity`` None: it has all."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self.entity: str | None = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self._ledger, name)

    def find_enabled_plan(self, entity: str, generation: int) -> Any:
        """See `Ledger.find_enabled_plan`.

        Raises:
            PoisonOnPurposeError: the entity is poisoned.
        """
        if entity == self.entity:
            from daicho.operations.poison_switch import PoisonOnPurposeError  # noqa: PLC0415

            raise PoisonOnPurposeError(
                f"{entity}: refused on purpose; turn the demonstration off, then redrive"
            )
        return self._ledger.find_enabled_plan(entity, generation)


def _read_switch_first(
    handler: Handler, poisoned: PoisonedLedger, dependencies: Dependencies, table: str
) -> Handler:
    from daicho.operations.poison_switch import find_poisoned_entity  # noqa: PLC0415

    store = dependencies.table(table)

    def wrapped(event: Mapping[str, Any], context: Context) -> dict[str, Any]:
        poisoned.entity = find_poisoned_entity(store)
        if poisoned.entity:
            _log.warning("records of %s are refused on purpose", poisoned.entity)
        return handler(event, context)

    return wrapped
