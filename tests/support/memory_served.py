"""Domains served over a table in memory, by the real API and the real functions."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from daicho import Book, Domain
from daicho.declare.registry import Daicho
from daicho.plan import Ledger
from daicho.query.access import Access
from daicho.storage.attributes import Image
from daicho.testing import MemoryDeployment
from daicho.web.api import Api
from tests.support.api_client import Client
from tests.support.memory_stores import SigningS3


@dataclass
class MemoryServed:
    """A deployment in memory, its API, and a client of it."""

    daicho: Daicho
    deployment: MemoryDeployment
    api: Any = field(init=False)

    def __post_init__(self) -> None:
        self.deployment._buckets["objects"] = SigningS3(self.deployment.clock.now)
        self.api = Api(self.daicho, self.open_book)
        self.client = Client(self.api, "acme")

    def open_book(self, access: Access) -> Book:
        return self.deployment.open_book(access.tenant, access)

    def sign_in(self, subject: str, *groups: str, tenant: str = "acme") -> Client:
        """A client with the token of a person with these roles."""
        return Client(self.api, tenant, {"sub": subject, "cognito:groups": [*groups]})

    def list_items(self) -> list[Image]:
        """Everything that is stored."""
        return [item for _, item in self.deployment._dynamodb.items]


def serve_in_memory(*domains: Domain) -> MemoryServed:
    """Serve domains over an empty table."""
    daicho = Daicho(*domains)
    return MemoryServed(daicho, MemoryDeployment(daicho.append_generations(Ledger())))
