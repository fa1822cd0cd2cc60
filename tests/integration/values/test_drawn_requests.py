"""No drawn request breaks the API, and what is wrong with it is told in bounded words.

The requests are drawn without Hypothesis, which takes longer than the API. A failure names the
number of its request: the same seed draws the same.
"""

from __future__ import annotations

import json
import sys
import time
from collections import Counter
from urllib.parse import parse_qs

import pytest

from daicho.declare.registry import Daicho
from daicho.plan import Ledger
from daicho.web.openapi.document import describe_api
from tests.support import catalogue_domains, sample_domains
from tests.support.api_client import Answer
from tests.support.deployment import Served, serving_in_memory
from tests.support.documented_answers import AnswerChecker
from tests.support.drawn_requests import DrawnRequest, RequestDrawer
from tests.support.trials import scaled

COUNT = scaled(10_000, otherwise=400)
MAX_BYTES, MAX_ERRORS, MAX_SECONDS = 64 * 1024, 20, 8
PYTHON = (
    *("instance of", "Decimal", "NoneType", "Traceback", "ValueError", "TypeError", "out of range"),
    *("regular expression", "pattern", "dict", "tuple", "surrogates not allowed", "codec"),
    *("could not convert", "Value error", "Assertion failed"),
)
"""Words that no client understands."""


def check_answer(checker: AnswerChecker, request: DrawnRequest, answer: Answer) -> None:
    """Any answer is no 5xx and as documented. A refusal has bounded size and words of clients."""
    assert answer.status < 500, answer.text[:1_000]
    if not answer.headers or not answer.text:
        return  # of the gateway, or of HEAD
    chosen = parse_qs(request.query).get("fields")
    if chosen and answer.status == 200:  # the description is that of whole items
        for item in answer.json.get("items", [answer.json]):
            assert item.keys() <= set(chosen[0].split(",")), answer.text[:500]
    elif request.template is not None:
        checker.check(request.method, request.template, answer)
    if answer.status < 400:
        assert answer.headers["Content-Type"] == "application/json"
        json.loads(answer.text)
        return
    assert answer.headers["Content-Type"] == "application/problem+json"
    assert len(answer.text.encode(errors="surrogatepass")) <= MAX_BYTES
    errors = answer.json.get("errors", [])
    assert len(errors) <= MAX_ERRORS
    for message in (answer.json["detail"], *(error["message"] for error in errors)):
        assert message
        assert not [word for word in PYTHON if word in message], message[:500]


def send_drawn_requests(served: Served, daicho: Daicho, seed: int) -> Counter[int]:
    """Send requests, and count the statuses of their answers."""
    description = describe_api(daicho, served.ledger)
    drawer, checker = RequestDrawer(seed, description), AnswerChecker(description)
    client, statuses = served.client(), Counter[int]()
    for number in range(COUNT):
        request = drawer.draw()
        begin = time.process_time()
        try:
            answer = request.send(client)
            check_answer(checker, request, answer)
        except Exception as error:
            raise AssertionError(f"request {number} of seed {seed}: {request!r:.1500}") from error
        assert time.process_time() - begin < MAX_SECONDS, f"request {number} of seed {seed}"
        statuses[answer.status] += 1
        drawer.keep_address(answer)
    return statuses


@pytest.mark.parametrize("package", [catalogue_domains.__name__, sample_domains.__name__])
def test_no_drawn_request_gives_a_5xx_or_a_large_refusal(package: str) -> None:
    """What was written can be derived, too."""
    daicho = Daicho.discover(sys.modules[package])
    with serving_in_memory(package, daicho.append_generations(Ledger())) as served:
        statuses = send_drawn_requests(served, daicho, seed=len(package))
        served.catch_up()
    # The draw reaches each kind of answer often enough to mean something.
    assert sum(count for status, count in statuses.items() if status < 300) > COUNT // 20
    assert statuses[422] > COUNT // 10
    assert all(statuses[status] for status in (200, 201, 400, 404, 422))
