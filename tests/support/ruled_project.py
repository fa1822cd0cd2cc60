"""The project of the domains with rules, and its ledger."""

from __future__ import annotations

from daicho.declare.registry import Daicho
from daicho.plan import Ledger
from tests.support import ruled_domains

DOMAIN_PACKAGE = ruled_domains.__name__
DAICHO = Daicho.discover(ruled_domains)
LEDGER = DAICHO.append_generations(Ledger())
"""Generation 1 of every entity."""
