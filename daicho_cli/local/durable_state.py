"""Makes MiniStack save each change in a journal before it answers, and continue from the journal.

MiniStack keeps all state in memory and writes it when it stops. Here each item, stream record,
read position, object, message and asynchronous invocation is a row of the journal. The state of
the other services (users, schedules, functions, ...) is small: one row each, written after a
request that may have changed it. A deployment changes many services for a while. So no state of
CloudFormation is saved before it ends, and then every service is saved with it: a deployment that
was interrupted has not happened, and the next one repeats it.

No answer leaves before all earlier changes are in the file, whoever made them. So nothing that a
client has seen is lost either. All names of MiniStack that are used here are read at the start: a
version without one of them does not start.
"""

from __future__ import annotations

import asyncio
import contextvars
import gc
import json
import os
import sys
import time
import traceback
import uuid
from dataclasses import dataclass, field
from typing import Any

from daicho_cli.local.journal import Change, Journal, NotSaved
from daicho_cli.local.restored_state import (
    DELETE_INVOCATION,
    DELETE_OBJECT,
    MiniStack,
    Restoration,
    Scope,
    begin_invocation,
    current_invocation,
    read_positions,
)
from daicho_cli.local.saved_messages import MESSAGE_ACTIONS, SavedMessages

Answer = tuple[int, dict[str, str], bytes]
PUT_SERVICE = "REPLACE INTO service VALUES (?, ?)"
PUT_ITEM = "REPLACE INTO item VALUES (?, ?, ?, ?)"
DELETE_ITEM = "DELETE FROM item WHERE table_id = ? AND pk = ? AND sk = ?"
DELETE_ITEMS = "DELETE FROM item WHERE table_id = ?"
PUT_RECORD = "REPLACE INTO record VALUES (?, ?, ?)"
TRIM_RECORDS = "DELETE FROM record WHERE stream = ? AND position < ?"
PUT_POSITION = "REPLACE INTO position VALUES (?, ?)"
PUT_TOKEN = "REPLACE INTO token VALUES (?, ?)"  # noqa: S105 - of a transaction
PUT_OBJECT = "REPLACE INTO object VALUES (?, ?, ?, ?)"
DELETE_OBJECTS = "DELETE FROM object WHERE account = ? AND bucket = ?"
PUT_INVOCATION = "INSERT INTO invocation VALUES (?, ?)"
READING = ("get", "head", "list", "describe", "query", "scan", "batchget", "transactget", "search")
"""The beginnings of the names of actions that change nothing."""
UNSAVED = ("putlogevents", "putmetricdata", "putevents")
"""Actions whose effect is saved at a stop and at the end of a deployment only."""
ITEM_ACTIONS = (
    *("putitem", "updateitem", "deleteitem", "batchwriteitem", "transactwriteitems"),
    *("executestatement", "batchexecutestatement", "executetransaction"),
)
SECONDS_TO_SAVE = 60.0
SECONDS_BETWEEN_LOOKS = 0.1
TRIALS = 5


@dataclass
class _Entry:
    """The changes of a request, which become one entry of the journal when it ends.

    A thread that the request has started may outlive it: its changes are entries of their own.
    """

    changes: list[Change] = field(default_factory=list)
    objects: set[Scope] = field(default_factory=set)
    has_ended: bool = False


_entry: contextvars.ContextVar[_Entry | None] = contextvars.ContextVar("entry", default=None)
_has_written: contextvars.ContextVar[bool] = contextvars.ContextVar("has_written", default=False)


def find_action(method: str, headers: dict[str, str], body: bytes, query: dict[str, Any]) -> str:
    """The name of a request's action in lower case; its method for a protocol without actions."""
    target = headers.get("x-amz-target", "")
    if target:
        return target.rpartition(".")[2].lower()
    given = query.get("Action") or [""]
    if not given[0] and body.startswith((b"Action=", b"Version=")):
        fields = dict(part.partition(b"=")[::2] for part in body.split(b"&"))
        given = [fields.get(b"Action", b"").decode()]
    return (given[0] or method).lower()


def is_reading(action: str, path: str) -> bool:
    """Whether a request changes nothing that is saved after it."""
    return action.startswith(READING) or action in UNSAVED or path.endswith("/invocations")


def render_refusal(service: str, reason: str) -> Answer:
    """The answer to a write that is not saved."""
    text = f"The local AWS cannot save what is written ({reason}). Nothing is accepted until it can"
    if service == "s3":
        xml = f"<Error><Code>InternalError</Code><Message>{text}</Message></Error>"
        return 503, {"Content-Type": "application/xml"}, xml.encode()
    answer = {"__type": "InternalServerError", "message": text}
    return 503, {"Content-Type": "application/x-amz-json-1.0"}, json.dumps(answer).encode()


