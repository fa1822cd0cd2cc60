"""Compare two OpenAPI 3.1 documents from the side of a client.

Compared are paths, operations, parameters, request bodies, answers with their headers, and who may
call. Not compared: descriptions, examples, tags and servers. The rules for schemas are in
`daicho_cli.contract.schemas`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from daicho_cli.contract.change import (
    ContractChange,
    Difference,
    Severity,
    make_breaking,
    make_compatible,
)
from daicho_cli.contract.forms import Document, resolve
from daicho_cli.contract.parameters import VARIABLE, ParameterComparer
from daicho_cli.contract.schemas import SchemaComparer
from daicho_cli.contract.ways import Direction, find_operation_way

METHODS = ("get", "put", "post", "delete", "options", "head", "patch", "trace")
_Key = tuple[str, str]


def compare_descriptions(before: Document, after: Document) -> list[ContractChange]:
    """The changes of an API's contract. The same difference of several operations is one change.

    Paths, operations, parameters, bodies, answers with their headers, and roles are compared.
    Descriptions, examples, tags and servers are not.

    Raises:
        KeyError: a document refers to a component that it does not have.
    """
    operations: dict[Difference, dict[str, None]] = defaultdict(dict)
    for operation, difference in ApiComparer(before, after).compare():
        operations[difference].setdefault(operation)
    changes = [
        ContractChange(operations=tuple(names), **vars(difference))
        for difference, names in operations.items()
    ]
    return sorted(changes, key=lambda change: [*Severity].index(change.severity))


@dataclass
class ApiComparer:
    """Compares the operations of two documents."""

    before: Document
    after: Document
    _requests: SchemaComparer = field(init=False)
    _answers: SchemaComparer = field(init=False)
    _parameters: ParameterComparer = field(init=False)

    def __post_init__(self) -> None:
        documents = self.before, self.after
        self._requests = SchemaComparer(*documents, Direction.REQUEST)
        self._answers = SchemaComparer(*documents, Direction.ANSWER)
        self._parameters = ParameterComparer(*documents, self._requests)

    def compare(self) -> Iterator[tuple[str, Difference]]:
        """All differences, each with the operation that has it (``GET /users``)."""
        old, new = _list_operations(self.before), _list_operations(self.after)
        for key in dict.fromkeys((*old, *new)):
            if key not in new:
                name = old[key][0]
                yield name, _describe_removed(name)
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
        yield from self._parameters.compare(old, new)
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

    def _compare_bodies(
        self, old: Mapping[str, Any], new: Mapping[str, Any]
    ) -> Iterator[Difference]:
        before = resolve(old.get("requestBody", {}), self.before)
        after = resolve(new.get("requestBody", {}), self.after)
        subject, optional = "request body", find_operation_way("required-body")
        if before and not after:
            way = find_operation_way("removed-body")
            yield make_breaking("removed-body", subject, f"{subject} is not accepted any more", way)
        elif after and not before:
            if after.get("required"):
                text = f"{subject} is new and required"
                yield make_breaking("added-required-body", subject, text, optional)
            else:
                yield make_compatible("added-body", subject, f"{subject} is accepted")
        elif before:
            if after.get("required") and not before.get("required"):
                text = f"{subject} is required"
                yield make_breaking("newly-required-body", subject, text, optional)
            contents = before.get("content", {}), after.get("content", {})
            yield from self._requests.compare_contents(*contents, subject)

    def _compare_answers(
        self, old: Mapping[str, Any], new: Mapping[str, Any]
    ) -> Iterator[Difference]:
        before, after = old.get("responses", {}), new.get("responses", {})
        for status in dict.fromkeys((*before, *after)):
            subject = f"answer {status}"
            is_problem = status.startswith(("4", "5"))
            if status not in after:
                if is_problem:
                    yield make_compatible("removed-problem", subject, f"{subject} does not occur")
                else:
                    way = find_operation_way("removed-answer", kept=status)
                    yield make_breaking("removed-answer", subject, f"{subject} is removed", way)
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
                way = find_operation_way("removed-header")
                yield make_breaking("removed-header", header, f"{header} is removed", way)
            elif name not in before:
                yield make_compatible("added-header", header, f"{header} is added")
            else:
                schemas = [
                    resolve(headers[name], document).get("schema", {})
                    for headers, document in ((before, self.before), (after, self.after))
                ]
                yield from self._answers.compare(schemas[0], schemas[1], header)
        contents = old.get("content", {}), new.get("content", {})
        yield from self._answers.compare_contents(*contents, subject)

    def _compare_security(
        self, old: Mapping[str, Any], new: Mapping[str, Any]
    ) -> Iterator[Difference]:
        """Who may call: each entry of ``security`` is enough; no entry means everybody."""
        before = old.get("security", self.before.get("security")) or [{}]
        after = new.get("security", self.after.get("security")) or [{}]
        lost = [each for each in before if not any(_is_met(needed, each) for needed in after)]
        for requirement in lost:
            yield _describe_lost(requirement, after)
        admitted = [each for each in after if not any(_is_met(given, each) for given in before)]
        if admitted and not lost:
            text = "more callers are authorized"
            yield make_compatible("relaxed-security", "authorization", text)


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


def _is_met(needed: Mapping[str, Sequence[str]], given: Mapping[str, Sequence[str]]) -> bool:
    """Whether who has the schemes and roles ``given`` has those that are ``needed``."""
    return all(
        scheme in given and set(roles) <= set(given[scheme]) for scheme, roles in needed.items()
    )


def _describe_lost(
    requirement: Mapping[str, Sequence[str]], after: Sequence[Mapping[str, Sequence[str]]]
) -> Difference:
    """Callers with ``requirement``, who may not call any more."""
    similar = next((each for each in after if each.keys() == requirement.keys()), None)
    if similar is None:
        kept = f"authorization by {' and '.join(requirement) or 'no token'}"
        way = find_operation_way("changed-security", kept=kept)
        text = f"{kept} is not enough any more"
        return make_breaking("changed-security", "authorization", text, way)
    roles = " and ".join(sorted(_list_roles(similar) - _list_roles(requirement)))
    way = find_operation_way("changed-role", kept=roles)
    return make_breaking("changed-role", "role", f"the role {roles} is required", way)


def _list_roles(requirement: Mapping[str, Sequence[str]]) -> set[str]:
    return {role for roles in requirement.values() for role in roles}


def _describe_removed(name: str) -> Difference:
    """A removed operation, by its method and path."""
    method, _, path = name.partition(" ")
    kind = "removed-list" if method == "GET" else "removed-operation"
    way = find_operation_way(kind, method=method, path=path)
    return make_breaking("removed-operation", name, f"{name} is removed", way)
