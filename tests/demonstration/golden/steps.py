"""One request of a scenario, and short ways to write one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Step:
    """A request. ``save``: names for fields of the answer; ``wait``: seconds that pass before."""

    method: str
    url: str
    body: Any = None
    headers: Mapping[str, str] = field(default_factory=dict)
    save: Mapping[str, str] = field(default_factory=dict)
    role: str = ""
    wait: float = 0.0

    def fill_in(self, saved: Mapping[str, str]) -> tuple[str, Any]:
        """The URL and the body with the values of earlier answers in them."""
        return _fill_in(self.url, saved), _fill_in(self.body, saved)


def get(
    url: str,
    *,
    save: Mapping[str, str] | None = None,
    role: str = "",
    wait: float = 0.0,
    **headers: str,
) -> Step:
    """A GET."""
    return Step("GET", url, None, headers, save or {}, role, wait)


def post(
    url: str, body: Any, *, save: Mapping[str, str] | None = None, role: str = "", **headers: str
) -> Step:
    """A POST."""
    return Step("POST", url, body, headers, save or {}, role)


def put(url: str, body: Any = None, *, wait: float = 0.0, **headers: str) -> Step:
    """A PUT."""
    return Step("PUT", url, body, headers, wait=wait)


def patch(url: str, body: Any, **headers: str) -> Step:
    """A PATCH."""
    return Step("PATCH", url, body, headers)


def delete(
    url: str, *, role: str = "", save: Mapping[str, str] | None = None, **headers: str
) -> Step:
    """A DELETE."""
    return Step("DELETE", url, None, headers, save or {}, role)


def _fill_in(value: Any, saved: Mapping[str, str]) -> Any:
    match value:
        case str():
            for name, text in saved.items():
                value = value.replace(f"{{{name}}}", text)
            return value
        case dict():
            return {name: _fill_in(each, saved) for name, each in value.items()}
        case _:
            return value