class DurableState:
    """MiniStack's modules, whose functions are replaced by ones that write to the journal."""

    def __init__(self, journal: Journal, ministack: MiniStack) -> None:
        self._journal, self._ministack = journal, ministack
        self._app, self._dynamodb, self._s3 = ministack.app, ministack.dynamodb, ministack.s3
        self._functions = ministack.functions
        # It keeps functions of MiniStack as they are before they are replaced.
        self._restoration = Restoration(journal, ministack, self._add)
        SavedMessages(ministack, self._add, self._restoration.query)
        self._names = {module: name for name, module in self._app._state_map.items()}
        self._guarded: set[str] = set()
        self._buckets: dict[tuple[str, str], str] = {}
        self._is_deploying = False
        self._stores = sorted(self._dynamodb.get_state().keys() - {"tables"})
        for store in self._stores:
            getattr(self._dynamodb, f"_{store}")
        self._watch_items()
        self._watch_stream()
        self._watch_positions()
        self._watch_objects()
        self._watch_invocations()
        self._watch_executions()
        self._watch_server()

    # What is written

    def _add(self, *changes: Change) -> None:
        _has_written.set(True)
        entry = _entry.get()
        if entry is None or entry.has_ended:
            self._journal.append(changes)
        else:
            entry.changes.extend(changes)

    def _end(self, entry: _Entry) -> None:
        for scope in entry.objects:
            self._add(self._describe_object(*scope))
        entry.has_ended = True
        if entry.changes:
            self._journal.append(entry.changes)

    def _add_service(self, name: str, module: Any) -> None:
        for trial in range(1, TRIALS + 1):
            try:
                state = module.get_state()
                if state is not None:
                    self._add((PUT_SERVICE, (name, self._ministack.render(state))))
                return
            except RuntimeError:  # a thread changes a dictionary that is read here
                if trial == TRIALS:
                    raise

    def _add_services(self) -> None:
        buckets = {scope: bucket["created"] for scope, bucket in self._s3._buckets._data.items()}
        for scope in self._buckets.keys() | buckets.keys():
            if self._buckets.get(scope) != buckets.get(scope):
                self._add((DELETE_OBJECTS, scope))
                bucket = self._s3._buckets._data.get(scope, {"objects": ()})
                self._add(
                    *(self._describe_object(scope[0], scope[1], key) for key in bucket["objects"])
                )
        self._buckets = buckets
        for module_name, name in self._names.items():
            module = sys.modules.get(f"ministack.services.{module_name}")
            if hasattr(module, "get_state"):
                self._add_service(name, module)

    def _describe_tables(self) -> dict[str, Any]:
        """The state of DynamoDB without items, which have rows of their own."""
        tables = type(self._dynamodb._tables)()
        left_out = ("items", self._dynamodb._INDEX_MEMBERS)
        for scope, table in self._dynamodb._tables.all_items():
            described = {name: value for name, value in table.items() if name not in left_out}
            tables.set_scoped(*scope, {**described, "items": {}})
        stores = {store: getattr(self._dynamodb, f"_{store}") for store in self._stores}
        return {"tables": tables, **stores}

    def _describe_object(self, account: str, bucket: str, key: str) -> Change:
        content = self._ministack.describe_object(account, bucket, key)
        if content is None:
            return DELETE_OBJECT, (account, bucket, key)
        return PUT_OBJECT, (account, bucket, key, self._ministack.render(content))

    # When it is written

    def _watch_items(self) -> None:
        dynamodb = self._dynamodb
        set_item, remove_item = dynamodb._set_item, dynamodb._remove_item
        replace_items = dynamodb._items_replaced

        def _set_item(table: Any, pk: str, sk: str, item: Any) -> Any:
            old = set_item(table, pk, sk, item)
            self._add((PUT_ITEM, (table["TableId"], pk, sk, json.dumps(item))))
            return old

        def _remove_item(table: Any, pk: str, sk: str) -> Any:
            old = remove_item(table, pk, sk)
            self._add((DELETE_ITEM, (table["TableId"], pk, sk)))
            return old

        def _items_replaced(table: Any) -> None:
            # A transaction was rolled back, or a backup restored.
            replace_items(table)
            self._add((DELETE_ITEMS, (table["TableId"],)))
            for pk, items in table["items"].items():
                for sk, item in items.items():
                    self._add((PUT_ITEM, (table["TableId"], pk, sk, json.dumps(item))))

        dynamodb._set_item, dynamodb._remove_item = _set_item, _remove_item
        dynamodb._items_replaced = _items_replaced
        dynamodb.get_state = self._describe_tables
        dynamodb.load_persisted_state = self._restoration.restore_tables

    def _watch_stream(self) -> None:
        dynamodb = self._dynamodb
        emit, store_token = dynamodb._emit_stream_event, dynamodb._txn_token_store

        def _emit_stream_event(table: str, *given: Any, **named: Any) -> None:
            before = dynamodb.stream_end_position(table)
            emit(table, *given, **named)
            if dynamodb.stream_end_position(table) > before:
                record = dynamodb._live_stream_records(table)[-1]
                self._add((PUT_RECORD, (record["eventSourceARN"], before, json.dumps(record))))

        def _txn_token_store(token: str, entry: Any) -> None:
            store_token(token, entry)
            scope = dynamodb._txn_idempotency._scoped(token)
            self._add((PUT_TOKEN, (json.dumps(scope), json.dumps(entry))))

        dynamodb._emit_stream_event, dynamodb._txn_token_store = (
            _emit_stream_event,
            _txn_token_store,
        )

    def _watch_positions(self) -> None:
        functions, save = self._functions, self._add_position
        scoped = type(functions._dynamodb_stream_positions)

        class Positions(scoped):  # type: ignore[misc, valid-type]
            __slots__ = ()

            def __setitem__(self, mapping: str, position: int) -> None:
                is_new = self.get(mapping) != position
                super().__setitem__(mapping, position)
                if is_new:
                    save(self._scoped(mapping), position)

        functions._dynamodb_stream_positions = Positions()

    def _add_position(self, mapping: Scope, position: int) -> None:
        changes: list[Change] = [(PUT_POSITION, (json.dumps(mapping), position))]
        functions = self._functions
        read = dict(functions._dynamodb_stream_positions._data)
        for stream, lowest in read_positions(dict(functions._esms._data), read).items():
            # The last record that was read stays: its position is where a new one continues.
            changes.append((TRIM_RECORDS, (stream, lowest - 1)))
        self._add(*changes)

    def _watch_objects(self) -> None:
        s3 = self._s3

        def save(bucket: str, key: str, *_: Any) -> None:
            scope = (s3.get_account_id(), bucket, key)
            entry = _entry.get()
            if entry is None or entry.has_ended:
                self._add(self._describe_object(*scope))
            else:
                entry.objects.add(scope)

        for name in ("object", "delete_marker", "version_state"):
            getattr(s3, f"_persist_{name}")
            setattr(s3, f"_persist_{name}", save)
        for name in ("_persist_displaced_version", "_delete_version_file"):
            getattr(s3, name)
            setattr(s3, name, save)
        for name in ("_delete_persisted_object", "_delete_persisted_bucket"):
            getattr(s3, name)
        s3._delete_persisted_object = save
        s3._delete_persisted_bucket = lambda _bucket: None
        s3._version_file_exists = lambda *_: False
        # MiniStack calls them only if it is to write files.
        s3.S3_PERSIST = True

    def _watch_invocations(self) -> None:
        functions = self._functions
        invoke, execute = functions.invoke_async_with_retry, functions._execute_function
        give_up = functions._route_async_failure

        def invoke_async_with_retry(function: Any, event: Any) -> None:
            config = function.get("config") or function
            key, at = uuid.uuid4().hex, time.time()
            content = {"arn": config["FunctionArn"], "event": event, "at": at}
            self._add((PUT_INVOCATION, (key, self._ministack.render(content))))
            begin_invocation(invoke, key, function, event)

        def _execute_function(function: Any, event: Any, *given: Any, **named: Any) -> Any:
            result = execute(function, event, *given, **named)
            if current_invocation.get() and not result.get("error"):
                self._end_invocation()
            return result

        def _route_async_failure(*given: Any, **named: Any) -> Any:
            answer = give_up(*given, **named)
            self._end_invocation()
            return answer

        functions.invoke_async_with_retry = invoke_async_with_retry
        functions._execute_function = _execute_function
        functions._route_async_failure = _route_async_failure

    def _end_invocation(self) -> None:
        self._journal.append([(DELETE_INVOCATION, (current_invocation.get(),))])
        current_invocation.set("")

    def _watch_executions(self) -> None:
        machines = self._ministack.machines
        run = machines._run_execution

        def _run_execution(execution: str) -> None:
            run(execution)
            self._add_service("stepfunctions", machines)

        machines._run_execution = _run_execution

    def _watch_server(self) -> None:
        app = self._app
        get_module, send_response = app._get_module, app._send_response
        health = app._handle_health_request

        def _get_module(name: str) -> Any:
            module = get_module(name)
            # Those without it are parts of another service, which takes their requests.
            is_new = name in self._names and name not in self._guarded
            if is_new and hasattr(module, "handle_request"):
                self._guarded.add(name)
                self._guard(name, module)
            return module

        async def _send_response(
            send: Any, status: int, headers: Any, body: Any, **more: Any
        ) -> Any:
            # While the disk is full, an answer that has written nothing leaves as it is.
            try:
                if _has_written.get() or not self._journal.failure:
                    await self._journal.settle()
            except NotSaved as error:
                if _has_written.get():
                    service = "s3" if "xml" in headers.get("Content-Type", "") else ""
                    status, headers, body = render_refusal(service, str(error))
            return await send_response(send, status, headers, body, **more)

        def _handle_health_request(path: str, request: str) -> Any:
            answer = health(path, request)
            if answer is None:
                return None
            state = {"found": self._restoration.found, "unsaved": self._journal.unsaved}
            content = {**json.loads(answer[2]), "daicho": {**state, "why": self._journal.failure}}
            return *answer[:2], json.dumps(content).encode()

        app._get_module, app._send_response = _get_module, _send_response
        app._handle_health_request = _handle_health_request
        for name in ("_load_persisted_state", "save_all"):
            getattr(app, name)
        app._load_persisted_state, app.save_all = self.load, self.save

    def _guard(self, module_name: str, module: Any) -> None:
        """Save what a request to a service changes, and refuse it if nothing can be saved."""
        handle = module.handle_request

        async def handle_request(
            method: str, path: str, headers: Any, body: bytes, query: Any, *given: Any, **named: Any
        ) -> Any:
            action = find_action(method, headers, body, query)
            is_read = is_reading(action, path)
            if self._journal.failure and not is_read:
                return render_refusal(module_name, self._journal.failure)
            entry = _Entry()
            token = _entry.set(entry)
            try:
                answer = await handle(method, path, headers, body, query, *given, **named)
                if module_name == "cloudformation" and self._follow_deployment():
                    return answer
                if not is_read and not self._has_rows(module_name, action, path, headers):
                    self._add_service(self._names[module_name], module)
                return answer
            finally:
                self._end(entry)
                _entry.reset(token)

        module.handle_request = handle_request

    def _has_rows(self, module_name: str, action: str, path: str, headers: Any) -> bool:
        """Whether all that a request changes has rows of its own."""
        if module_name == "s3":
            return bool(self._s3._parse_bucket_key(path, headers)[1])
        if module_name == "sqs":
            return action.startswith(MESSAGE_ACTIONS)
        return module_name == "dynamodb" and action in ITEM_ACTIONS

    def _follow_deployment(self) -> bool:
        """Save every service if a deployment has just ended; True if one runs or has ended."""
        was_deploying, self._is_deploying = self._is_deploying, self._has_deployment()
        if self._is_deploying and not was_deploying:
            # Nobody may ask about it again: its command was killed.
            self._follower = asyncio.create_task(self._await_deployment())
        if was_deploying and not self._is_deploying:
            self._add_services()
        return was_deploying or self._is_deploying

    async def _await_deployment(self) -> None:
        while self._is_deploying:
            await asyncio.sleep(SECONDS_BETWEEN_LOOKS)
            self._follow_deployment()

    def _has_deployment(self) -> bool:
        states = {
            stack["StackStatus"] for stack in self._ministack.deployments._stacks.all_values()
        }
        return any(
            state.endswith("_IN_PROGRESS") for state in states if state != "REVIEW_IN_PROGRESS"
        )

    def load(self) -> None:
        """Restore everything from the journal; end this process if something cannot be read.

        The web server would continue without it, and overwrite it.
        """
        entry = _Entry()
        token = _entry.set(entry)
        gc.disable()  # it would look at all items again and again
        try:
            self._buckets = self._restoration.restore()
        except Exception:
            traceback.print_exc()
            os._exit(1)
        gc.freeze()
        gc.enable()
        self._end(entry)
        _entry.reset(token)
        self._journal.settle_blocking(SECONDS_TO_SAVE)

    def save(self, _services: Any) -> None:
        """Save every service at a stop, and that it was a clean one.

        Raises:
            NotSaved: they could not be written.
        """
        self._add_services()
        self._add(("INSERT INTO stop VALUES (?)", (time.time(),)))
        self._journal.settle_blocking(SECONDS_TO_SAVE)
