"""Compare two OpenAPI 3.1 documents from the side of a client.

Compared are paths, operations, parameters, request bodies, answers with their headers, and who may
call. Not compared: descriptions, examples, tags and servers. The rules for schemas are in
`daicho_cli.upgrade.api.schemas`.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from daicho_cli.upgrade.api.forms import Document, resolve
from daicho_cli.upgrade.api.schemas import Difference, Direction, SchemaComparer
from daicho_cli.upgrade.change import Area, Change, Severity, join_names

METHODS = ("get", "put", "post", "delete", "options", "head", "patch", "trace")
VARIABLE = re.compile(r"\{[^}]*\}")
_Key = tuple[str, str]


def compare_apis(before: Document, after: Document) -> list[Change]:
    """The changes of an API. The same difference of several operations is one change."""
    operations: dict[Difference, list[str]] = defaultdict(list)
    for operation, difference in ApiComparer(before, after).compare():
        if operation not in operations[difference]:
            operations[difference].append(operation)
    return [
        Change(
            Area.API,
            difference.severity,
            difference.rule,
            difference.subject,
            difference.text
            if difference.subject in names
            else f"{difference.text} ({join_names(names, most=3)})",
        )
        for difference, names in operations.items()
    ]


@dataclass
class ApiComparer:
    """Compares the operations of two documents."""

    before: Document
    after: Document
    _requests: SchemaComparer = field(init=False)
    _answers: SchemaComparer = field(init=False)

    def __post_init__(self) -> None:
        documents = self.before, self.after
        self._requests = SchemaComparer(*documents, Direction.REQUEST)
        self._answers = SchemaComparer(*documents, Direction.ANSWER)

    def compare(self) -> Iterator[tuple[str, Difference]]:
        """All differences, each with the operation that has it (``GET /users``)."""
        old, new = _list_operations(self.before), _list_operations(self.after)
        for key in dict.fromkeys((*old, *new)):
            if key not in new:
                name = old[key][0]
                yield name, _breaking("removed-operation", name, f"{name} is removed")
            elif key not in old:
                name = new[key][0]
                text = f"{name} is added"
                yield name, Difference(Severity.COMPATIBLE, "added-operation", name, text)
            else:
                name = old[key][0]
                for difference in self._compare_operation(old[key][1], new[key][1], name):
                    yield name, difference

    def _compare_operation(
        self, old: Mapping[str, Any], new: Mapping[str, Any], name: str
    ) -> Iterator[Difference]:
        yield from self._compare_parameters(old, new)
        yield from self._compare_bodies(old, new)
        yield from self._compare_answers(old, new)
        yield from self._compare_security(old, new)
        if old.get("operationId") != new.get("operationId"):
            yield Difference(
                Severity.NOTICE,
                "changed-operation-id",
                name,
                f"{name}: operationId {old.get('operationId')} → {new.get('operationId')}, so "
                "generated clients have another function",
            )
        if new.get("deprecated") and not old.get("deprecated"):
            yield Difference(Severity.NOTICE, "deprecated", name, f"{name} is deprecated")

    def _compare_parameters(
        self, old: Mapping[str, Any], new: Mapping[str, Any]
    ) -> Iterator[Difference]:
        before = _list_parameters(old, self.before)
        after = _list_parameters(new, self.after)
        for key in dict.fromkeys((*before, *after)):
            parameter = (before.get(key) or after[key]).get("name", "")
            subject = f"{key[0]} parameter {parameter}"
            if key not in after:
                yield _breaking("removed-parameter", subject, f"{subject} is removed")
            elif key not in before:
                if after[key].get("required"):
                    text = f"{subject} is new and required"
                    yield _breaking("added-required-parameter", subject, text)
                else:
                    yield _compatible("added-parameter", subject, f"{subject} is added")
            else:
                yield from self._compare_parameter(before[key], after[key], subject)

    def _compare_parameter(
        self, old: Mapping[str, Any], new: Mapping[str, Any], subject: str
    ) -> Iterator[Difference]:
        if new.get("required") and not old.get("required"):
            yield _breaking("newly-required-parameter", subject, f"{subject} is required")
        elif old.get("required") and not new.get("required"):
            yield _compatible("newly-optional-parameter", subject, f"{subject} is optional")
        for name in ("style", "explode", "allowReserved"):
            if old.get(name) != new.get(name):
                text = f"{subject}: {name} {old.get(name)} → {new.get(name)}"
                yield _breaking("changed-encoding", subject, text)
        if new.get("deprecated") and not old.get("deprecated"):
            text = f"{subject} is deprecated"
            yield Difference(Severity.NOTICE, "deprecated", subject, text)
        schemas = old.get("schema", {}), new.get("schema", {})
        yield from self._requests.compare(*schemas, subject)
        contents = old.get("content", {}), new.get("content", {})
        yield from self._compare_contents(*contents, subject, self._requests)

    def _compare_bodies(
        self, old: Mapping[str, Any], new: Mapping[str, Any]
    ) -> Iterator[Difference]:
        before = resolve(old.get("requestBody", {}), self.before)
        after = resolve(new.get("requestBody", {}), self.after)
        subject = "request body"
        if before and not after:
            yield _breaking("removed-body", subject, f"{subject} is not accepted any more")
        elif after and not before:
            if after.get("required"):
                yield _breaking("added-required-body", subject, f"{subject} is new and required")
            else:
                yield _compatible("added-body", subject, f"{subject} is accepted")
        elif before:
            if after.get("required") and not before.get("required"):
                yield _breaking("newly-required-body", subject, f"{subject} is required")
            contents = before.get("content", {}), after.get("content", {})
            yield from self._compare_contents(*contents, subject, self._requests)

    def _compare_answers(
        self, old: Mapping[str, Any], new: Mapping[str, Any]
    ) -> Iterator[Difference]:
        before, after = old.get("responses", {}), new.get("responses", {})
        for status in dict.fromkeys((*before, *after)):
            subject = f"answer {status}"
            is_problem = status.startswith(("4", "5"))
            if status not in after:
                if is_problem:
                    yield _compatible("removed-problem", subject, f"{subject} does not occur")
                else:
                    yield _breaking("removed-answer", subject, f"{subject} is removed")
            elif status not in before:
                severity = Severity.COMPATIBLE if is_problem else Severity.NOTICE
                yield Difference(severity, "added-answer", subject, f"{subject} is added")
            else:
                yield from self._compare_answer(before[status], after[status], subject)

    def _compare_answer(
        self, old: Mapping[str, Any], new: Mapping[str, Any], subject: str
    ) -> Iterator[Difference]:
        old, new = resolve(old, self.before), resolve(new, self.after)
        before, after = old.get("headers", {}), new.get("headers", {})
        for name in dict.fromkeys((*before, *after)):
            header = f"header {name} of {subject}"
            if name not in after:
                yield _breaking("removed-header", header, f"{header} is removed")
            elif name not in before:
                yield _compatible("added-header", header, f"{header} is added")
            else:
                schemas = [
                    resolve(headers[name], document).get("schema", {})
                    for headers, document in ((before, self.before), (after, self.after))
                ]
                yield from self._answers.compare(schemas[0], schemas[1], header)
        contents = old.get("content", {}), new.get("content", {})
        yield from self._compare_contents(*contents, subject, self._answers)

    def _compare_contents(
        self,
        before: Mapping[str, Any],
        after: Mapping[str, Any],
        subject: str,
        schemas: SchemaComparer,
    ) -> Iterator[Difference]:
        """The media types of a body, a parameter or an answer."""
        for kind in dict.fromkeys((*before, *after)):
            if kind not in after:
                yield _breaking("removed-media-type", subject, f"{subject}: {kind} is removed")
            elif kind not in before:
                yield _compatible("added-media-type", subject, f"{subject}: {kind} is added")
            else:
                yield from schemas.compare(
                    before[kind].get("schema", {}), after[kind].get("schema", {}), subject
                )

    def _compare_security(
        self, old: Mapping[str, Any], new: Mapping[str, Any]
    ) -> Iterator[Difference]:
        """Who may call: each entry of ``security`` is enough; no entry means everybody."""
        before = old.get("security", self.before.get("security")) or [{}]
        after = new.get("security", self.after.get("security")) or [{}]
        lost = [each for each in before if each not in after and {} not in after]
        if lost:
            names = " or ".join(" and ".join(each) or "no token" for each in lost)
            text = f"authorization by {names} is not enough any more"
            yield _breaking("changed-security", "authorization", text)


def _list_operations(document: Document) -> dict[_Key, tuple[str, Mapping[str, Any]]]:
    """Operations by path without the names of its variables, and method."""
    operations: dict[_Key, tuple[str, Mapping[str, Any]]] = {}
    for path, item in document.get("paths", {}).items():
        entry = resolve(item, document)
        for method in METHODS:
            if method in entry:
                own = entry[method]
                parameters = [*entry.get("parameters", []), *own.get("parameters", [])]
                operations[VARIABLE.sub("{}", path), method] = (
                    f"{method.upper()} {path}",
                    {**own, "parameters": parameters, "path": path},
                )
    return operations


def _list_parameters(
    operation: Mapping[str, Any], document: Document
) -> dict[_Key, Mapping[str, Any]]:
    """By place and name; those of the path by their position, since their names are not sent."""
    positions = {name[1:-1]: i for i, name in enumerate(VARIABLE.findall(operation["path"]))}
    parameters: dict[_Key, Mapping[str, Any]] = {}
    for each in operation["parameters"]:
        parameter = resolve(each, document)
        place, name = parameter["in"], parameter["name"]
        if place == "path":
            key = str(positions.get(name, name))
        else:
            key = name.lower() if place == "header" else name
        parameters[place, key] = parameter
    return parameters


def _breaking(rule: str, subject: str, text: str) -> Difference:
    return Difference(Severity.BREAKING, rule, subject, text)


def _compatible(rule: str, subject: str, text: str) -> Difference:
    return Difference(Severity.COMPATIBLE, rule, subject, text)
