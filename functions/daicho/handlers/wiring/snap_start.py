"""Lambda SnapStart: what the API does before its memory is stored, and after it was restored.

Lambda initialises a published version once, and stores its memory. Each execution environment
begins with a copy: with the same state of `random`, the credentials of the initialisation, and a
monotonic clock that did not count the time between.
Sources: AWS Lambda Developer Guide, "Handling uniqueness with Lambda SnapStart" and "Lambda
SnapStart runtime hooks for Python".
"""

from __future__ import annotations

import gc
import logging
import os
import random
from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING

from daicho.errors import UnavailableError
from daicho.layout.backfill_state import RECORDED_KEY
from daicho.runtime.start_up import pause_garbage_collection
from daicho.storage.sessions import close_connections, replace_credentials

if TYPE_CHECKING:
    from daicho.handlers.wiring.lazy_api import ApiOnFirstRequest
    from daicho.release.older_writers import OlderWriters
    from daicho.storage.table import Table

INITIALIZATION_TYPE = "AWS_LAMBDA_INITIALIZATION_TYPE"
SNAP_START = "snap-start"
HOOKS = "snapshot_restore_py"
"""The package that registers hooks: a part of Lambda's Python runtimes, and of no layer."""
_log = logging.getLogger(__name__)


class SnapshotHooks:
    """The two hooks of the API.

    What needs none: ids and `secrets` come from the operating system, which Lambda seeds again;
    caches of items and of backfill states take their ages from the wall clock; clients that are
    opened on first use take the credentials that all clients share.
    """

    def __init__(self, api: ApiOnFirstRequest, table: Table, older: OlderWriters) -> None:
        self._api, self._table, self._older = api, table, older

    def prepare(self) -> None:
        """Before a snapshot: do the work of the first request, and close all connections."""
        with pause_garbage_collection():
            self._api.build()
            self._read_once()
            gc.freeze()
        close_connections()

    def restore(self) -> None:
        """After a snapshot was restored: replace what the copies of it have in common.

        Raises:
            botocore.exceptions.CredentialRetrievalError: Lambda then starts another environment.
        """
        random.seed()
        replace_credentials()
        self._older.expire()

    def _read_once(self) -> None:
        """Send a request: with the first one, botocore and the direct client learn the endpoint."""
        try:
            self._table.get(RECORDED_KEY)
        except UnavailableError as error:
            _log.warning("the snapshot is taken without a request of the table: %s", error)


def add_snapshot_hooks(
    api: ApiOnFirstRequest,
    table: Table,
    older: OlderWriters,
    environ: Mapping[str, str] = os.environ,
) -> ApiOnFirstRequest:
    """Register the hooks if this is the initialisation of a snapshot; returns ``api``."""
    if environ.get(INITIALIZATION_TYPE) == SNAP_START:
        registry = import_module(HOOKS)
        hooks = SnapshotHooks(api, table, older)
        registry.register_before_snapshot(hooks.prepare)
        registry.register_after_restore(hooks.restore)
    return api
