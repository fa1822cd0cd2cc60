"""Lambda `api`: answers HTTP requests."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from importlib import import_module

from daicho.runtime.start_up import build_on_access, pause_garbage_collection

with pause_garbage_collection():
    from daicho.declare.registry import Daicho
    from daicho.handlers.wiring.books import Books
    from daicho.handlers.wiring.dependencies import AWS_DEPENDENCIES, Dependencies
    from daicho.handlers.wiring.http_functions import build_on_first_request, with_telemetry
    from daicho.handlers.wiring.invocation import Handler
    from daicho.plan import Ledger
    from daicho.release.older_writers import OlderWriters
    from daicho.runtime.settings import Settings
    from daicho.storage.item_cache import ItemCache
    from daicho.tenants.archive_source import ArchiveSource
    from daicho.tenants.lifecycle import Tenants
    from daicho.tenants.quotas import Quotas, run_aside, run_inline


def build(
    environ: Mapping[str, str],
    ledger: Ledger | None = None,
    dependencies: Dependencies = AWS_DEPENDENCIES,
) -> Handler:
    """Wire the function up."""
    settings = Settings.parse(environ, "DIRTY_SHARDS", "JOB_MACHINE", "OBJECT_BUCKET")
    table = dependencies.table(settings.table_name)
    once = dependencies.table(settings.table_name, attempts=1)
    daicho = Daicho.discover(import_module(settings.domain_package), settings.migration_package)
    ledger = daicho.check_locked(ledger or Ledger.load_newest(settings.lock_file))
    table = OlderWriters(table, ledger, dependencies.sleep).announce_writes(table)
    item_cache, limits = ItemCache(dependencies.now), settings.tenant_limits
    entities = daicho.entities
    books = Books(settings, table, once, ledger, item_cache, dependencies, entities)
    start = run_inline if dependencies.parallelism == 1 else run_aside
    count = books.count_items
    quotas = Quotas(once, limits, dependencies.time, start, count) if limits else None
    machine = dependencies.machine(settings.job_machine)
    tenants = Tenants(table, item_cache, machine, dependencies.now, quotas)
    archive = ArchiveSource.find(ledger, dependencies.bucket, settings.archive_bucket)

    def build_api() -> Handler:
        from daicho.web.api import Api  # noqa: PLC0415  # it loads the routes

        api = partial(Api, daicho, books.open, **settings.list_api_options())
        return api(title=ledger.project or "Daicho", tenants=tenants, archive=archive)

    return with_telemetry(build_on_first_request(build_api), traced=settings.stage != "local")


__getattr__ = build_on_access(__name__, build)
