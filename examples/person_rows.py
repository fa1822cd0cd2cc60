"""Makes rows of persons from exported members: ``person_rows.py members.ndjson persons.ndjson``."""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any


def build_row(member: Mapping[str, Any]) -> dict[str, Any]:
    """The row of a person: the key is the email address in lower case."""
    return {**member, "email": member["email"].lower()}


def main(source: str, target: str) -> None:
    """Write a row for each exported member, if no two rows have the same key."""
    with Path(source).open(encoding="utf-8") as lines:
        rows = [build_row(json.loads(line)["item"]) for line in lines]
    counts = Counter(row["email"] for row in rows)
    if repeated := sorted(key for key, count in counts.items() if count > 1):
        sys.exit(f"several members would have the key {', '.join(repeated)}")
    Path(target).write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
