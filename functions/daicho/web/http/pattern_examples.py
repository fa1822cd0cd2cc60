"""Examples of the patterns that fields declare: a problem shows one instead of the pattern."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from pydantic import BaseModel

from daicho.declare.entity import Entity
from daicho.web.http.operation import Operation


def collect_pattern_examples(
    entities: Iterable[type[Entity]], operations: Iterable[Operation]
) -> dict[str, str]:
    """The first example of a field with each pattern, in entities and in bodies of functions."""
    models = [entity.model_ for entity in entities]
    models += [operation.body for operation in operations if operation.body is not None]
    return {pattern: example for model in models for pattern, example in _list_examples(model)}


def _list_examples(model: type[BaseModel]) -> Iterator[tuple[str, str]]:
    for field in model.model_fields.values():
        for limit in field.metadata:
            pattern = getattr(limit, "pattern", None)
            if pattern is not None and field.examples:
                # A pattern may be a compiled expression; Pydantic's error has its text.
                yield getattr(pattern, "pattern", pattern), str(field.examples[0])
