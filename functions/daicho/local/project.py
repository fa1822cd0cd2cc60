"""Lambda `project` of stage local: it refuses records and fails, if that is requested."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import cast

from daicho.handlers import project as library
from daicho.handlers.wiring.dependencies import AWS_DEPENDENCIES, Dependencies
from daicho.handlers.wiring.invocation import Handler
from daicho.local.faults import Faults, parse_share
from daicho.local.poison import PoisonedLedger, read_switch_first
from daicho.local.wrapping import load_handler
from daicho.plan import Ledger
from daicho.runtime.settings import Settings
from daicho.runtime.start_up import build_on_access


def build(
    environ: Mapping[str, str],
    ledger: Ledger | None = None,
    dependencies: Dependencies = AWS_DEPENDENCIES,
) -> Handler:
    """Build the library's handler over a ledger and stores that fail on request.

    Raises:
        SettingsError: ``FAULTS`` is no share.
    """
    settings = Settings.parse(environ)
    poisoned = PoisonedLedger(ledger or Ledger.load_newest(settings.lock_file))
    faults = Faults(share) if (share := parse_share(environ)) else None
    stores = faults.wrap_dependencies(dependencies) if faults else dependencies
    handler = library.build(environ, cast("Ledger", poisoned), stores)
    handler = read_switch_first(handler, poisoned, stores.table(settings.table_name))
    return faults.end_at_random(handler) if faults else handler


__getattr__ = build_on_access(__name__, partial(load_handler, library, build))
