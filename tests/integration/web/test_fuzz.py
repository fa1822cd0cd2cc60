"""Requests drawn from the API's own description, and spoilt: never a 5xx, always a problem."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from daicho.derive import contributions, derived_items
from tests.support.api_client import Answer, Client, segment
from tests.support.deployment import Served
from tests.support.described_routes import DescribedRoutes
from tests.support.documented_answers import AnswerChecker
from tests.support.sample_project import SAMPLE_ROUTES
from tests.support.trials import scaled

ROUTES = SAMPLE_ROUTES

Draw = Callable[[st.SearchStrategy[Any]], Any]

nasty = st.one_of(
    st.sampled_from(
        [
            *("", " ", "#", "$23", "%", "a#b", "../..", "null", "-1", "0", "1" * 30, "true"),
            *("2026-11", "2026-11-21T01:05:40Z", "\u0000", "\ud7ff", "😀", "é", "ﬀ", "\u200f"),
            *("x" * 1_030, "x" * 2_100, "*", '"1"', "W/", "acme", "exact"),
            *(".", "..", "%2e", ".%2E", "\ufffd", "2026-11-21T01:05:40.123456789Z", "1996-13"),
        ]
    ),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=40),
)
numbers = st.one_of(st.integers(), st.floats(allow_nan=False), st.just(10**400))
leaves = st.none() | st.booleans() | numbers | nasty
rarely = st.sampled_from([False] * 5 + [True])
queries = st.one_of(
    st.sampled_from(["%ff", "a=%f", "&&", "=", "limit", "%", "a=1&a=2", "limit=5;", "cursor=%00"]),
    st.text(st.characters(max_codepoint=126), max_size=20),
)
anything = st.recursive(
    leaves,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(nasty, inner, max_size=3),
    max_leaves=8,
)
headers = st.fixed_dictionaries(
    {},
    optional={
        "if_match": nasty,
        "if_none_match": nasty,
        "idempotency_key": nasty,
        "accept_encoding": st.just("gzip"),
    },
)


def body_for(draw: Draw, schema: dict[str, Any], schemas: Mapping[str, Any]) -> Any:
    """The example of a body, some of its fields spoilt."""
    named = schemas[schema["$ref"].rsplit("/", 1)[1]]
    if "properties" not in named:
        return draw(anything)
    body = dict(named["examples"][0])
    for name in draw(st.lists(st.sampled_from(sorted(named["properties"])), max_size=2)):
        text = named["properties"][name].get("type") == "string"
        body[name] = draw(anything if draw(rarely) or not text else nasty)
    if draw(rarely):
        body[draw(nasty)] = draw(anything)
    return body


@st.composite
def requests(draw: Draw, description: Mapping[str, Any]) -> dict[str, Any]:
    paths, schemas = description["paths"], description["components"]["schemas"]
    operations = sorted((path, method) for path, item in paths.items() for method in item)
    path, method = draw(st.sampled_from(operations))
    described = paths[path][method]
    query: list[str] = []
    template: str | None = path
    for parameter in described.get("parameters", ()):
        name, place = parameter["name"], parameter["in"]
        fits = st.just("2026-11") if name == "month" else st.sampled_from(["x", "5"])
        text = draw(nasty if draw(rarely) else fits)
        value = segment(text)
        if place == "path":
            broken = draw(rarely) and draw(rarely)
            path = path.replace(f"{{{name}}}", "%FF" if broken else value)
            template = template if text and not set(text) & set("/?%") else None
        elif place == "query" and (parameter["required"] or draw(rarely)):
            query.append(f"{name}={value}")
    if draw(rarely):
        query.append(draw(queries))
    raw: str | bytes | None = None
    if "requestBody" in described:
        schema = described["requestBody"]["content"]["application/json"]["schema"]
        text = json.dumps(body_for(draw, schema, schemas))
        twice = f'{{"a":1,"a":{text}}}'
        raw = draw(st.sampled_from([text] * 8 + [text[:-1], text.encode(), "", text * 2, twice]))
    if method == "get" and draw(rarely):
        method, template = "head", None
    return {
        "template": template,
        "method": method.upper(),
        "url": f"{path}?{'&'.join(query)}" if query else path,
        "raw": raw,
        **(draw(headers) if draw(rarely) else {}),
    }


def test_no_request_breaks_the_api_and_what_was_written_can_be_derived(
    served: Served, routes: DescribedRoutes
) -> None:
    """One test, not two: they might run in different processes, each with a table of its own."""
    send_requests(served, routes.description)
    written = 0
    for item in served.list_items():
        if "type" in item:
            plan = routes.ledger.current_generation(item["type"]["S"]).plan
            derived_items.compute_index_rows(plan, item)
            contributions.compute_contributions(plan, item)
            written += 1
    assert written > 10
    served.catch_up()


def send_requests(served: Served, description: Mapping[str, Any]) -> None:
    checker = AnswerChecker(description)

    count = scaled(1_500, otherwise=500)

    @settings(max_examples=count, suppress_health_check=[HealthCheck.too_slow])
    @given(request=requests(description), tenant=st.sampled_from(["acme", "globex"]))
    def send(request: dict[str, Any], tenant: str) -> None:
        client = Client(served.handler, tenant)
        template, method = request.pop("template"), request.pop("method")
        answer = client(method, request.pop("url"), **request)
        check_answer(checker, template, method, answer)

    send()


def check_answer(checker: AnswerChecker, template: str | None, method: str, answer: Answer) -> None:
    """No answer is a 5xx, and each has the form that is promised; ``template``: of a known path.

    An answer may be ``null``, which is the value of a section.
    """
    assert answer.status < 500, (answer.request, answer.text)
    if not answer.headers:  # the gateway has refused the path
        return
    if method == "HEAD":
        assert answer.text == "", answer.request
        return
    if template is not None:
        checker.check(method, template, answer)
    if answer.status >= 400:
        assert answer.headers["Content-Type"] == "application/problem+json"
        assert answer.json["status"] == answer.status
    elif answer.text:
        assert answer.headers["Content-Type"] == "application/json"
        assert is_json(answer.text), (answer.request, answer.text[:500])


def is_json(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True
