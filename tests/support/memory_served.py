"""Domains served over a table in memory, by the real API and the real functions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from daicho import Domain
from daicho.declare.registry import Daicho
from daicho.plan import Ledger
from daicho.query.access import Access
from daicho.testing import MemoryDeployment
from daicho.web.api import Api
from tests.support.api_client import Client
from tests.support.memory_stores import SigningS3


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
