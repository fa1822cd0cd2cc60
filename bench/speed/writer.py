"""Writes to a table over a real socket, in a process of its own that reports its processor time.

Usage: ``writer.py ENDPOINT TABLE``, with the functions of a checkout in ``PYTHONPATH``, which may
be older than the names of today. Each line of standard input is a number of writes; the answer is
the seconds of processor time that they took.
"""

from __future__ import annotations

import sys
import time
from importlib import import_module
from typing import Any

KEYS = 8
UPDATE = "ADD #total :amount SET #last = :last"
NAMES = {"#total": "total", "#last": "last"}


def open_table(endpoint: str, table: str) -> tuple[Any, Any]:
    """The table of the checkout, and its type of keys."""
    try:
        module, key = import_module("daicho.storage.table"), "daicho.storage.item_key"
    except ModuleNotFoundError:  # a checkout with the names of before
        module, key = import_module("daicho.table"), "daicho.table"
    opened = module.open_table(table, endpoint=endpoint, region="us-east-1")
    key_type = getattr(module, "ItemKey", None) or getattr(import_module(key), "ItemKey", None)
    return opened, key_type


def measure_writes(table: Any, keys: list[Any], writes: int) -> float:
    """Seconds of processor time of updates, one after another."""
    began = time.process_time()
    for write in range(writes):
        values = {":amount": {"N": str(write)}, ":last": {"S": f"2026-11-23T{write:06}"}}
        table.update(keys[write % KEYS], UPDATE, names=NAMES, values=values)
    return time.process_time() - began


def main() -> None:
    """Answer the requests on standard input."""
    table, key_type = open_table(*sys.argv[1:])
    keys = [key_type(f"bench#{number}", "total") for number in range(KEYS)]
    measure_writes(table, keys, KEYS)
    for line in sys.stdin:
        sys.stdout.write(f"{measure_writes(table, keys, int(line))}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
