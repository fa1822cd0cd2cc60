"""Domains served over a table in memory, by the real API and the real functions."""

from __future__ import annotations

from dataclasses import dataclass
from types import ModuleType
from typing import Any

from daicho import Domain
from daicho.declare.registry import Daicho
from daicho.handlers import api
from daicho.handlers.wiring.dependencies import Dependencies
from daicho.plan import Ledger
from daicho.query.access import Access
from daicho.runtime.clock import utc_now
from daicho.storage.bucket import Bucket
from daicho.testing import MemoryDeployment
from daicho.web.api import Api
from tests.support.api_client import Client
from tests.support.memory_stores import MemoryTable, SigningS3
from tests.support.stream_pump import environment


@dataclass
class MemoryServed:
    """A deployment in memory, and a client of its API."""

    daicho: Daicho
    deployment: MemoryDeployment
    client: Client


def serve_in_memory(*domains: Domain) -> MemoryServed:
    """Serve domains over an empty table."""
    daicho = Daicho(*domains)
    deployment = MemoryDeployment(daicho.append_generations(Ledger()))
    deployment._buckets["objects"] = SigningS3(deployment.clock.now)

    def open_book(access: Access) -> Any:
        return deployment.open_book(access.tenant, access)

    return MemoryServed(daicho, deployment, Client(Api(daicho, open_book), "acme"))


def serve_handler_in_memory(package: ModuleType, daicho: Daicho) -> Client:
    """A client of the function of the API, over an empty table in memory.

    ``package``: that of the domain files; ``daicho``: what they declare.
    """
    objects: Any = SigningS3(utc_now)
    table, bucket = MemoryTable(), Bucket(objects, "objects")
    settings = environment("daicho", DOMAIN_PACKAGE=package.__name__, STAGE="local")
    dependencies = Dependencies(
        table=lambda *_, **__: table,
        bucket=lambda *_, **__: bucket,
        sleep=lambda _: None,
        parallelism=1,
    )
    ledger = daicho.append_generations(Ledger())
    return Client(api.build(settings, ledger, dependencies), "acme")
