"""References to Pydantic models that are built when they are first needed.

The declarations of a project have a few hundred models, and an instance of the API answers requests
to some of its routes. A model takes half a millisecond to build, so routes hold references.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import cache
from typing import Any

from daicho.runtime.frozen_dataclasses import dataclass


@dataclass(frozen=True)
class ModelRef:
    """A model that ``build`` makes of ``subjects``. Equal references refer to one model.

    ``subjects`` may be references: ``build`` gets their models. ``is_page``: whether the model is
    that of a list's page.
    """

    build: Callable[..., Any]
    subjects: tuple[Hashable, ...]
    is_page: bool = False


@cache
def _build_model(ref: ModelRef) -> Any:
    return ref.build(*map(resolve_model, ref.subjects))


def resolve_model(model: Any) -> Any:
    """The model of a reference, which is built once; anything else as it is."""
    return _build_model(model) if isinstance(model, ModelRef) else model
