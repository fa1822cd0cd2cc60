"""What the API logs about a request: its id and its outcome, and none of its content."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from daicho.handlers.wiring.http_functions import TracedHandler, with_telemetry
from daicho.handlers.wiring.invocation import Context, Handler
from tests.support.api_client import Client

BODY, TOKEN, QUERY, CLAIM = "secret-body", "secret-token", "secret-query", "secret-claim"


@pytest.fixture(autouse=True)
def _loggers() -> Iterator[None]:
    """Powertools configures the library's loggers: other tests get them as they were."""
    names = [name for name in logging.root.manager.loggerDict if name.startswith("daicho")]
    loggers = [logging.getLogger(name) for name in names]
    before = [(logger, list(logger.handlers), logger.level, logger.propagate) for logger in loggers]
    yield
    for logger, handlers, level, propagate in before:
        logger.handlers, logger.propagate = handlers, propagate
        logger.setLevel(level)


def serve(status: int) -> Client:
    """An API that logs a warning of its own and answers with the body of the request."""

    def answer(event: Mapping[str, Any], context: Context) -> dict[str, Any]:
        logging.getLogger("daicho.web.api").warning("the table did not answer: %s", "GetItem")
        return {"statusCode": status, "headers": {}, "body": json.dumps({"echo": event["body"]})}

    return Client(with_telemetry(answer, traced=False), "acme", {"email": CLAIM})


@pytest.mark.parametrize("status", [200, 422, 500])
def test_neither_the_body_nor_the_token_nor_the_query_is_logged(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, status: int
) -> None:
    # Powertools has one logger for each service, which writes to what was stdout when it was made.
    monkeypatch.setenv("POWERTOOLS_SERVICE_NAME", f"telemetry-{status}")
    logging.getLogger("daicho.web.api")
    answer = serve(status)(
        "PUT", f"/users/1?q={QUERY}", {"name": BODY}, authorization=f"Bearer {TOKEN}"
    )
    assert answer.json == {"echo": json.dumps({"name": BODY})}
    printed = capsys.readouterr()
    logged = [json.loads(line) for line in (printed.out + printed.err).splitlines()]
    (warning,) = [line for line in logged if line.get("level") == "WARNING"]
    assert warning["message"] == "the table did not answer: GetItem"
    text = json.dumps(logged)
    assert [word for word in (BODY, TOKEN, QUERY, CLAIM) if word in text] == []


def test_the_tracer_is_made_for_the_first_sampled_invocation(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    traced: list[str] = []

    def trace(handler: Handler) -> Handler:
        traced.append("made")

        def seen(event: Mapping[str, Any], context: Context) -> dict[str, Any]:
            traced.append(event["id"])
            return handler(event, context)

        return seen

    context: Any = None
    answer = TracedHandler(lambda event, _: {"id": event["id"]}, trace)
    monkeypatch.delenv("_X_AMZN_TRACE_ID", raising=False)
    assert answer({"id": "1"}, context) == {"id": "1"}
    monkeypatch.setenv("_X_AMZN_TRACE_ID", "Root=1-5f-a;Parent=b;Sampled=0")
    assert answer({"id": "2"}, context) == {"id": "2"}
    assert traced == []
    monkeypatch.setenv("_X_AMZN_TRACE_ID", "Root=1-5f-a;Parent=b;Sampled=1")
    assert [answer({"id": id}, context)["id"] for id in ("3", "4")] == ["3", "4"]
    assert traced == ["made", "3", "4"]
