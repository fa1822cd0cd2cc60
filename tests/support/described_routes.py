"""Every route of a project, and a request for it made from its description."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import pytest
from pydantic import RootModel

from daicho.declare.registry import Daicho
from daicho.plan import Ledger
from daicho.storage.attributes import Image
from daicho.web.http.operation import VARIABLE, Operation
from daicho.web.openapi.document import describe_api
from daicho.web.routes.builder import build_operations
from daicho.web.routes.tenant.operations import build_admin_operations
from tests.support.api_client import segment

if TYPE_CHECKING:
    from tests.support.deployment import Served

IDS = {"month": "2026-11", "version": "1"}
RANGE = {"from": "2026-01-01", "to": "2027-01-01"}
"""Of every series."""
VALUES = {
    **RANGE,
    "date": "2026-11-20",
    "at": "2026-11-20T01:02:03Z",
    "released": "1977",
    "live": "true",
    "limit": "5",
    "anonymous": "false",
}


@dataclass(frozen=True)
class DescribedRoutes:
    """The routes of some domains.

    ``needing``: ids of operations that the requests below do not succeed in, besides those that
    change what a POST has made. ``first_words``: what the paths begin with whose operations are
    tried with a fault at each of their calls.
    """

    daicho: Daicho
    ledger: Ledger
    needing: frozenset[str]
    first_words: tuple[str, ...]

    @cached_property
    def description(self) -> dict[str, Any]:
        """The OpenAPI document."""
        return describe_api(self.daicho, self.ledger)

    @cached_property
    def all(self) -> Sequence[Operation]:
        """Every operation of the domains."""
        return build_operations(self.daicho)

    @cached_property
    def served(self) -> Sequence[Operation]:
        """Every operation, with those of a tenant's administrator."""
        return [*self.all, *build_admin_operations(self.daicho)]

    @cached_property
    def served_bodies(self) -> Sequence[Operation]:
        """Those of the above that take a body."""
        return [each for each in self.served if each.body is not None]

    @cached_property
    def changing(self) -> Sequence[Operation]:
        """Those that are no reads."""
        return [each for each in self.all if each.method != "GET"]

    @cached_property
    def keyed(self) -> Sequence[Operation]:
        """Those that take an Idempotency-Key."""
        return [each for each in self.changing if each.accepts_idempotency_key]

    @cached_property
    def making(self) -> Sequence[Operation]:
        """Those that make an item whose id the client gives."""
        return [each for each in self.changing if each.method == "PUT"]

    @cached_property
    def listing(self) -> Sequence[Operation]:
        """Those whose answer is a page."""
        return [each for each in self.all if "limit" in each.parameters]

    @cached_property
    def with_body(self) -> Sequence[Operation]:
        """Those that take an object; those of any JSON value have tests of their own."""
        return [each for each in self.all if each.body and not issubclass(each.body, RootModel)]

    @cached_property
    def with_id(self) -> Sequence[Operation]:
        """Those with a variable in their path."""
        return [each for each in self.all if each.variables]

    @cached_property
    def faulty(self) -> Sequence[Operation]:
        """Those that are tried with a fault at each of their calls."""
        return [each for each in self.keyed if first_word(each) in self.first_words]

    def describe(self, operation: Operation) -> dict[str, Any]:
        """What the description has of an operation."""
        found: dict[str, Any] = self.description["paths"][operation.path][operation.method.lower()]
        return found

    def body_of(self, operation: Operation) -> Any:
        """The example that the description gives of an operation's body."""
        if operation.body is None:
            return None
        (example,) = self.description["components"]["schemas"][operation.body.__name__]["examples"]
        if not isinstance(example, dict):
            return example
        return example | ({"candidates": ["a", "b"]} if "candidates" in example else {})


@pytest.fixture(scope="module")
def routes(request: pytest.FixtureRequest) -> DescribedRoutes:
    """The routes that the module is about."""
    found: DescribedRoutes = request.module.ROUTES
    return found


def parametrize_operations(metafunc: pytest.Metafunc) -> None:
    """Give a test that takes ``operation`` those of its module's ``ROUTES``.

    Its mark says which: ``@pytest.mark.operations("changing")``; all without one.
    """
    if "operation" in metafunc.fixturenames:
        mark = metafunc.definition.get_closest_marker("operations")
        operations = getattr(metafunc.module.ROUTES, mark.args[0] if mark else "all")
        metafunc.parametrize("operation", operations, ids=lambda each: each.id)


def url_of(operation: Operation, id: str = "x", **query: str) -> str:
    """A good URL of an operation: its first query that takes ``query``, with good values."""
    path = VARIABLE.sub(lambda found: segment(IDS.get(found[1], id)), operation.path)
    fitting = (each for each in operation.variants if set(query) <= each.allowed)
    variant = next(fitting, operation.variants[0])
    asked = {name: VALUES.get(name, "x") for name in sorted(variant.needed)} | query
    pairs = "&".join(f"{name}={segment(value)}" for name, value in asked.items())
    return f"{path}?{pairs}" if pairs else path


def headers_of(operation: Operation) -> dict[str, str]:
    must = [each.name for each in operation.headers if each.name == "Idempotency-Key"]
    return {name.replace("-", "_"): "x" for name in must}


def first_word(operation: Operation) -> str:
    """What an operation's path begins with."""
    return operation.path.split("/")[1]


def items_of(served: Served, tenant: str) -> list[Image]:
    """The items of a tenant."""
    return [item for item in served.list_items() if item["PK"]["S"].startswith(f"{tenant}#")]
