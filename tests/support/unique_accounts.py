"""Books over accounts with unique values, at a time that tests move."""

from __future__ import annotations

from daicho.declare.registry import Daicho
from daicho.plan import Ledger
from tests.simulator.oracle.unique_values import UniqueValues, compare_unique_values
from tests.support import account_domains
from tests.support.table_books import TableBooks

DOMAIN_PACKAGE = account_domains.__name__
DAICHO = Daicho.discover(account_domains)
LEDGER = DAICHO.append_generations(Ledger())


class Accounts(TableBooks):
    """Books over accounts, and the check of all that is in their table."""

    ledger = LEDGER

    def compare(self) -> UniqueValues:
        return compare_unique_values(self.everything(), LEDGER, int(self.now.timestamp()))

    def check(self) -> UniqueValues:
        """Check that there is no difference, and return what was compared."""
        compared = self.compare()
        assert compared.differences == []
        return compared
