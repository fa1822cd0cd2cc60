"""The queries that are saved with the archive's workgroup.

Each ``?`` requires a value when the query runs (AWS: "Use parameterized queries"). A query with
entity and days reads no other folder of the archive.
"""

from __future__ import annotations

from dataclasses import dataclass

TABLE = "archive"


@dataclass(frozen=True)
class SavedQuery:
    """One query. ``id`` is its place in the stack, ``name`` what a person sees."""

    id: str
    name: str
    description: str
    sql: str


QUERIES = (
    SavedQuery(
        id="TenantsRows",
        name="A tenant's rows of a period",
        description="Parameters: entity, first day, last day (2026-11-21), tenant",
        sql="""SELECT deleted_at, seq, raw, item
FROM archive
WHERE entity = ? AND dt BETWEEN ? AND ? AND tenant = ?
ORDER BY deleted_at, seq
""",
    ),
    SavedQuery(
        id="HistoryOfAKey",
        name="The history of a key",
        description="Parameters: entity, first day, last day, partition key, sort key",
        sql="""SELECT deleted_at, seq, raw, item
FROM archive
WHERE entity = ? AND dt BETWEEN ? AND ?
  AND json_extract_scalar(item, '$.PK.S') = ?
  AND json_extract_scalar(item, '$.SK.S') = ?
ORDER BY deleted_at, seq
""",
    ),
    SavedQuery(
        id="DeletionsADay",
        name="Deletions a day, by entity and tenant",
        description="Parameters: first day, last day",
        sql="""SELECT dt, entity, tenant, count(*) AS deletions, count_if(raw) AS not_readable
FROM archive
WHERE dt BETWEEN ? AND ?
GROUP BY dt, entity, tenant
ORDER BY dt, entity, tenant
""",
    ),
)
