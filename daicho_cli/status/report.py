"""What `daicho status` prints: a table, or JSON."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from rich.console import Console
from rich.table import Table

from daicho.rebuild.recounts import RecountEntry
from daicho_cli.status.stage_status import EntityStatus

COLUMNS = ("instance", "kind", "since generation", "state", "included")


def print_statuses(
    table_name: str,
    statuses: Sequence[EntityStatus],
    waiting: Sequence[RecountEntry] = (),
    console: Console | None = None,
) -> None:
    """Print the instances of each entity, and below them what differs from the checkout.

    ``waiting``: the tallies that wait for a recount.
    """
    out = console or Console()
    table = Table(title=f"Instances in {table_name}", title_justify="left")
    for column in COLUMNS:
        table.add_column(column, overflow="fold")
    for status in statuses:
        for instance in status.instances:
            name = f"{status.entity}.{instance.declaration}@{instance.since}"
            percent = status.find_percent(instance)
            shown = "-" if percent is None else f"{percent} %"
            table.add_row(name, instance.kind, str(instance.since), instance.state.value, shown)
        if status.instances:
            table.add_section()
    if table.row_count:
        out.print(table)
    else:
        out.print(f"{table_name} has no instances.", highlight=False)
    for status in statuses:
        if status.difference:
            out.print(status.difference, highlight=False, soft_wrap=True)
    for name, count in _count_tallies(waiting).items():
        line = f"{name}: {count} tallies wait for a recount"
        out.print(line, highlight=False, soft_wrap=True)


def build_document(
    table_name: str, statuses: Sequence[EntityStatus], waiting: Sequence[RecountEntry] = ()
) -> dict[str, Any]:
    """The instances as plain JSON values. ``percent`` is None if it is not known.

    ``recounts``: the number of tallies that wait for a recount, by instance.
    """
    return {
        "table": table_name,
        "recounts": _count_tallies(waiting),
        "entities": [
            {
                "entity": status.entity,
                "deployed": status.deployed,
                "oldest": status.oldest,
                "checkout": status.checkout or None,
                "instances": [
                    {
                        "declaration": instance.declaration,
                        "kind": instance.kind,
                        "since": instance.since,
                        "state": instance.state.value,
                        "answers": instance.state.answers,
                        "percent": status.find_percent(instance),
                    }
                    for instance in status.instances
                ],
            }
            for status in statuses
        ],
    }


def _count_tallies(waiting: Sequence[RecountEntry]) -> dict[str, int]:
    """The number of tallies that wait for a recount, by instance: ``User.by_country@2``."""
    counts = Counter(f"{entry.aggregate}@{entry.instance[1]}" for entry in waiting)
    return dict(sorted(counts.items()))
