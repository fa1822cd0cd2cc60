"""Restores the state of MiniStack from the journal, and continues what was interrupted."""

from __future__ import annotations

import contextvars
import json
import threading
import time
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from daicho_cli.local.journal import Change, Journal

Scope = tuple[str, str, str]
"""An account, a Region, and a name in it."""
DELETE_OBJECT = "DELETE FROM object WHERE account = ? AND bucket = ? AND key = ?"
DELETE_INVOCATION = "DELETE FROM invocation WHERE id = ?"
DELETE_TOKEN = "DELETE FROM token WHERE scope = ?"  # noqa: S105 - of a transaction
# A deployment that was interrupted may have made tables: the next one makes others.
DELETE_OTHER_ITEMS = (
    "DELETE FROM item WHERE table_id NOT IN (SELECT value FROM json_each(?))",
    "DELETE FROM record WHERE stream NOT IN (SELECT value FROM json_each(?))",
)
OBJECT_STORES = ("tags", "acl", "annotations", "retention", "legal_hold")
"""What MiniStack stores of a version of an object, besides the version itself."""
HOURS_OF_AN_INVOCATION = 6
ITEMS_OF_A_TEXT = 1_000
"""How many items are parsed at once, which takes half as long as one after the other."""
current_invocation: contextvars.ContextVar[str] = contextvars.ContextVar("invocation", default="")
"""The id of the asynchronous invocation that a thread works on."""


@dataclass(frozen=True)
class MiniStack:
    """The modules of MiniStack whose state is saved by rows."""

    app: Any
    persistence: Any
    dynamodb: Any
    functions: Any
    s3: Any
    machines: Any
    deployments: Any
    queues: Any

    def render(self, value: Any) -> str:
        """A state as text."""
        return json.dumps(value, default=self.persistence._json_default)

    def parse(self, text: str) -> Any:
        """The state that `render` made a text of."""
        return json.loads(text, object_hook=self.persistence._json_object_hook)

    def describe_object(self, account: str, bucket: str, key: str) -> dict[str, Any] | None:
        """All versions of an object, with what is stored of each; None if there is none."""
        objects = self.s3._buckets._data.get((account, bucket), {"objects": {}})["objects"]
        versions = self.s3._object_versions._data.get((account, (bucket, key)), [])
        if key not in objects and not versions:
            return None
        current = objects.get(key)
        if current and versions and current.get("body") is versions[-1].get("data"):
            current = {**current, "body": None}
        stored: dict[str, list[Any]] = {}
        for store in OBJECT_STORES:
            values = getattr(self.s3, f"_object_{store}")._data
            for version in {None, *(version["version_id"] for version in versions)}:
                if (value := values.get((account, (bucket, key, version)))) is not None:
                    stored.setdefault(store, []).append([version, value])
        return {"current": current, "versions": versions, **stored}

    def restore_object(self, account: str, bucket: str, key: str, content: Any) -> None:
        """Store what `describe_object` returned."""
        current, versions = content["current"], content["versions"]
        if current:
            if current["body"] is None:
                current["body"] = versions[-1]["data"]
            self.s3._buckets._data[account, bucket]["objects"][key] = current
        if versions:
            self.s3._object_versions._data[account, (bucket, key)] = versions
        for store in OBJECT_STORES:
            for version, value in content.get(store, ()):
                scope = (account, (bucket, key, version))
                getattr(self.s3, f"_object_{store}")._data[scope] = value


def read_positions(mappings: dict[Scope, Any], read: dict[Scope, int]) -> dict[str, int]:
    """The lowest position that any mapping of a table's stream has reached, by stream."""
    lowest: dict[str, int] = {}
    for scope, mapping in mappings.items():
        stream = mapping.get("EventSourceArn", "")
        if ":dynamodb:" in stream and "/stream/" in stream:
            position = read.get(scope, 0)
            lowest[stream] = min(position, lowest.get(stream, position))
    return lowest


def begin_invocation(invoke: Callable[..., Any], key: str, function: Any, event: Any) -> None:
    """Invoke a function asynchronously; its thread has the id of the invocation."""
    # MiniStack's thread gets a copy of these variables.
    token = current_invocation.set(key)
    try:
        invoke(function, event)
    finally:
        current_invocation.reset(token)


