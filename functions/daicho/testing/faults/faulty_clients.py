"""Clients of the in-memory stores whose every method is an operation of a process."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import compress, cycle
from typing import Any, ClassVar

from daicho.testing.aws.dynamodb.write_requests import build_statement_error, parse_statements
from daicho.testing.choices import Choices
from daicho.testing.faults.fault_injector import OperationKind
from daicho.testing.faults.processes import SimulatedProcess

Answer = dict[str, Any]
Method = Callable[..., Answer]


class _FaultyClient:
    """A client whose methods are operations of a process, each of a kind.

    ``kinds``: by the methods of botocore's client that are carried out as a whole.
    """

    kinds: ClassVar[Mapping[str, OperationKind]]

    def __init__(self, store: Any, process: SimulatedProcess) -> None:
        self._store = store
        self._process = process

    def __getattr__(self, name: str) -> Method:
        if name not in self.kinds:
            raise AttributeError(name)
        call, kind = getattr(self._store, name), self.kinds[name]

        def perform(**request: Any) -> Answer:
            key = self._get_key(request)
            return self._process.perform(kind, name, key, lambda: call(**request))

        return perform

    def _get_key(self, request: Answer) -> str:
        """The partition key of an item, or the name of an object."""
        key: str = request.get("Key", "")
        return key


class FaultyDynamoDB(_FaultyClient):
    """Botocore's client of DynamoDB for one process. Each method may meet a fault."""

    kinds: ClassVar = {
        "get_item": OperationKind.READ,
        **dict.fromkeys(("put_item", "update_item", "delete_item"), OperationKind.WRITE),
        "transact_write_items": OperationKind.TRANSACTION,
    }

    def _get_key(self, request: Answer) -> str:
        item = request.get("Item", request.get("Key"))
        key: str = item["PK"]["S"] if item is not None else ""  # a transaction has many
        return key

    def query(self, **request: Any) -> Answer:
        """Query."""
        return self._perform_page("query", request)

    def scan(self, **request: Any) -> Answer:
        """Scan."""
        return self._perform_page("scan", request)

    def batch_get_item(self, **request: Any) -> Answer:
        """BatchGetItem."""
        return self._perform_batch("batch_get_item", request, "UnprocessedKeys")

    def batch_write_item(self, **request: Any) -> Answer:
        """BatchWriteItem."""
        return self._perform_batch("batch_write_item", request, "UnprocessedItems")

    def batch_execute_statement(self, **request: Any) -> Answer:
        """BatchExecuteStatement. Each statement may be throttled while others are carried out."""
        statements: list[Any] = request["Statements"]
        keys = [item["PK"]["S"] for item in parse_statements(request)]

        def perform_all() -> Answer:
            return self._execute(statements, [not self._process.is_throttled(key) for key in keys])

        def perform_partly(choices: Choices) -> Answer:
            self._process.fault_counts["throttled statement"] += 1
            return self._execute(statements, [choices.draw_bool(0.5) for _ in statements])

        # The key that a fault throttles from now on.
        return self._process.perform(
            *(OperationKind.STATEMENTS, "batch_execute_statement", keys[0]),
            perform_all,
            perform_partly,
        )

    def _execute(self, statements: list[Any], is_carried_out: list[bool]) -> Answer:
        """Carry out some statements. The others are throttled, in either of two words."""
        chosen = list(compress(statements, is_carried_out))
        answer = self._store.batch_execute_statement(Statements=chosen) if chosen else {}
        responses = iter(answer.get("Responses", ()))
        codes = cycle(("ThrottlingError", "ProvisionedThroughputExceeded"))
        return {
            "Responses": [
                next(responses) if done else build_statement_error(next(codes), "slow down")
                for done in is_carried_out
            ]
        }

    def _perform_page(self, name: str, request: Answer) -> Answer:
        call = getattr(self._store, name)

        def read_short_page(choices: Choices) -> Answer:
            # A page ends at 1 MB, so it may have fewer items than the limit.
            limit = min(request.get("Limit", 1000), 1 + choices.draw_number(2))
            return dict(call(**{**request, "Limit": limit}))

        return self._process.perform(
            OperationKind.QUERY, name, "", lambda: call(**request), read_short_page
        )

    def _perform_batch(self, name: str, request: Answer, unprocessed_name: str) -> Answer:
        call = getattr(self._store, name)

        def perform_partly(choices: Choices) -> Answer:
            ((table, batch),) = request["RequestItems"].items()
            requests = batch["Keys"] if isinstance(batch, Mapping) else batch
            done = choices.draw_number(len(requests))
            answer: Answer = {"Responses": {table: []}}
            if done:
                answer = call(RequestItems={table: _replace_requests(batch, requests[:done])})
            return {**answer, unprocessed_name: {table: _replace_requests(batch, requests[done:])}}

        return self._process.perform(
            OperationKind.BATCH, name, "", lambda: call(**request), perform_partly
        )


def _replace_requests(batch: Any, requests: list[Any]) -> Any:
    """The same batch of reads or writes, with other requests in it."""
    return {**batch, "Keys": requests} if isinstance(batch, Mapping) else list(requests)


class FaultyS3(_FaultyClient):
    """Botocore's client of S3 for one process. Each method may meet a fault."""

    _writes = ("put_object", "copy_object", "delete_object")
    _reads = ("head_object", "get_object", "list_objects_v2")
    kinds: ClassVar = {
        **dict.fromkeys(_writes, OperationKind.OBJECT_WRITE),
        **dict.fromkeys(_reads, OperationKind.OBJECT_READ),
    }


class FaultyStreams(_FaultyClient):
    """Botocore's clients that describe a table and its stream, for one process."""

    kinds: ClassVar = dict.fromkeys(("describe_table", "describe_stream"), OperationKind.READ)


class FaultyMessages(_FaultyClient):
    """Botocore's clients of the queue and the bus, for one process. Entries may fail alone."""

    kinds: ClassVar = {}

    def send_message_batch(self, **request: Any) -> Answer:
        """SendMessageBatch."""

        def send_some(entries: list[Any], _failed: list[Any]) -> Answer:
            if not entries:
                return {}
            return dict(self._store.send_message_batch(**{**request, "Entries": entries}))

        return self._perform("send_message_batch", request["Entries"], send_some)

    def put_events(self, **request: Any) -> Answer:
        """PutEvents."""

        def put_some(entries: list[Any], failed: list[Any]) -> Answer:
            self._store.put_events(Entries=entries)
            refusal = {"ErrorCode": "ThrottlingException"}
            return {"Entries": [refusal if each in failed else {} for each in request["Entries"]]}

        return self._perform("put_events", request["Entries"], put_some)

    def _perform(
        self, name: str, entries: list[Any], carry_out: Callable[[list[Any], list[Any]], Answer]
    ) -> Answer:
        def carry_out_partly(choices: Choices) -> Answer:
            done = [each for each in entries if choices.draw_bool(0.5)]
            return carry_out(done, [each for each in entries if each not in done])

        return self._process.perform(
            *(OperationKind.MESSAGES, name, ""), lambda: carry_out(entries, []), carry_out_partly
        )
