"""Requests drawn from one seed: of a description, spoilt, and those that no client would send."""

from __future__ import annotations

import gzip
import json
import random
import re
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, unquote

from tests.support.api_client import Answer, Client

METHODS = ("GET", "PUT", "PATCH", "DELETE", "POST", "HEAD", "OPTIONS", "get", "X")
TEXTS = (
    *("", " ", "a", "b", "null", "true", "-1", "0", "1" * 30, "1_000", "+1", "NaN", "Infinity"),
    *("?", "%", "%3F", "%25", "%252F", "a/b", ".", "..", "#", "*", "a#b", '"', "\\", "'", "<b>"),
    *("2026-11", "2026-13", "2026-11-21", "2026-02-30", "9999-12-31", "0001-01-01", "1996-W53"),
    *("2026-11-21T01:05:40Z", "9999-12-31T23:59:59Z", "0001-01-01T00:00:00+14:00", "24:00:00"),
    *("2026-11-21T01:05:40+14:60", "\x00", "\ud800", "\udfff", "\ufffd", "\ufeff", "\u200f"),
    *("Caf\u00e9", "Cafe\u0301", "\U0001f600", "\u0661\u0662", "Stra\u00dfe", "\u0130", "\u2028"),
    *("x" * 300, "x" * 1_025, "x" * 2_049, "\u00e9" * 600, "\U0001f600" * 300, "=1+1", "__class__"),
)
NUMBERS = (
    *("0", "-0", "1", "-1", "2.50", "0.1", "1e2", "0.30000000000000001", "1e400", "-1e-400"),
    *("9007199254740993", "1" * 39, "9" * 130, "0." + "3" * 140, "1E-130", "1e125", "1e126"),
)
CODE_POINTS = (
    *((0, 0x20), (0x20, 0x7F), (0x80, 0x250), (0x300, 0x370), (0x590, 0x700), (0xD800, 0xE000)),
    *((0x2000, 0x2070), (0x3040, 0x3100), (0xAC00, 0xAD00), (0xFE00, 0x10000), (0x10000, 0x110000)),
)
"""Ranges of code points from which texts are drawn: controls, marks, surrogates, planes..."""
HEADERS = ("If-Match", "If-None-Match", "Idempotency-Key", "Content-Type", "Content-Encoding")
HEADER_TEXTS = (
    *('"1"', '"02"', 'W/"1"', "*", '"1", "2"', "k", "\u00e9", "", "application/json", "gzip"),
    *("text/plain", "application/json; charset=utf-16", "br", '"' * 9_000, "\x00", "application/"),
)


class Written(str):
    """A JSON value as it is written."""


@dataclass(frozen=True)
class DrawnRequest:
    """A request. ``is_raw``: a gateway has made ``path`` already, whatever it received.

    ``template``: of the path, if the request certainly reaches its operation.
    """

    method: str
    path: str
    query: str
    body: str | bytes | None
    headers: Mapping[str, str]
    is_raw: bool
    template: str | None

    def send(self, client: Client) -> Answer:
        """Send it."""
        if self.is_raw:
            return client.send(self.method, self.path, self.query, self.body, self.headers)
        url = f"{self.path}?{self.query}"
        return client(self.method, url, raw=self.body, content_type=None, **self.headers)