class Restoration:
    """What a start does. MiniStack's own functions are kept that a later change replaces.

    Attributes:
        found: what the journal contained, as a sentence.
    """

    def __init__(
        self, journal: Journal, ministack: MiniStack, add: Callable[[Change], None]
    ) -> None:
        self.found = ""
        self._journal, self._ministack, self._add = journal, ministack, add
        self._load_tables = ministack.dynamodb.load_persisted_state
        self._count_items = ministack.dynamodb._items_replaced
        self._invoke = ministack.functions.invoke_async_with_retry

    def restore(self) -> dict[tuple[str, str], str]:
        """Restore everything; return when each bucket was created, by account and name.

        What no longer belongs to anything is removed from the journal.

        Raises:
            Exception: something cannot be read.
        """
        ministack = self._ministack
        states = dict(self.query("SELECT name, state FROM service"))
        running: list[Scope] = []
        for name, module_name in ministack.app._state_map.items():
            if name not in states:
                continue
            state = ministack.parse(states[name])
            if name == "stepfunctions":
                running = _list_running(state)
            if name == "lambda":
                self._restore_positions(state)
            ministack.app._get_module(module_name).load_persisted_state(state)
        objects = self._restore_objects()
        invocations = self._repeat_invocations()
        for scope in running:
            self._resume_execution(*scope)
        items = sum(table["ItemCount"] for table in ministack.dynamodb._tables.all_values())
        self.found = (
            f"{items:,} items, {self._count_pending():,} undelivered stream records, "
            f"{objects:,} objects; {invocations} invocations and {len(running)} executions "
            "begin again"
        )
        self._add(("DELETE FROM stop", ()))
        buckets = ministack.s3._buckets._data
        return {scope: bucket["created"] for scope, bucket in buckets.items()}

    def restore_tables(self, state: Any) -> None:
        """Restore DynamoDB: ``state``, and what has rows of its own."""
        self._load_tables(state)
        dynamodb = self._ministack.dynamodb
        tables: list[str] = []
        streams: list[str] = []
        for scope, table in dynamodb._tables.all_items():
            tables.append(table["TableId"])
            table["items"] = self._read_items(table["TableId"])
            self._count_items(table)
            streams.append(table.get("LatestStreamArn") or "")
            statement = "SELECT position, record FROM record WHERE stream = ? ORDER BY position"
            if rows := self.query(statement, streams[-1]):
                records = [json.loads(record) for _, record in rows]
                dynamodb._stream_records.set_scoped(*scope, records)
                dynamodb._stream_trimmed.set_scoped(*scope, rows[0][0])
        for statement, kept in zip(DELETE_OTHER_ITEMS, (tables, streams), strict=True):
            self._add((statement, (json.dumps(kept),)))
        oldest = time.time() - dynamodb._TXN_TOKEN_TTL
        for scope, text in self.query("SELECT scope, entry FROM token"):
            entry = json.loads(text)
            if entry["completed_at"] > oldest:
                dynamodb._txn_idempotency.set_scoped(*json.loads(scope), entry)
            else:
                self._add((DELETE_TOKEN, (scope,)))

    def _read_items(self, table_id: str) -> dict[str, dict[str, Any]]:
        items: dict[str, dict[str, Any]] = defaultdict(dict)
        rows = self._journal.connection.execute(
            "SELECT pk, sk, item FROM item WHERE table_id = ?", (table_id,)
        )
        while page := rows.fetchmany(ITEMS_OF_A_TEXT):
            parsed = json.loads(f"[{','.join(item for _, _, item in page)}]")
            for (pk, sk, _), item in zip(page, parsed, strict=True):
                items[pk][sk] = item
        return items

    def query(self, statement: str, *values: Any) -> list[Any]:
        """Rows of the journal."""
        return self._journal.connection.execute(statement, values).fetchall()

    def _restore_positions(self, state: Any) -> None:
        positions = state["dynamodb_stream_positions"]
        for mapping, position in self.query("SELECT mapping, position FROM position"):
            positions.set_scoped(*json.loads(mapping), position)

    def _count_pending(self) -> int:
        functions = self._ministack.functions
        positions = dict(functions._dynamodb_stream_positions._data)
        lowest = read_positions(dict(functions._esms._data), positions)
        statement = "SELECT count(*) FROM record WHERE stream = ? AND position >= ?"
        return sum(self.query(statement, *read)[0][0] for read in lowest.items())

    def _restore_objects(self) -> int:
        count, buckets = 0, self._ministack.s3._buckets._data
        for account, bucket, key, text in self.query("SELECT * FROM object"):
            if (account, bucket) in buckets:
                self._ministack.restore_object(account, bucket, key, self._ministack.parse(text))
                count += 1
            else:  # of a deployment that was interrupted
                self._add((DELETE_OBJECT, (account, bucket, key)))
        return count

    def _repeat_invocations(self) -> int:
        begun, functions = 0, self._ministack.functions._functions.all_values()
        by_arn = {function["config"]["FunctionArn"]: function for function in functions}
        oldest = time.time() - HOURS_OF_AN_INVOCATION * 3600
        for key, text in self.query("SELECT id, invocation FROM invocation"):
            content = json.loads(text)
            function = by_arn.get(content["arn"])
            if function is None or content["at"] < oldest:
                self._add((DELETE_INVOCATION, (key,)))
            else:
                begin_invocation(self._invoke, key, function, content["event"])
                begun += 1
        return begun

    def _resume_execution(self, account: str, region: str, execution: str) -> None:
        """Run an execution from its first state; MiniStack would let it fail.

        On AWS it continues where it was. Both call a step that has been taken once more, and the
        steps of a job are idempotent.
        """
        machines = self._ministack.machines
        state = machines._executions.get_scoped(account, region, execution)
        state.update(status="RUNNING", stopDate=None)
        for name in ("error", "cause"):
            state.pop(name, None)
        with self._ministack.dynamodb.request_scope(account, region):
            context = contextvars.copy_context()
        target = machines._run_execution
        threading.Thread(target=context.run, args=(target, execution), daemon=True).start()


def _list_running(state: Any) -> list[Scope]:
    executions = state["executions"]._data
    return [scope for scope, execution in executions.items() if execution["status"] == "RUNNING"]
