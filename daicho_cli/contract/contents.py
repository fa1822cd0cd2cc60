"""Compare the media types of a body, a parameter or an answer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from daicho_cli.contract.change import Difference
from daicho_cli.contract.schemas import SchemaComparer
from daicho_cli.contract.ways import find_operation_way
from daicho_cli.severity import Severity


def compare_contents(
    before: Mapping[str, Any], after: Mapping[str, Any], subject: str, schemas: SchemaComparer
) -> Iterator[Difference]:
    """The differences of ``content``: media types, and the schema of each."""
    for kind in dict.fromkeys((*before, *after)):
        if kind not in after:
            way = find_operation_way("removed-media-type", kept=kind)
            yield make_breaking("removed-media-type", subject, f"{subject}: {kind} is removed", way)
        elif kind not in before:
            yield make_compatible("added-media-type", subject, f"{subject}: {kind} is added")
        else:
            yield from schemas.compare(
                before[kind].get("schema", {}), after[kind].get("schema", {}), subject
            )


def make_breaking(rule: str, subject: str, text: str, way: str) -> Difference:
    """A difference after which clients may fail, with the way to avoid it."""
    return Difference(Severity.BREAKING, rule, subject, text, way)


def make_compatible(rule: str, subject: str, text: str) -> Difference:
    """A difference that no client needs to know."""
    return Difference(Severity.COMPATIBLE, rule, subject, text)
