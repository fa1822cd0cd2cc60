"""Random requests to a DynamoDB table with Daicho's keys and indexes, the same for the same seed.

Most are valid, and on few items, so that they meet. The others are on the border of what DynamoDB
accepts, or beyond it.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

from tests.support.random_expressions import BORDERLINE_VALUES, ExpressionScope, Value

Request = dict[str, Any]
MethodCall = tuple[str, Request]

PARTITION_KEYS = ("a", "b")
SORT_KEYS = ("x", "y", "z")
INDEXES = ("GSI1", "GSI2", "GSI3")
ITEM_SIZE = 400 * 1024
KIND_OF_RETURN = ("NONE", "ALL_OLD", "ALL_NEW", "UPDATED_OLD", "UPDATED_NEW")
FAR_INDEX = "[9]"
"""Beyond the end of every list: the answer to the update shows what it has become."""
SELECTIONS = (
    *("COUNT", "COUNT", "ALL_ATTRIBUTES", "ALL_PROJECTED_ATTRIBUTES"),
    *("SPECIFIC_ATTRIBUTES", "SPECIFIC_ATTRIBUTES", "ALL"),
)
WRONG_KEY_VALUES: tuple[Value, ...] = (
    {"S": ""},
    {"N": "1"},
    {"B": b"a"},
    {"NULL": True},
    {"SS": ["a"]},
    {},
    {"S": "k" * 1024},
    {"S": "k" * 1025},
    {"S": "k" * 2048},
    {"S": "k" * 2049},
)


class RequestGenerator:
    """Draws requests from one seed."""

    def __init__(self, seed: int) -> None:
        self._rng = random.Random(seed)
        self._transaction: Request | None = None

    def forget_token(self) -> None:
        """Do not send the token of the last transaction again: the tables may disagree on it."""
        self._transaction = None

    def draw_request(self) -> MethodCall:
        """The name of a method of botocore's client, and what it is called with."""
        methods: dict[str, tuple[int, Callable[[], Request]]] = {
            "get_item": (2, self._draw_get),
            "put_item": (5, self._draw_put),
            "update_item": (8, self._draw_update),
            "delete_item": (3, self._draw_delete),
            "query": (6, self._draw_query),
            "batch_get_item": (1, self._draw_batch_get),
            "batch_write_item": (1, self._draw_batch_write),
            "transact_write_items": (3, self._draw_transaction),
        }
        weights = [weight for weight, _ in methods.values()]
        (method,) = self._rng.choices(list(methods), weights)
        return method, methods[method][1]()

    def _begin_scope(self) -> ExpressionScope:
        return ExpressionScope(self._rng)

    # --- Keys and items ----------------------------------------------------------------------

    def _draw_key(self) -> Request:
        key: Request = {
            "PK": {"S": self._rng.choice(PARTITION_KEYS)},
            "SK": {"S": self._rng.choice(SORT_KEYS)},
        }
        return self._break_key(key) if self._rng.random() < 0.04 else key

    def _break_key(self, key: Request) -> Request:
        name = self._rng.choice(list(key))
        kind = self._rng.random()
        if kind < 0.2:
            return {other: value for other, value in key.items() if other != name}
        if kind < 0.3:
            return {**key, "n": {"N": "1"}}
        if kind < 0.35:
            return {}
        return {**key, name: self._rng.choice(WRONG_KEY_VALUES)}

    def _draw_item(self) -> Request:
        scope = self._begin_scope()
        kinds = {"n": "N", "s": "S", "b": "B", "ss": "SS", "ns": "NS", "bs": "BS", "flag": "BOOL"}
        kinds |= {"l": "L", "m": "M", "nothing": "NULL"}
        item = self._draw_key()
        for name in self._rng.sample(list(kinds), self._rng.randint(2, 9)):
            typed = scope.happens(0.95)
            item[name] = scope.draw_typed_value(kinds[name]) if typed else scope.draw_value()
        for index in INDEXES:
            if scope.happens(0.4):
                item |= self._draw_index_key(index)
        if scope.happens(0.02):
            item[self._rng.choice(("", "name", "k" * 100))] = scope.draw_value()
        if scope.happens(0.01):
            # Just an item of the limit's size, or one byte more; over it with another attribute.
            size = ITEM_SIZE - len("PK" + "a" + "SK" + "x" + "big") + self._rng.randint(0, 1)
            item = {"PK": {"S": "a"}, "SK": {"S": "x"}, "big": {"S": "é" * (size // 2)}}
            item |= {"n": {"N": "1"}} if scope.happens(0.3) else {}
        return item

    def _draw_index_key(self, index: str) -> Request:
        key: Request = {
            f"{index}PK": {"S": self._rng.choice(("i", "j"))},
            f"{index}SK": {"S": self._rng.choice(("1", "2"))},
            "copy": {"N": "1"},
        }
        kind = self._rng.random()
        if kind < 0.04:
            key[f"{index}{self._rng.choice(('PK', 'SK'))}"] = self._rng.choice(WRONG_KEY_VALUES)
        elif kind < 0.1:
            del key[f"{index}{self._rng.choice(('PK', 'SK'))}"]
        return key

    # --- One item ----------------------------------------------------------------------------

    def _draw_get(self) -> Request:
        scope = self._begin_scope()
        request: Request = {"Key": self._draw_key()}
        if scope.happens(0.5):
            request["ProjectionExpression"] = scope.draw_projection()
        if scope.happens(0.3):
            request["ConsistentRead"] = scope.happens(0.5)
        return self._finish(request, scope, takes_values=False)

    def _draw_put(self) -> Request:
        return self._draw_write({"Item": self._draw_item()}, ("NONE", "ALL_OLD"))

    def _draw_delete(self) -> Request:
        return self._draw_write({"Key": self._draw_key()}, ("NONE", "ALL_OLD"))

    def _draw_update(self) -> Request:
        scope = self._begin_scope()
        request: Request = {"Key": self._draw_key()}
        if scope.happens(0.97):
            request["UpdateExpression"] = scope.draw_update()
        request = self._draw_write(request, KIND_OF_RETURN, scope)
        if FAR_INDEX in request.get("UpdateExpression", ""):
            request["ReturnValues"] = "ALL_NEW"
        return request

    def _draw_write(
        self, request: Request, returns: tuple[str, ...], scope: ExpressionScope | None = None
    ) -> Request:
        scope = scope or self._begin_scope()
        self._add_condition(request, scope, 0.35)
        if scope.happens(0.6):
            wrong = scope.happens(0.03)
            request["ReturnValues"] = scope.pick((*KIND_OF_RETURN, "ALL") if wrong else returns)
        return self._finish(request, scope)

    def _add_condition(self, request: Request, scope: ExpressionScope, probability: float) -> None:
        if scope.happens(probability):
            request["ConditionExpression"] = scope.draw_condition()
        if scope.happens(0.3):
            wrong = scope.happens(0.02)
            request["ReturnValuesOnConditionCheckFailure"] = (
                "ALL_NEW" if wrong else scope.pick(("ALL_OLD", "NONE"))
            )

    def _finish(
        self, request: Request, scope: ExpressionScope, *, takes_values: bool = True
    ) -> Request:
        """Add the placeholders; break an expression or the placeholders now and then."""
        texts = [name for name in request if name.endswith("Expression")]
        if texts and scope.happens(0.04):
            name = scope.pick(texts)
            request[name] = scope.break_text(request[name])
        names, values = dict(scope.names), dict(scope.values)
        if scope.happens(0.02):
            self._break_placeholders(scope, names, values)
        if names or scope.happens(0.005):
            request["ExpressionAttributeNames"] = names
        if takes_values and (values or scope.happens(0.005)):
            request["ExpressionAttributeValues"] = values
        return request

    def _break_placeholders(
        self, scope: ExpressionScope, names: dict[str, str], values: dict[str, Value]
    ) -> None:
        kind = scope.rng.random()
        if kind < 0.2:
            names[scope.pick(("#unused", "unused", "#", "#a-b", "#a b"))] = "n"
        elif kind < 0.4:
            key = scope.pick((":unused", "unused", ":", ":a-b"))
            values[key] = scope.pick(({"N": "1"}, *BORDERLINE_VALUES))
        elif kind < 0.6 and names:
            names.pop(scope.pick(list(names)))
        elif kind < 0.8 and values:
            values.pop(scope.pick(list(values)))
        elif names:
            names[scope.pick(list(names))] = scope.pick(("", "PK", "n" * 65536, "a.b", "size"))

    # --- Queries -----------------------------------------------------------------------------

    def _draw_query(self) -> Request:
        scope = self._begin_scope()
        index = self._rng.choice(("", "", *INDEXES))
        request: Request = {"IndexName": index} if index else {}
        if scope.happens(0.99):
            request["KeyConditionExpression"] = self._draw_key_condition(scope, index)
        if scope.happens(0.3):
            request["FilterExpression"] = scope.draw_condition()
        if scope.happens(0.25):
            request["ProjectionExpression"] = scope.draw_projection()
        if scope.happens(0.15):
            request["Select"] = scope.pick(SELECTIONS)
        if scope.happens(0.4):
            request["Limit"] = (
                scope.pick((1, 1, 2, 2, 3)) if scope.happens(0.97) else scope.pick((0, -1))
            )
        if scope.happens(0.3):
            request["ScanIndexForward"] = scope.happens(0.3)
        if scope.happens(0.2):
            request["ConsistentRead"] = scope.happens(0.5) if not index else scope.happens(0.1)
        if scope.happens(0.25):
            request["ExclusiveStartKey"] = self._draw_start_key(index, scope)
        if scope.happens(0.01):
            request["IndexName"] = scope.pick(("GSI9", "", "GSI1"))
        return self._finish(request, scope)

    def _draw_start_key(self, index: str, scope: ExpressionScope) -> Request:
        """Most often one in the queried partition: that is the first value of the query."""
        queried = next(iter(scope.values.values()), {"S": "a"})
        partition = queried if scope.happens(0.97) else {"S": scope.pick(("a", "i"))}
        key = self._draw_key()
        if index:
            key |= {f"{index}PK": partition, f"{index}SK": {"S": scope.pick(("1", "2"))}}
        else:
            key["PK"] = partition
        return self._break_key(key) if scope.happens(0.05) else key

    def _draw_key_condition(self, scope: ExpressionScope, index: str) -> str:
        partition_values = ("i", "j") if index else PARTITION_KEYS
        value: Value = {"S": scope.pick(partition_values)}
        if scope.happens(0.03):
            value = scope.pick(WRONG_KEY_VALUES)
        name, sort = f"{index}PK", f"{index}SK"
        first = f"{scope.define_name(name) if scope.happens(0.5) else name} = "
        first += scope.define_value(value)
        if scope.happens(0.08):
            return self._draw_odd_key_condition(scope, name, sort, first)
        if scope.happens(0.5):
            return first
        parts = [first, self._draw_sort_condition(scope, sort)]
        if scope.happens(0.15):
            parts.reverse()
        if scope.happens(0.1):
            parts = [f"({part})" for part in parts]
        joined = " AND ".join(parts)
        return f"({joined})" if scope.happens(0.05) else joined

    def _draw_sort_value(self, scope: ExpressionScope) -> str:
        if scope.happens(0.04):
            return scope.define_value(scope.pick(WRONG_KEY_VALUES))
        return scope.define_value({"S": scope.pick(("1", "2", "x", "y", "z"))})

    def _draw_sort_condition(self, scope: ExpressionScope, sort: str) -> str:
        name = scope.define_name(sort) if scope.happens(0.3) else sort
        kind = self._rng.random()
        if kind < 0.6:
            comparison = scope.pick(("=", "<", "<=", ">", ">="))
            return f"{name} {comparison} {self._draw_sort_value(scope)}"
        if kind < 0.8:
            low, high = self._draw_sort_value(scope), self._draw_sort_value(scope)
            return f"{name} BETWEEN {low} AND {high}"
        return f"begins_with({name}, {self._draw_sort_value(scope)})"

    def _draw_odd_key_condition(
        self, scope: ExpressionScope, name: str, sort: str, first: str
    ) -> str:
        value = self._draw_sort_value(scope)
        return scope.pick(
            (
                f"{first} OR {sort} = {value}",
                f"{first} AND {sort} <> {value}",
                f"{first} AND {sort} = {value} AND {sort} = {value}",
                f"{first} AND {sort} > {value} AND {sort} < {value}",
                f"{first} AND n = {value}",
                f"{first} AND {name} = {value}",
                f"{first} AND {sort}.k = {value}",
                f"{first} AND {sort}[0] = {value}",
                f"{first} AND size({sort}) = {value}",
                f"{first} AND contains({sort}, {value})",
                f"{first} AND attribute_exists({sort})",
                f"{first} AND {sort} IN ({value})",
                f"{first} AND {sort} = {name}",
                f"{first} AND NOT {sort} = {value}",
                f"{first} AND {value} = {sort}",
                f"{first} AND {value} < {sort}",
                f"(({first}))",
                f"({first}) AND (({sort} = {value}))",
                f"{name} > {value}",
                f"{sort} = {value}",
                f"n = {value}",
                f"begins_with({name}, {value})",
                f"{name} BETWEEN {value} AND {value}",
                f"{name} IN ({value})",
                f"{value} = {name}",
                f"{name} = {name}",
                f"{first} AND {sort} BETWEEN {value} AND {name}",
            )
        )

    # --- Many items --------------------------------------------------------------------------

    def _draw_batch_get(self) -> Request:
        scope = self._begin_scope()
        count = self._rng.choice((1, 2, 3))
        keys = [self._draw_key() for _ in range(count)]
        if scope.happens(0.8):
            keys = list({str(key): key for key in keys}.values())
        if scope.happens(0.04):
            keys = []
        elif scope.happens(0.04):
            number = scope.pick((100, 101))
            keys = [{"PK": {"S": "a"}, "SK": {"S": str(place)}} for place in range(number)]
        batch: Request = {"Keys": keys}
        if scope.happens(0.3):
            batch["ProjectionExpression"] = scope.draw_projection()
        if scope.happens(0.3):
            batch["ConsistentRead"] = scope.happens(0.5)
        return {
            "RequestItems": {"table": self._finish(batch, scope, takes_values=False)}
            if scope.happens(0.98)
            else {}
        }

    def _draw_batch_write(self) -> Request:
        chance = self._rng.random
        requests: list[Request] = []
        for _ in range(self._rng.choice((1, 2, 3))):
            put: Request = {"PutRequest": {"Item": self._draw_item()}}
            delete: Request = {"DeleteRequest": {"Key": self._draw_key()}}
            kind = chance()
            requests.append(put if kind < 0.6 else delete if kind < 0.98 else {**put, **delete})
        if chance() < 0.05:
            requests = []
        elif chance() < 0.05:
            number = self._rng.choice((25, 26))
            keys = [{"PK": {"S": "b"}, "SK": {"S": str(place)}} for place in range(number)]
            requests = [{"DeleteRequest": {"Key": key}} for key in keys]
        elif chance() < 0.02:
            requests.append({})
        return {"RequestItems": {"table": requests} if chance() < 0.98 else {}}

    def _draw_transaction(self) -> Request:
        chance = self._rng.random
        actions = [self._draw_action() for _ in range(self._rng.choice((1, 2, 2, 3)))]
        if chance() < 0.02:
            actions = []
        elif chance() < 0.02:
            number = self._rng.choice((100, 101))
            keys = [{"PK": {"S": "b"}, "SK": {"S": str(place)}} for place in range(number)]
            actions = [{"Delete": {"Key": key}} for key in keys]
        elif chance() < 0.01:
            actions.append({})
        request: Request = {"TransactItems": actions}
        if chance() < 0.3:
            return self._add_token(request)
        return request

    def _add_token(self, request: Request) -> Request:
        """A new token, or the one before with the same actions or with another one."""
        before = self._transaction
        if before is None or self._rng.random() < 0.6:
            token = f"token-{self._rng.getrandbits(64)}"
            self._transaction = {**request, "ClientRequestToken": token}
            return self._transaction
        if self._rng.random() < 0.5:
            return before
        key = {"PK": {"S": "a"}, "SK": {"S": "other"}}
        self._transaction = {**before, "TransactItems": [{"Delete": {"Key": key}}]}
        return self._transaction

    def _draw_action(self) -> Request:
        scope = self._begin_scope()
        verb = scope.pick(("Put", "Update", "Update", "Delete", "ConditionCheck"))
        request: Request = (
            {"Item": self._draw_item()} if verb == "Put" else {"Key": self._draw_key()}
        )
        if verb == "Update" and scope.happens(0.99):
            request["UpdateExpression"] = scope.draw_update().replace(FAR_INDEX, "[0]")
        self._add_condition(request, scope, 0.97 if verb == "ConditionCheck" else 0.3)
        return {verb: self._finish(request, scope)}
