"""``make bench-archive``.

The exit status is 1 if a query reads partitions that it does not need.
"""

from __future__ import annotations

import sys

import domains
from bench.archive import costs, query_reads
from daicho.declare.registry import Daicho
from daicho.plan import Ledger


def main() -> int:
    """Print all."""
    ledger = Daicho.discover(domains).check_locked(Ledger.load())
    sound = query_reads.measure(ledger)
    costs.measure(ledger)
    return 0 if sound else 1


if __name__ == "__main__":
    sys.exit(main())
