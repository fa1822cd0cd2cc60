"""Requests that schemathesis draws from the OpenAPI document, and answers compared with it.

A *positive* case has the form that the document describes, a *negative* one has not. No answer may
be a 5xx, or contradict the document in status, headers, media type or body. A negative case must be
refused. A positive one must be accepted, except for what depends on the state of the table, and
for the rules of `IN_WORDS`, which JSON Schema cannot express and the document states in words::

    python -m tests.integration.api.fuzz --cases 20000 --seed 1
"""

from __future__ import annotations

import argparse
import contextlib
import copy
import re
import sys
import time
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote, urlsplit

import schemathesis
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis.errors import Unsatisfiable
from requests import Request
from schemathesis.checks import CHECKS, load_all_checks
from schemathesis.core.failures import FailureGroup
from schemathesis.core.transport import Response
from schemathesis.generation import GenerationMode
from schemathesis.generation.case import Case
from schemathesis.schemas import APIOperation

from daicho.web.http.operation import VARIABLE
from tests.support.api_client import Answer, Client, as_the_gateway_decodes
from tests.support.deployment import serving_in_memory
from tests.support.documented_answers import AnswerChecker, Replay, sort_by_harm
from tests.support.project_routes import PROJECT_ROUTES

AnyCase = Case[Any]
AnyOperation = APIOperation[Any, Any, Any, Any]
ADDRESS = "http://api"
REJECTED = "RejectedPositiveData"
"""The failure of a positive case that is refused."""
CHECKED = (
    *("not_a_server_error", "status_code_conformance", "content_type_conformance"),
    *("response_headers_conformance", "response_schema_conformance"),
    *("negative_data_rejection", "positive_data_acceptance"),
)
STATE = ("not-found", "not-unique", "precondition-failed", "reference-not-found", "bad-cursor")
STATE_OF_REQUESTS = ("idempotency-key-reused", "forbidden-transition")
"""Types of problems that depend on what was written before, or on another answer."""
IN_WORDS = (
    r"ask with|takes no parameter",  # parameters that only some queries of a path take
    r"valid integer; it is -?[0-9.]+0$",  # 5.0 is an integer of JSON Schema
    r"is part of a path, so it must not",
    r'(greater|less) than (or equal to )?[0-9.-]+(; it is ".*)?$',  # limits of decimals, as text
    # What several parameters make together.
    r"^fields$|at most [0-9]+ (values|are added up live)|a component is empty",
    r"the end of the range is before its beginning|since is not before until",
    r"the range ends before it begins|the range has over",
    r"(greater|less) than (or equal to )?\d{4}-",  # limits of instants
    r"such as 2026-|no day|no month|2026-11-21|no time",  # 30 February
    r"a keyword has at most 5 words|a year from 1 to 9999 UTC",
    r"different names",  # in the form NFC
    r"no such candidate|may vote|the archive|none of an archived item",
    r"at most \d+ (digits|places|bytes)|takes? \d+ bytes|does not fit|digits",
)
"""What messages of refusals say, of rules that JSON Schema cannot express."""
WORDS = re.compile("|".join(IN_WORDS))


@dataclass
class FuzzRun:
    """Sends cases; counts answers, and keeps an example of each kind of failure."""

    client: Client
    statuses: Counter[int] = field(default_factory=Counter)
    unreached: int = 0
    failures: defaultdict[tuple[str, str], list[str]] = field(
        default_factory=lambda: defaultdict(list)
    )

    def send(self, case: AnyCase) -> None:
        """Send a case, and compare the answer with the document."""
        parameters = case.as_transport_kwargs(ADDRESS)
        parameters.pop("cookies", None)
        request: Any = Request(**parameters).prepare()
        url = request.url.removeprefix(ADDRESS)
        headers = {name: text for name, text in request.headers.items() if name in case.headers}
        if "Content-Type" in request.headers:
            headers["Content-Type"] = request.headers["Content-Type"]
        path, _, query = url.partition("?")
        decoded = as_the_gateway_decodes(path)
        if decoded is None:
            self.statuses[400] += 1
            self.unreached += 1  # the gateway refuses it
            return
        answer = self.client.send(request.method, decoded, query, request.body, headers)
        self.statuses[answer.status] += 1
        if not is_path_of(url, case.operation.path):
            self.unreached += 1  # a request to another path
            return
        sent = {name.lower(): [text] for name, text in answer.headers.items()}
        body = answer.text.encode()
        response = Response(answer.status, sent, body, request, elapsed=0.0, verify=False)
        try:
            checks: Any = CHECKS.get_by_names(CHECKED)
            case.validate_response(response, checks=checks)
        except FailureGroup as group:
            for failure in group.exceptions:
                if not (type(failure).__name__ == REJECTED and is_stated(answer)):
                    example = f"{answer.request} {str(request.body)[:300]} -> {answer.text[-600:]}"
                    place = (case.operation.label, type(failure).__name__)
                    self.failures[place].append(f"{example}\n    {failure!s:.500}")


