"""No drawn request breaks the API, and what is wrong with it is told in bounded words.

The requests are drawn without Hypothesis, which takes longer than the API. A failure names the
number of its request: the same seed draws the same.
"""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Callable
from types import ModuleType

import pytest

from daicho.declare.registry import Daicho
from daicho.plan import Ledger
from daicho.web.openapi.document import describe_api
from tests.support import catalogue_domains, sample_domains
from tests.support.api_client import Answer, Client
from tests.support.drawn_requests import RequestDrawer
from tests.support.memory_served import serve_handler_in_memory, serve_in_memory
from tests.support.trials import scaled

PACKAGES = (catalogue_domains, sample_domains)
COUNT = scaled(20_000, otherwise=500) // len(PACKAGES)
MAX_BYTES, MAX_ERRORS, MAX_SECONDS = 64 * 1024, 20, 8
PYTHON = (
    *("instance of", "Decimal", "NoneType", "Traceback", "ValueError", "TypeError", "out of range"),
    *("regular expression", "pattern", "dict", "tuple", "surrogates not allowed", "codec"),
    *("could not convert", "Value error", "Assertion failed"),
)
"""Words that no client understands."""


@pytest.fixture(autouse=True)
def settings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("POWERTOOLS_LOG_LEVEL", "ERROR")


def check_answer(answer: Answer) -> None:
    """Any answer is no 5xx. A refusal is a problem of bounded size, in the words of clients."""
    assert answer.status < 500, answer.text[:1_000]
    if answer.status < 400 or not answer.headers or not answer.text:
        return  # no refusal, or one of the gateway, or of HEAD
    assert answer.headers["Content-Type"] == "application/problem+json"
    assert len(answer.text.encode(errors="surrogatepass")) <= MAX_BYTES
    errors = answer.json.get("errors", [])
    assert len(errors) <= MAX_ERRORS
    for message in (answer.json["detail"], *(error["message"] for error in errors)):
        assert message
        assert not [word for word in PYTHON if word in message], message[:500]


def send_drawn_requests(client: Client, daicho: Daicho, seed: int) -> Counter[int]:
    """Send requests, and count the statuses of their answers."""
    drawer = RequestDrawer(seed, describe_api(daicho, daicho.append_generations(Ledger())))
    statuses = Counter[int]()
    for number in range(COUNT):
        request = drawer.draw()
        begin = time.process_time()
        try:
            answer = request.send(client)
            check_answer(answer)
        except Exception as error:
            raise AssertionError(f"request {number} of seed {seed}: {request!r:.1500}") from error
        assert time.process_time() - begin < MAX_SECONDS, f"request {number} of seed {seed}"
        statuses[answer.status] += 1
        drawer.keep_address(answer)
    return statuses


def serve_memory(_package: ModuleType, daicho: Daicho) -> Client:
    return serve_in_memory(*daicho.domains).client


@pytest.mark.parametrize("serve", [serve_memory, serve_handler_in_memory])
@pytest.mark.parametrize("package", PACKAGES, ids=lambda package: package.__name__)
def test_no_drawn_request_gives_a_5xx_or_a_large_refusal(
    package: ModuleType, serve: Callable[[ModuleType, Daicho], Client]
) -> None:
    daicho = Daicho.discover(package)
    statuses = send_drawn_requests(serve(package, daicho), daicho, seed=len(serve.__name__))
    sys.stdout.write(f"{package.__name__}, {serve.__name__}: {dict(sorted(statuses.items()))}\n")
    assert statuses.total() == COUNT
    # The draw reaches each kind of answer often enough to mean something.
    assert sum(count for status, count in statuses.items() if status < 300) > COUNT // 20
    assert statuses[422] > COUNT // 10
    assert all(statuses[status] for status in (200, 201, 400, 404, 422))
