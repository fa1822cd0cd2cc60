"""The first calls of a deployed API: those that `daicho local up` prints to be pasted.

They come from the API's own description, so that a project needs to write none: an item as in the
example of a route that creates one, and the queries that then find it.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, urlencode

import httpx

from daicho.web.http.operation import Operation, QueryVariant
from daicho_cli.local.instance import LocalError

SECONDS = 60
"""For one call: the first one starts the function."""
MAX_CHARACTERS = 400
"""The maximum of an answer that is printed."""
STARTS = 3
MAX_CALLS = 6
MAX_COLUMNS = 76


@dataclass(frozen=True)
class Call:
    """One request; ``body`` is None for a GET."""

    method: str
    path: str
    body: Any = None

    def render(self) -> str:
        """The request as a command for a shell with ``URL`` and ``TOKEN``, in lines of a page."""
        parts = ['curl -s -H "Authorization: Bearer $TOKEN"', f'"$URL{self.path}"']
        if self.body is not None:
            text = shlex.quote(json.dumps(self.body, ensure_ascii=False))
            parts[1:1] = [f"-X {self.method} -H 'Content-Type: application/json'"]
            parts += [f"-d {text}"]
        command = " ".join(parts)
        return command if len(command) <= MAX_COLUMNS else " \\\n    ".join(parts)


def choose_calls(operations: Iterable[Operation], description: Mapping[str, Any]) -> list[Call]:
    """Calls that need nothing but a token: first one that creates an item, then queries.

    ``description``: the OpenAPI document of the operations, which has an example of each value.
    A query asks for values of the item that is created, where the item has them.
    """
    paths = {path: methods for path, methods in description["paths"].items() if "{" not in path}
    creation = next(_find_creations(paths), None)
    values = creation.body if creation else {}
    queries = [
        Call("GET", path)
        for operation in operations
        if operation.method == "GET" and operation.path in paths
        for variant in operation.variants
        for path in _fill_in(operation.path, variant, paths[operation.path]["get"], values)
    ]
    own = [call for call in queries if creation and call.path.startswith(creation.path)]
    others = [call for call in queries if call not in own]
    return [*([creation] if creation else []), *own, *others][:MAX_CALLS]


def make_first_call(
    operations: Iterable[Operation], stack: Mapping[str, Any]
) -> tuple[list[Call], str]:
    """Send the first query of a deployed API; the calls, and the answer as a line to print.

    No item is created: the data is the project's own. ``operations``: those that are deployed.

    Raises:
        LocalError: the API does not answer, or fails.
    """
    token = next(iter(stack["tokens"].values()))
    headers = {"authorization": f"Bearer {token}"}
    try:
        with httpx.Client(
            base_url=stack["url"], headers=headers, timeout=SECONDS, trust_env=False
        ) as api:
            description = _read_description(api)
            calls = choose_calls(operations, description)
            first = next((call for call in calls if call.body is None), None)
            if first is None:
                return calls, ""
            answer = api.get(first.path)
    except httpx.HTTPError as error:
        raise LocalError(f"the deployed API does not answer: {error!r}; see make logs") from error
    if answer.is_server_error:
        raise LocalError(
            f"{first.method} {first.path} was answered {answer.status_code}: {answer.text[:500]}"
        )
    text = answer.text[:MAX_CHARACTERS]
    return calls, f"{first.method} {first.path} → {answer.status_code} {text}"


def _read_description(api: httpx.Client) -> dict[str, Any]:
    """The API's description; on a busy machine, the first starts of a function may time out."""
    for _ in range(STARTS):
        answer = api.get("/openapi.json")
        if not answer.is_server_error:
            break
    description: dict[str, Any] = answer.raise_for_status().json()
    return description


def _find_creations(paths: Mapping[str, Any]) -> Iterator[Call]:
    for path, methods in paths.items():
        content = methods.get("post", {}).get("requestBody", {}).get("content", {})
        media = content.get("application/json", {})
        if "example" in media:
            yield Call("POST", path, media["example"])


def _fill_in(
    path: str, variant: QueryVariant, described: Mapping[str, Any], values: Mapping[str, Any]
) -> Iterator[str]:
    """The path with the parameters of a variant; nothing if one of them has no example."""
    examples = {each["name"]: each.get("example") for each in described.get("parameters", ())}
    needed = {
        parameter.name: parameter.only or values.get(parameter.name, examples.get(parameter.name))
        for parameter in variant.required
    }
    if None not in needed.values():
        yield f"{path}?{urlencode(needed, quote_via=quote)}" if needed else path
