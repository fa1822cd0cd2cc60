"""What the local AWS has saved: whether it can be read, and whether a stop saved all of it."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from daicho_cli.local.instance import LocalError, LocalInstance
from daicho_cli.local.journal import FILE


def check_readable(instance: LocalInstance) -> None:
    """Check that the saved data can be read.

    Raises:
        LocalError: it cannot, or an earlier version has saved it.
    """
    if not _find_file(instance).exists():
        if (instance.data / "state/dynamodb.json").exists():
            raise LocalError(
                f"an earlier version of this command has saved {instance.data}, and this one "
                "cannot read it. Forget all local data: make reset"
            )
        return
    try:
        answer = _read(instance, "PRAGMA quick_check(1)")
    except sqlite3.Error as error:
        answer = str(error)
    if answer != "ok":
        raise LocalError(
            f"{_find_file(instance)} cannot be read ({answer}). Put back a copy of it, or forget "
            "all local data: make reset"
        )


def check_saved(instance: LocalInstance) -> None:
    """Check that a stop has saved everything.

    Raises:
        LocalError: it has not.
    """
    try:
        is_saved = _read(instance, "SELECT count(*) FROM stop") == 1
        reason = f"see {instance.logs / 'ministack.log'}"
    except sqlite3.Error as error:
        is_saved, reason = False, str(error)
    if not is_saved:
        raise LocalError(
            "not saved: log lines, metrics and the state of services since their last change; "
            f"items, objects and users are ({reason})"
        )


def _find_file(instance: LocalInstance) -> Path:
    return instance.data / "state" / FILE


def _read(instance: LocalInstance, query: str) -> object:
    """The first value that a query returns."""
    connection = sqlite3.connect(_find_file(instance))
    try:
        return connection.execute(query).fetchone()[0]
    finally:
        connection.close()
