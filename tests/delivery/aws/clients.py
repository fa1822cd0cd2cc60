"""Clients of the stores whose every method is an operation of an actor."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tests.delivery.actors import Actor, Kind
from tests.delivery.aws.dynamo import Dynamo
from tests.delivery.aws.objects import Objects
from tests.delivery.schedules.choices import Choices

Answer = dict[str, Any]


class DynamoClient:
    """Botocore's client of DynamoDB for one actor."""

    def __init__(self, store: Dynamo, actor: Actor) -> None:
        self._store = store
        self._actor = actor

    def get_item(self, **request: Any) -> Answer:
        return self._one(Kind.READ, "get_item", request["Key"], request)

    def put_item(self, **request: Any) -> Answer:
        return self._one(Kind.WRITE, "put_item", request["Item"], request)

    def update_item(self, **request: Any) -> Answer:
        return self._one(Kind.WRITE, "update_item", request["Key"], request)

    def delete_item(self, **request: Any) -> Answer:
        return self._one(Kind.WRITE, "delete_item", request["Key"], request)

    def query(self, **request: Any) -> Answer:
        def short(choices: Choices) -> Answer:
            # A page ends at 1 MB, and there may be less on it than is asked for.
            limit = min(request.get("Limit", 1000), 1 + choices.below(2))
            return self._store.query(**{**request, "Limit": limit})

        call = self._store.query
        return self._actor.do(Kind.QUERY, "query", "", lambda: call(**request), short)

    def transact_write_items(self, **request: Any) -> Answer:
        # botocore gives each call a token, which the SDK's repeat of the call carries too.
        request.setdefault("ClientRequestToken", self._actor.token())
        call = self._store.transact_write_items
        name = "transact_write_items"
        return self._actor.do(Kind.TRANSACTION, name, "", lambda: call(**request))

    def batch_get_item(self, **request: Any) -> Answer:
        return self._batch("batch_get_item", request, "UnprocessedKeys")

    def batch_write_item(self, **request: Any) -> Answer:
        return self._batch("batch_write_item", request, "UnprocessedItems")

    def _one(self, kind: Kind, name: str, key: Mapping[str, Any], request: Answer) -> Answer:
        call = getattr(self._store, name)
        return self._actor.do(kind, name, key["PK"]["S"], lambda: call(**request))

    def _batch(self, name: str, request: Answer, left: str) -> Answer:
        call = getattr(self._store, name)

        def partly(choices: Choices) -> Answer:
            ((table, asked),) = request["RequestItems"].items()
            inside = asked["Keys"] if isinstance(asked, Mapping) else asked
            done = choices.below(len(inside))
            wrap = (lambda some: {**asked, "Keys": some}) if isinstance(asked, Mapping) else list
            answer: Answer = {"Responses": {table: []}}
            if done:
                answer = call(RequestItems={table: wrap(inside[:done])})
            return {**answer, left: {table: wrap(inside[done:])}}

        return self._actor.do(Kind.BATCH, name, "", lambda: call(**request), partly)


class ObjectsClient:
    """Botocore's client of S3 for one actor."""

    def __init__(self, store: Objects, actor: Actor) -> None:
        self._store = store
        self._actor = actor

    def put_object(self, **request: Any) -> Answer:
        return self._do(Kind.LAY, "put_object", request)

    def copy_object(self, **request: Any) -> Answer:
        return self._do(Kind.LAY, "copy_object", request)

    def delete_object(self, **request: Any) -> Answer:
        return self._do(Kind.LAY, "delete_object", request)

    def head_object(self, **request: Any) -> Answer:
        return self._do(Kind.LOOK, "head_object", request)

    def get_object(self, **request: Any) -> Answer:
        return self._do(Kind.LOOK, "get_object", request)

    def list_objects_v2(self, **request: Any) -> Answer:
        return self._do(Kind.LOOK, "list_objects_v2", request)

    def _do(self, kind: Kind, name: str, request: Answer) -> Answer:
        call = getattr(self._store, name)
        return self._actor.do(kind, name, request.get("Key", ""), lambda: call(**request))
