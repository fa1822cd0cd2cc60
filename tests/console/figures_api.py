"""A stand-in for the API of series and histograms: what a page sees of a small project.

It answers in the browser's place of the network, so that texts, zones and problems can be chosen.
"""

from __future__ import annotations

import datetime as dt
import json
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, urlsplit
from zoneinfo import ZoneInfo

from playwright.sync_api import Page, Route

ZONE = "Europe/Berlin"
LONG = "12345678901234567890123456789012.50"
"""A total with more digits than a number of JavaScript has."""
AS_OF = "2026-03-28T23:20:00Z"
STEPS = ("day", "week", "month", "quarter", "year")
EMPTY_EVERY = 5
"""Every fifth bucket of a series is empty, from the first one on."""
HISTOGRAM = [
    {"low": None, "high": "0", "count": 0},
    {"low": "0", "high": "5", "count": 3},
    {"low": "5", "high": "10.5", "count": 1},
    {"low": "10.5", "high": None, "count": 4},
]
_SCALAR = {"type": "string"}


def _describe(name: str, kind: str, summary: str, *parameters: str) -> dict[str, Any]:
    """An operation for a country with one query; a parameter that ends with ``?`` is optional."""
    schemas = {"live": {"type": "boolean"}, "step": {"anyOf": [{"enum": STEPS}, {"type": "null"}]}}
    names = [each.rstrip("?") for each in parameters]
    optional = [each for each in names if f"{each}?" in parameters]
    query = {"kind": kind, "name": f"Sale.{name}", "summary": summary, "entity": "Sale"}
    query |= {"required": [each for each in names if each not in optional], "optional": optional}
    query |= {"fixed": {}, "search_parameter": None, "searched": []}
    described = [{"name": "country", "in": "path", "required": True, "schema": _SCALAR}]
    described += [
        {"name": each, "in": "query", "required": False, "schema": schemas.get(each, _SCALAR)}
        for each in names
    ]
    properties = {"count": {"type": "integer"}, "figures": {"type": "object"}}
    schema = {"type": "object", "properties": properties}
    return {
        "get": {
            "operationId": name,
            "tags": ["sales"],
            "summary": summary,
            "parameters": described,
            "responses": {"200": {"content": {"application/json": {"schema": schema}}}},
            "x-daicho-queries": [query],
            "x-daicho-roles": [],
        }
    }


SERIES, GROUP = "Sum up Sale by country over time", "Count Sale by country"
DOCUMENT = {
    "openapi": "3.1.0",
    "paths": {
        "/countries/{country}/sales": _describe(
            "series_sales", "series", SERIES, "from", "to", "step?", "live?"
        ),
        "/countries/{country}": _describe("get_country", "total", GROUP, "live?"),
    },
    "components": {"schemas": {}},
}


@dataclass
class FiguresApi:
    """``queries``: the parameters of each request for a figure, in order."""

    queries: list[dict[str, str]] = field(default_factory=list)

    def serve(self, page: Page, url: str) -> None:
        """Answer the page's requests below ``url`` for the document and for figures."""
        page.route(f"{url}/openapi.json", lambda route: _answer(route, 200, DOCUMENT))
        page.route(f"{url}/countries/**", self._answer_figure)

    def _answer_figure(self, route: Route) -> None:
        address = urlsplit(route.request.url)
        query = {name: values[0] for name, values in parse_qs(address.query).items()}
        self.queries.append(query)
        if not address.path.endswith("/sales"):
            _answer(route, 200, {"country": "DE", **make_bucket(1), **_freshness(query)})
        elif query["from"] >= query["to"]:
            _answer(route, 422, make_problem("from", f"is not before to, {query['to']}"))
        else:
            step = query.get("step")
            buckets = make_buckets(query["from"], query["to"], daily=step == "day")
            _answer(
                route,
                200,
                {"zone": ZONE, "step": step, "buckets": buckets, **_freshness(query)},
            )


def _freshness(query: dict[str, str]) -> dict[str, Any]:
    return {"as_of": AS_OF, "rolled_up": "live" not in query}


def make_problem(name: str, message: str) -> dict[str, Any]:
    """The problem of one parameter."""
    named = [{"field": name, "message": message}]
    detail = f"{name} {message}"
    return {
        "type": "about:blank",
        "title": "Invalid request",
        "status": 422,
        "detail": detail,
        "errors": named,
    }


def make_buckets(since: str, until: str, *, daily: bool) -> list[dict[str, Any]]:
    """The buckets of a range of days, or one of all of it."""
    first, last = dt.date.fromisoformat(since), dt.date.fromisoformat(until)
    days = (last - first).days if daily else 1
    size = 1 if daily else (last - first).days
    buckets = []
    for place in range(days):
        start = first + dt.timedelta(days=place * size)
        end = start + dt.timedelta(days=size)
        named = {"label": str(start), "start": _find_midnight(start), "end": _find_midnight(end)}
        buckets.append(named | make_bucket(place if daily else 1))
    return buckets


def _find_midnight(day: dt.date) -> str:
    local = dt.datetime.combine(day, dt.time(), ZoneInfo(ZONE))
    return local.astimezone(dt.UTC).isoformat().replace("+00:00", "Z")


def make_bucket(place: int) -> dict[str, Any]:
    """The figures of one bucket: those of the second one have many digits."""
    count = 0 if place % EMPTY_EVERY == 0 else place + 7
    total = "0" if not count else LONG if place == 1 else f"{place * 10}.50"
    histogram = [{**bucket, "count": 0} for bucket in HISTOGRAM] if not count else HISTOGRAM
    price = {
        "count": count,
        "total": total,
        "mean": f"{place + 1}.250000000000" if count else None,
        "variance": None,
        "min": "0.10" if count else None,
        "max": "99.00" if count else None,
        "histogram": histogram,
    }
    return {"count": count, "total": total, "figures": {"price": price}}


def _answer(route: Route, status: int, content: Any) -> None:
    media_type = "application/problem+json" if status >= 400 else "application/json"
    route.fulfill(status=status, content_type=media_type, body=json.dumps(content))
