"""Checks of one item at a time: create, repeat, get, patch, delete, sections, versions, objects."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from daicho.declare.entity import Entity
from daicho.web.http.operation import Operation
from daicho_cli.smoke.calls import Checks, RefusedError, SmokeFailure, make_key
from daicho_cli.smoke.items import OBJECT, Item, ItemMaker, fill_path
from daicho_cli.smoke.report import Outcome

OTHER_ETAG = '"999999999"'
SECTION = "smoke"


class ItemChecks:
    """Drives the verbs of resources; each kind is checked of the first entity that has it."""

    def __init__(self, maker: ItemMaker, checks: Checks) -> None:
        self.maker, self.checks = maker, checks
        self.api, self.routes = maker.api, maker.routes

    def run(self) -> None:
        """Check every kind that the project has."""
        self._check_creation()
        self._check_verb("PATCH", "patch", "change with If-Match", self._patch)
        self._check_verb("GET", "get", "read with its ETag", self._get)
        self._check_verb("DELETE", "delete", "remove", self._delete)
        self._check_feature("section", self.routes.split, self._use_section)
        self._check_feature("versions", self.routes.versioned, self._use_versions)
        self._check_feature("object", self.routes.with_objects, self._use_object)

    def _check_creation(self) -> None:
        """Create an item, and send the request a second time under the same key."""
        keyed = [
            entity
            for entity in self.routes.entities
            if any(each.accepts_idempotency_key for each in self.routes.find_creations(entity))
        ]
        try_each(
            self.checks, "create", "create, and repeat under one key", keyed, self._create_twice
        )

    def _create_twice(self, entity: type[Entity]) -> str:
        (operation, *_) = (
            each for each in self.routes.find_creations(entity) if each.accepts_idempotency_key
        )
        path, body = self.maker.prepare(operation, entity)
        key = make_key()
        first, second = (
            self.api.send(operation.method, path, body=body, headers=key) for _ in range(2)
        )
        item = self.maker.read_item(operation, entity, path, first)
        self.maker.created.append(item)
        repeated = self.maker.read_item(operation, entity, path, second)
        if repeated.key != item.key or repeated.etag != item.etag:
            raise SmokeFailure(f"the repeat created {repeated.key} {repeated.etag}")
        return f"{operation.method} {operation.path}"

    def _check_verb(
        self, method: str, kind: str, name: str, use: Callable[[Item, Operation], None]
    ) -> None:
        having = [each for each in self.routes.entities if self.routes.find_item(each, method)]

        def check(entity: type[Entity]) -> str:
            operation = self.routes.find_item(entity, method)
            assert operation is not None  # noqa: S101  # the list above has no other
            use(self.maker.create(entity), operation)
            return f"{method} {operation.path}"

        try_each(self.checks, kind, name, having, check)

    def _check_feature(
        self, name: str, entities: Iterable[type[Entity]], use: Callable[[Item], str]
    ) -> None:
        try_each(self.checks, name, name, entities, lambda entity: use(self.maker.create(entity)))

    def _get(self, item: Item, operation: Operation) -> None:
        answer = self.api.send("GET", item.path)
        values = answer.json()
        shown = {name: values[name] for name in item.key if name in values}
        if not shown.items() <= item.key.items():
            raise SmokeFailure(f"{operation.id} of {item.path} shows another item: {shown}")
        etag = answer.headers.get("etag")
        if etag:
            self.api.send("GET", item.path, headers={"if-none-match": etag}, statuses=(304,))

    def _patch(self, item: Item, operation: Operation) -> None:
        path = item.path or fill_path(operation, operation.variants[0], item.values)
        body = self.maker.make_body(operation) or {}
        specs = item.entity.fields_
        change = {
            name: value
            for name, value in body.items()
            if name not in specs
            or (specs[name].role == "plain" and specs[name].transitions is None)
        }
        if item.etag:
            late = {"if-match": OTHER_ETAG, **make_key()}
            self.api.send("PATCH", path, body=change, headers=late, statuses=(412,))
        headers = {"if-match": item.etag} if item.etag else {}
        answer = self.api.send("PATCH", path, body=change, headers={**headers, **make_key()})
        shown = answer.json()
        wrong = [name for name in change if name in shown and shown[name] != change[name]]
        if wrong:
            raise SmokeFailure(f"PATCH {path} did not change {', '.join(wrong)}")

    def _delete(self, item: Item, operation: Operation) -> None:
        path = item.path or fill_path(operation, operation.variants[0], item.values)
        self.api.send("DELETE", path, statuses=(204,), headers=make_key())
        if self.routes.find_item(item.entity, "GET"):
            self.api.send("GET", path, statuses=(404,))
        self.maker.created.remove(item)

    def _use_section(self, item: Item) -> str:
        path, value = f"{item.path}/{SECTION}", {"text": "a section"}
        shown = self.routes.find_item(item.entity, "GET")
        self.api.send("PUT", path, body=value, headers=make_key())
        if self.api.read(path) != value:
            raise SmokeFailure(f"GET {path} shows another value")
        return f"PUT {shown.path if shown else path}/{SECTION}"

    def _use_versions(self, item: Item) -> str:
        operation = self.routes.find_item(item.entity, "PATCH")
        if operation is None:
            operation = self.routes.find_item(item.entity, "PUT")
        if operation is None:
            raise RefusedError(f"nothing changes a {item.entity.__name__}")
        body = self.maker.make_body(operation)
        first = item.values
        changed = _change_text(body, first)
        self.api.send(operation.method, item.path, body=changed, headers=make_key())
        shown = self.api.read(f"{item.path}/versions")["items"]
        numbers = sorted(row["version"] for row in shown)
        if len(numbers) < 2:  # the first one, and the changed one
            raise SmokeFailure(f"GET {item.path}/versions shows the versions {numbers}")
        one = self.api.read(f"{item.path}/versions/{numbers[0]}")
        if any(one.get(name) != value for name, value in first.items() if name in changed):
            raise SmokeFailure(f"version {numbers[0]} is not what was created")
        return f"GET {operation.path}/versions"

    def _use_object(self, item: Item) -> str:
        name = item.entity.object_fields_[0]
        upload = item.values[name]["upload"]
        headers = upload["headers"]
        sent = self.api.send_anonymous("PUT", upload["url"], content=OBJECT, headers=headers)
        if sent.is_error:
            raise SmokeFailure(f"the upload was answered {sent.status_code}: {sent.text[:200]}")
        received = self.api.send_anonymous("GET", self.api.read(item.path)[name]["url"])
        if received.is_error or received.content != OBJECT:
            raise SmokeFailure(f"the download was answered {received.status_code}")
        return f"{item.entity.__name__}.{name}: upload, download"


def try_each(
    checks: Checks,
    kind: str,
    name: str,
    candidates: Iterable[Any],
    check: Callable[[Any], str],
) -> None:
    """Check a kind of route of the first candidate that accepts its example.

    ``check`` returns the subject of the result: what was driven.
    """
    candidates = list(candidates)
    if not candidates:
        checks.add(kind, name, Outcome.NOT_DECLARED)
        return
    subject, refusals = [kind], []
    with checks.check(kind, name):
        for candidate in candidates:
            try:
                subject.append(check(candidate))
            except RefusedError as refusal:
                refusals.append(str(refusal))
            else:
                break
        else:
            raise SmokeFailure("; ".join(refusals))
    checks.name_last(" ".join(subject[1:]) or kind)


def _change_text(body: dict[str, Any], first: Any) -> dict[str, Any]:
    """A body with a text that differs from the first version's."""
    for name, value in body.items():
        if isinstance(value, str) and first.get(name) == value:
            return {**body, name: f"{value} 2"}
    return body
