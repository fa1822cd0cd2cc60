"""``Expires``: the declaration that items live for a while."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass

from daicho.declare.base import Declaration


@dataclass
class Expires(Declaration):
    """Items expire ``after`` their creation; DynamoDB deletes them by TTL, then they are archived.

    Source: seed 003 (Time to Live, and for archiving).
    """

    duplicate_error = "expires twice"

    after: dt.timedelta
    archive: bool = False
