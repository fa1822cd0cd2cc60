"""The routes of the project's own domains: the demonstration's, and those that are added."""

from __future__ import annotations

from importlib import import_module

from daicho.declare.registry import Daicho
from daicho.plan import Ledger
from tests.support.described_routes import DescribedRoutes

PROJECT_ROUTES = DescribedRoutes(
    Daicho.discover(import_module("domains")),
    Ledger.load(),
    needing=frozenset(),
    first_words=(),
)