class RequestDrawer:
    """Draws requests from one seed. ``description``: the OpenAPI document of the API."""

    def __init__(self, seed: int, description: Mapping[str, Any]) -> None:
        self._rng = random.Random(seed)
        self._ids = deque(["a", "b"] * 3, maxlen=6)
        self._schemas = description["components"]["schemas"]
        self._operations = [
            (path, method, operation)
            for path, methods in sorted(description["paths"].items())
            for method, operation in sorted(methods.items())
        ]

    def draw(self) -> DrawnRequest:
        """The next request."""
        template, described, operation = self._rng.choice(self._operations)
        method = described.upper() if self._happens(0.95) else self._rng.choice(METHODS)
        parameters = operation.get("parameters", ())
        is_raw = self._happens(0.2)
        path = self._draw_path(template, parameters, is_raw=is_raw)
        body: str | bytes | None = None
        if "requestBody" in operation or self._happens(0.03):
            body = self._draw_body(operation)
        headers = {"content-type": "application/json"}
        for parameter in parameters:
            if parameter["in"] == "header" and (parameter["required"] or self._happens(0.1)):
                headers[parameter["name"]] = self._draw_header()
        if self._happens(0.05):
            headers[self._rng.choice(HEADERS)] = self._draw_header()
        is_plain = re.fullmatch(re.sub(r"{\w+}", r"[\\w-]+", template), path) is not None
        known = template if is_plain and method == described.upper() else None
        query = self._draw_query(parameters)
        return DrawnRequest(method, path, query, body, headers, is_raw, known)

    def keep_address(self, answer: Answer) -> None:
        """Draw the id of a new item again in later paths."""
        address = answer.headers.get("Location", "")
        if address:
            self._ids.append(unquote(address.rsplit("/", 1)[1]))

    def _happens(self, share: float) -> bool:
        return self._rng.random() < share

    def _draw_header(self) -> str:
        return self._rng.choice(HEADER_TEXTS) if self._happens(0.5) else f'"{self._rng.random()}"'

    # --- Paths and queries ------------------------------------------------------------------

    def _draw_path(self, template: str, parameters: Sequence[Any], *, is_raw: bool) -> str:
        path = template
        for parameter in parameters:
            if parameter["in"] == "path":
                text = self._draw_parameter(parameter)
                text = text if is_raw or self._happens(0.1) else _quote(text)
                path = path.replace(f"{{{parameter['name']}}}", text)
        if self._happens(0.03):
            path += self._rng.choice(["/", "//", "%", "%2", "%FF", "/" + "a" * 3_000, "/\ud800"])
        return path if is_raw else path.encode("utf-8", "replace").decode().partition("?")[0]

    def _draw_query(self, parameters: Sequence[Any]) -> str:
        pairs = []
        for parameter in parameters:
            if parameter["in"] == "query" and (parameter["required"] or self._happens(0.2)):
                pairs.append(f"{parameter['name']}={_quote(self._draw_parameter(parameter))}")
        if self._happens(0.05):
            pairs.append(self._rng.choice(["%ff", "a=%f", "&&", "=", "limit", "x=1&x=2", "\ud800"]))
        return "&".join(pairs)

    def _draw_parameter(self, parameter: Mapping[str, Any]) -> str:
        if self._happens(0.85):
            schema = parameter["schema"]
            examples = [parameter.get("example"), schema.get("default")]
            good = [str(each) for each in examples if each is not None]
            return self._rng.choice([*good, "1", "2026-11-21", *self._ids])
        return self._draw_text()

    # --- Bodies -----------------------------------------------------------------------------

    def _draw_body(self, operation: Mapping[str, Any]) -> str | bytes:
        content = operation.get("requestBody", {}).get("content", {})
        schema = self._resolve(content.get("application/json", {}).get("schema", {}))
        example = (schema.get("examples") or [{}])[0]
        kinds: Sequence[tuple[int, Callable[[], str | bytes]]] = (
            (5, lambda: self._write(example)),
            (10, lambda: self._write(self._spoil(example, schema.get("properties", ())))),
            (2, lambda: self._write(self._draw_value(4))),
            (3, lambda: self._draw_hostile(self._write(example), schema)),
        )
        (draw,) = self._rng.choices([kind for _, kind in kinds], [weight for weight, _ in kinds])
        return draw()

    def _resolve(self, schema: Mapping[str, Any]) -> Mapping[str, Any]:
        if "$ref" in schema:
            resolved: Mapping[str, Any] = self._schemas[schema["$ref"].rsplit("/", 1)[1]]
            return resolved
        return schema

    def _spoil(self, value: Any, names: Iterable[str] = ()) -> Any:
        """A value with another one at some depth, with one more name, or with one less."""
        if isinstance(value, dict) and value and self._happens(0.9):
            name = self._rng.choice([*value, *names, self._draw_text()])
            if self._happens(0.1):
                return {each: inner for each, inner in value.items() if each != name}
            return {**value, name: self._spoil(value.get(name))}
        if isinstance(value, list) and value and self._happens(0.8):
            place = self._rng.randrange(len(value))
            return [*value[:place], self._spoil(value[place]), *value[place + 1 :]]
        return self._draw_value(3)

    def _draw_value(self, depth: int) -> Any:
        kind = self._rng.randrange(8 if depth else 5)
        if kind == 0:
            return self._rng.choice([None, True, False])
        if kind in (1, 2):
            return Written(self._rng.choice(NUMBERS)) if kind == 1 else self._rng.randint(-5, 5)
        if kind in (3, 4):
            return self._draw_text()
        if kind == 5:
            return [self._draw_value(depth - 1) for _ in range(self._rng.choice([0, 1, 2, 25]))]
        names = [self._rng.choice(["a", "price", "id", self._draw_text()]) for _ in range(3)]
        return {name: self._draw_value(depth - 1) for name in names[: self._rng.randint(0, 3)]}

    def _draw_text(self) -> str:
        if self._happens(0.6):
            return self._rng.choice(TEXTS)
        begin, end = self._rng.choice(CODE_POINTS)
        length = self._rng.choice([1, 2, 5, 40])
        return "".join(chr(self._rng.randrange(begin, end)) for _ in range(length))

    def _draw_hostile(self, text: str, schema: Mapping[str, Any]) -> str | bytes:
        """A body that is no JSON in UTF-8, or has much of something."""
        name = json.dumps(self._rng.choice(list(schema.get("properties", {})) or ["a"]))
        count = self._rng.choice([30, 300, 300, 3_000] if self._happens(0.98) else [60_000])
        opening, closing = self._rng.choice([("[", "]"), ('{"a":', "}")])
        deep = self._rng.choice([30, 31, 32, 33, 200, 201, 1_000])
        hostile: list[Callable[[], str | bytes]] = [
            lambda: text[: self._rng.randrange(len(text) + 1)],
            lambda: f"{text}{text}",
            lambda: f'{{"a":1,"a":{text}}}',
            lambda: f"\ufeff{text}",
            lambda: text.encode("utf-8", "surrogatepass") + b"\xff",
            lambda: text.encode("utf-16", "surrogatepass"),
            lambda: gzip.compress(text.encode("utf-8", "surrogatepass"), mtime=0),
            lambda: self._rng.randbytes(self._rng.randrange(60)),
            lambda: f"{{{name}:{opening * deep}1{closing * deep}}}",
            lambda: opening * count,
            lambda: f"{{{name}:[{','.join('1' * count)}]}}",
            lambda: json.dumps({str(place): 1 for place in range(count)}),
            lambda: f"{{{name}:{json.dumps({str(place): [] for place in range(count)})}}}",
            lambda: f'{{{name}:"{self._rng.choice("9é😀") * count}"}}',
            lambda: f"{{{name}:{'9' * count}}}",
            lambda: f'{{"{"n" * count}":1}}',
        ]
        return self._rng.choice(hostile)()

    def _write(self, value: Any) -> str:
        if isinstance(value, Written):
            return str(value)
        if isinstance(value, dict):
            pairs = (f"{self._write(name)}:{self._write(each)}" for name, each in value.items())
            return f"{{{','.join(pairs)}}}"
        if isinstance(value, list):
            return f"[{','.join(map(self._write, value))}]"
        return json.dumps(value, ensure_ascii=self._happens(0.5))


def _quote(text: str) -> str:
    return quote(text.encode("utf-8", "surrogatepass"), safe="")
