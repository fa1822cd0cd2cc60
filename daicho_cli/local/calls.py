"""The first calls of a deployed API: what `daicho local up` sends, and prints to be pasted.

They come from the API's own description, so that a project needs to write none: an item as in the
example of a route that creates one, and the lists that then have it.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import httpx

from daicho_cli.local.instance import LocalError

SECONDS = 60
"""For one call: the first one starts the function."""
MAX_CHARACTERS = 400
"""Of an answer that is printed."""
MAX_CALLS = 6


@dataclass(frozen=True)
class Call:
    """One request; ``body`` is None for a GET."""

    method: str
    path: str
    body: Any = None

    def render(self) -> str:
        """The request as a command for a shell with ``URL`` and ``TOKEN``."""
        bearer = '-H "Authorization: Bearer $TOKEN"'
        if self.body is None:
            return f'curl -s {bearer} "$URL{self.path}"'
        text = shlex.quote(json.dumps(self.body, ensure_ascii=False))
        content = "-H 'Content-Type: application/json'"
        return f'curl -s -X {self.method} {bearer} {content} "$URL{self.path}" -d {text}'


def choose_calls(description: Mapping[str, Any]) -> list[Call]:
    """Calls that need nothing but a token: first one that creates an item, then lists.

    ``description``: the OpenAPI document of the API.
    """
    paths = {path: ways for path, ways in description["paths"].items() if "{" not in path}
    creating = next(_find_creations(paths), None)
    lists = [
        Call("GET", path)
        for path, ways in paths.items()
        if "get" in ways and _is_list(ways["get"]) and not _needs_more(ways["get"])
    ]
    own = [call for call in lists if creating and call.path == creating.path]
    others = [call for call in lists if call not in own]
    return [*([creating] if creating else []), *own, *others][:MAX_CALLS]


def make_first_call(stack: Mapping[str, Any]) -> tuple[list[Call], str]:
    """Send the first call of a deployed API; the calls, and the answer as a line to print.

    Raises:
        LocalError: the API does not answer, or refuses.
    """
    token = next(iter(stack["tokens"].values()))
    headers = {"authorization": f"Bearer {token}"}
    try:
        with httpx.Client(base_url=stack["url"], headers=headers, timeout=SECONDS) as api:
            calls = choose_calls(api.get("/openapi.json").raise_for_status().json())
            if not calls:
                return [], ""
            first = calls[0]
            answer = api.request(first.method, first.path, json=first.body)
    except httpx.HTTPError as error:
        raise LocalError(f"the deployed API does not answer: {error!r}; see make logs") from error
    if answer.is_error:
        raise LocalError(
            f"{first.method} {first.path} was answered {answer.status_code}: {answer.text[:500]}"
        )
    text = answer.text[:MAX_CHARACTERS]
    return calls, f"{first.method} {first.path} → {answer.status_code} {text}"


def _find_creations(paths: Mapping[str, Any]) -> Iterator[Call]:
    for path, ways in paths.items():
        content = ways.get("post", {}).get("requestBody", {}).get("content", {})
        media = content.get("application/json", {})
        if "example" in media:
            yield Call("POST", path, media["example"])


def _is_list(operation: Mapping[str, Any]) -> bool:
    return any(parameter.get("name") == "cursor" for parameter in operation.get("parameters", ()))


def _needs_more(operation: Mapping[str, Any]) -> bool:
    return any(parameter.get("required") for parameter in operation.get("parameters", ()))