def is_path_of(url: str, template: str) -> bool:
    """Whether the path of a URL is one of a template, after the gateway has decoded it."""
    path = as_the_gateway_decodes(urlsplit(url).path) or ""
    return re.fullmatch(VARIABLE.sub("[^/]+", template), path) is not None


def is_stated(answer: Answer) -> bool:
    """Whether a refusal depends on the state, or on rules that the document states in words."""
    problem = answer.json
    kind = problem["type"].rpartition("/")[2]
    messages = [each["message"] for each in problem.get("errors", ())] or [problem["detail"]]
    return kind in (*STATE, *STATE_OF_REQUESTS) or all(map(WORDS.search, messages))


def fuzz(count: int, number: int, every: int = 1) -> FuzzRun:
    """Send ``count`` cases: positive, positive to items that exist, and negative ones.

    ``every``: 2 plays every second operation.
    """
    load_all_checks()
    description = copy.deepcopy(PROJECT_ROUTES.description)
    del description["security"]  # tokens are judged by the gateway
    for described in description["paths"].values():
        for each in described.values():
            each.pop("security", None)
    schema = schemathesis.openapi.from_dict(description)
    results: Any = schema.get_all_operations()
    operations = sort_by_harm([result.ok() for result in results])[::every]
    with serving_in_memory("domains", PROJECT_ROUTES.ledger) as served:
        run = FuzzRun(served.client())
        checker = AnswerChecker(PROJECT_ROUTES.description)
        items = Replay(PROJECT_ROUTES, checker, run.client, {"candidate": "a", "song": "x"})
        items.make_items()
        for done, operation in enumerate(operations):
            if operation.method == "delete":
                items.make_items()
            kinds: list[dict[str, Any]] = [{}, {"path_parameters": list_ids(items, operation)}, {}]
            for place, options in enumerate(kinds):
                is_negative = place == len(kinds) - 1
                mode = GenerationMode.NEGATIVE if is_negative else GenerationMode.POSITIVE
                left = (len(operations) - done) * len(kinds) - place
                share = (count - run.statuses.total()) // left
                play(run, operation.as_strategy(generation_mode=mode, **options), share, number)
        served.catch_up()
    return run


def list_ids(items: Replay, operation: AnyOperation) -> dict[str, str]:
    """The variables of an operation's path, of items that exist."""
    (route,) = [each for each in PROJECT_ROUTES.served if each.path == operation.path][:1]
    path = unquote(items.build_url(route).partition("?")[0])
    pattern = VARIABLE.sub(lambda found: f"(?P<{found[1]}>[^/]+)", operation.path)
    found = re.fullmatch(pattern, path)
    assert found is not None
    return found.groupdict()


def play(run: FuzzRun, cases: Any, count: int, number: int) -> None:
    """Send as many drawn cases. Some operations have no negative case."""

    @seed(number)
    @settings(
        max_examples=max(1, count),
        database=None,
        deadline=None,
        phases=(Phase.generate,),
        suppress_health_check=list(HealthCheck),
    )
    @given(cases)
    def send_case(case: AnyCase) -> None:
        run.send(case)

    with contextlib.suppress(Unsatisfiable):
        send_case()


def write_line(text: str) -> None:
    """Print a line."""
    sys.stdout.write(f"{text}\n")


def main() -> int:
    """Print counts and failures; 1 if there are any."""
    if not PROJECT_ROUTES.all:
        sys.stdout.write("the project has no domains\n")
        return 0
    parser = argparse.ArgumentParser(description="Draw requests from the OpenAPI document.")
    parser.add_argument("--cases", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=1)
    chosen = parser.parse_args()
    begin = time.monotonic()
    run = fuzz(chosen.cases, chosen.seed)
    for (label, kind), examples in sorted(run.failures.items()):
        write_line(f"{label}: {kind}, {len(examples)} times\n    {examples[0]}")
    errors = sum(count for status, count in run.statuses.items() if status >= 500)
    contradictions = sum(map(len, run.failures.values()))
    write_line(
        f"{run.statuses.total():,} cases in {time.monotonic() - begin:.0f} s, {run.unreached:,} of "
        f"them to no operation; {errors} answers of 5xx, {contradictions} contradictions"
    )
    write_line(", ".join(f"{status}: {count:,}" for status, count in sorted(run.statuses.items())))
    return int(bool(errors or contradictions))


if __name__ == "__main__":
    sys.exit(main())
