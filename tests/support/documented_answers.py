"""Answers of the API beside its description: status, media type, headers and body."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar
from urllib.parse import parse_qsl

from jsonschema import Draft202012Validator  # type: ignore[import-untyped]

from daicho.web.http.operation import VARIABLE, Operation, get_shape
from tests.support.api_client import Answer, segment
from tests.support.described_routes import IDS, RANGE, VALUES, DescribedRoutes

Send = Callable[..., Answer]
T = TypeVar("T")
Reached = dict[tuple[str, str], set[int]]


@dataclass
class AnswerChecker:
    """Compares answers with a description, and keeps the statuses that each operation had."""

    description: Mapping[str, Any]
    reached: Reached = field(default_factory=dict)

    def check(self, method: str, path: str, answer: Answer) -> None:
        """Compare an answer of the operation at ``path``, which is a template."""
        described = self._find_response(method, path, answer)
        content = described.get("content", {})
        given = {name.lower(): value for name, value in answer.headers.items()}
        if not content:
            assert answer.text == "", (answer.request, answer.status)
        else:
            media_type = given["content-type"].partition(";")[0]
            assert media_type in content, (answer.request, media_type, sorted(content))
            schema = content[media_type]["schema"] | {"components": self.description["components"]}
            errors = [
                each.message for each in Draft202012Validator(schema).iter_errors(answer.json)
            ]
            assert not errors, (answer.request, answer.text[:500], errors)
        if answer.status == 201:
            promised = {name.lower() for name in described.get("headers", {})}
            assert promised <= set(given), (answer.request, promised)
        self.reached.setdefault((method, path), set()).add(answer.status)

    def _find_operation(self, method: str, path: str) -> Any:
        return self.description["paths"][path][method.lower()]

    def _find_response(self, method: str, path: str, answer: Answer) -> Any:
        responses = self._find_operation(method, path)["responses"]
        documented = (answer.request, answer.status, answer.text[:300], sorted(responses))
        assert str(answer.status) in responses, documented
        found = responses[str(answer.status)]
        if "$ref" in found:
            return self.description["components"]["responses"][found["$ref"].rsplit("/", 1)[1]]
        return found


@dataclass
class Replay:
    """Sends requests to every operation, to items that it makes first.

    ``fields``: values of bodies that replace those of the examples. ``ids``, ``values``: of the
    items that were made, by the beginning of their paths, and by the name of a parameter.
    """

    routes: DescribedRoutes
    checker: AnswerChecker
    send: Send
    fields: Mapping[str, Any] = field(default_factory=dict)
    ids: dict[str, str] = field(default_factory=dict)
    values: dict[str, str] = field(default_factory=lambda: dict(VALUES))

    def make_items(self) -> None:
        """Make an item wherever a PUT or a POST makes one; remember the ids of POST."""
        for operation in self.routes.all:
            if operation.method == "PUT" or (operation.method == "POST" and operation.body):
                self._keep_id(self.answer(operation))

    def answer(self, operation: Operation, url: str = "", **options: Any) -> Answer:
        """The checked answer to a good request, or to one that ``options`` change."""
        headers = options.pop("headers", {})
        sent = options or {"body": self._make_body(operation)}
        answer = self.send(operation.method, url or self.build_url(operation), **sent, **headers)
        self.checker.check(operation.method, operation.path, answer)
        return answer

    def build_url(self, operation: Operation, **query: str) -> str:
        """A good URL of an operation, with the ids of the items that were made."""
        shape = ""
        for word in operation.path.strip("/").split("/"):
            shape += f"/{get_shape(word)}"
            if variable := VARIABLE.fullmatch(word):
                id = self.ids.get(shape) or segment(IDS.get(variable[1], "x"))
                shape = f"{shape[:-2]}{id}"
        variant = next(
            (each for each in operation.variants if set(query) <= each.allowed),
            operation.variants[0],
        )
        asked = {name: self.values.get(name, "x") for name in sorted(variant.needed)}
        asked |= {name: text for name, text in RANGE.items() if name in asked} | query
        pairs = "&".join(f"{name}={segment(value)}" for name, value in asked.items())
        return f"{shape}?{pairs}" if pairs else shape

    def _keep_id(self, answer: Answer) -> None:
        location = {name.lower(): value for name, value in answer.headers.items()}.get("location")
        if location:
            path, _, query = location.partition("?")
            parent, _, id = path.rpartition("/")
            self.ids[f"{parent}/{{}}"] = id
            self.values |= dict(parse_qsl(query))

    def _make_body(self, operation: Operation) -> Any:
        body = self.routes.body_of(operation)
        if not isinstance(body, dict):
            return body
        return {name: self.fields.get(name, value) for name, value in body.items()}


def sort_by_harm(operations: Sequence[T]) -> list[T]:
    """Reads first, and what removes items last."""
    order = ("GET", "PUT", "PATCH", "POST", "DELETE")

    def get_place(operation: Any) -> int:
        return order.index(operation.method.upper())

    return sorted(operations, key=get_place)
