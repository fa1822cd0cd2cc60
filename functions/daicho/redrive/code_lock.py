"""The lock of redrives and dismissals: it names the code of those that may be under way (rule 56).

Code that computes an image may still write its rows while other code dismisses it. So a dismissal
begins only if no call of other code began within the settle time, and a redrive only if no
dismissal of other code did. Calls of one code do not wait for each other::

    PK #redrive#lock   SK -   rev
    <action> <code>           when this code began a call with this action last
"""

from __future__ import annotations

import datetime as dt
import hashlib
from collections.abc import Callable
from functools import cache
from pathlib import Path

from daicho.redrive.report import Action
from daicho.runtime.frozen_dataclasses import dataclass
from daicho.runtime.settings import LOCK_FILE
from daicho.storage import attributes, keys
from daicho.storage.attributes import ItemKey
from daicho.storage.protocols import try_put
from daicho.storage.requests import Put, to_key_image
from daicho.storage.table import Table

LOCK_KEY = ItemKey(keys.render("", "redrive", "lock"), "-")


@cache
def compute_code_name() -> str:
    """A digest of the package's source and of its lock file."""
    digest = hashlib.sha256()
    for file in sorted(Path(__file__).parents[1].rglob("*.py")):
        digest.update(file.read_bytes())
    if LOCK_FILE.exists():
        digest.update(LOCK_FILE.read_bytes())
    return digest.hexdigest()[:16]


@dataclass(frozen=True)
class CodeLock:
    """The lock of one table. ``code``: the name of this code. A call takes less than ``settle``."""

    store: Table
    code: str
    settle: dt.timedelta
    now: Callable[[], dt.datetime]

    def find_wait(self, action: Action) -> tuple[float, int]:
        """Enter for one call; or the seconds to wait before that, if they are not 0.

        Also a number that no other call gets.

        Raises:
            StoreError: the table does not answer.
        """
        while True:
            now, item = self.now(), self.store.get(LOCK_KEY, consistent=True) or {}
            begun = keys.render_instant(now - self.settle)
            uses = {use: item[use]["S"] for use in item if " " in use and item[use]["S"] > begun}
            others = [
                at
                for use, at in uses.items()
                if not use.endswith(f" {self.code}")
                and "dismiss" in (action, use.partition(" ")[0])
            ]
            if others:
                until = dt.datetime.fromisoformat(max(others)) + self.settle
                return (until - now).total_seconds(), 0
            number = (attributes.get_integer(item, "rev") or 0) + 1
            stored = {**uses, f"{action} {self.code}": keys.render_instant(now), "rev": number}
            image = {**to_key_image(LOCK_KEY), **attributes.to_image(stored)}
            condition, before = "attribute_not_exists(PK) OR rev = :rev", {":rev": number - 1}
            put = Put(image, condition, values=attributes.to_image(before))
            if try_put(self.store, put):  # otherwise another call has entered
                return 0.0, number
