"""Requests to the deployed API, the checks that are made of them, and the report of the results."""

from __future__ import annotations

import json
import secrets
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from enum import StrEnum
from typing import Any, TypeVar

import httpx
from botocore.exceptions import BotoCoreError, ClientError
from rich.console import Console

from daicho.errors import DaichoError
from daicho_cli.terminal import build_table


class Outcome(StrEnum):
    """How a check ended."""

    PASSED = "passed"
    FAILED = "FAILED"
    NOT_DECLARED = "not declared"
    """The project has nothing of this kind."""
    NOT_CHECKED = "not checked"
    """The check is not possible here, or not yet; the result has the reason."""


@dataclass(frozen=True)
class CheckResult:
    """One check. ``subject``: a route; ``check``: what is checked of it.

    ``seconds`` is None where time has no meaning.
    """

    subject: str
    check: str
    outcome: Outcome
    detail: str = ""
    seconds: float | None = None


@dataclass(frozen=True)
class Report:
    """All results of a run, and what the run leaves behind.

    ``run``: the name of the run, which is also its tenant; empty without HTTP requests.
    """

    stack: str
    run: str
    results: Sequence[CheckResult]
    left_behind: Sequence[str] = ()

    @property
    def failed(self) -> list[CheckResult]:
        """The results that failed."""
        return [result for result in self.results if result.outcome is Outcome.FAILED]

    def to_document(self) -> dict[str, Any]:
        """The report as plain JSON values."""
        return {
            "stack": self.stack,
            "run": self.run,
            "passed": not self.failed,
            "results": [asdict(result) for result in self.results],
            "left_behind": list(self.left_behind),
        }

    def print(self, console: Console | None = None) -> None:
        """Print the table, what was not checked, and what is left behind."""
        out = console or Console()
        columns = ("subject", "check", "outcome", "seconds", "detail")
        table = build_table(f"Smoke test of {self.stack}", columns)
        for result in self.results:
            if result.outcome is Outcome.NOT_CHECKED:
                continue
            time = "" if result.seconds is None else f"{result.seconds:.2f}"
            cells = (result.subject, result.check, result.outcome.value, time, result.detail)
            table.add_row(*cells, style="red" if result.outcome is Outcome.FAILED else None)
        if table.row_count:
            out.print(table)
        for outcome, count in Counter(result.outcome for result in self.results).items():
            out.print(f"{outcome.value}: {count}", highlight=False)
        for result in self.results:
            if result.outcome is Outcome.NOT_CHECKED:
                line = f"  {result.outcome.value}: {result.check}: {result.detail}"
                out.print(line, highlight=False, soft_wrap=True)
        for line in self.left_behind:
            out.print(f"  left behind: {line}", highlight=False, soft_wrap=True)


T = TypeVar("T")
TIMEOUT_S = 60.0
"""For one request: the first one starts the function."""
PAUSE_S = 0.25
MAX_CHARACTERS = 300
PROBLEM = "application/problem+json"
REFUSALS = (400, 404, 409, 412, 422)
"""What a rule of a domain answers to an example. A refused token or a throttled request fails."""
_UNEXPECTED = (LookupError, TypeError, ValueError, ClientError, BotoCoreError, DaichoError)
"""An answer without a field, or not in JSON; a caller without a permission."""


class SmokeFailure(Exception):
    """A check failed; the message is for the report."""


class RefusedError(SmokeFailure):
    """The API refused an example of its own description: another entity may take its own."""


@dataclass(frozen=True)
class Api:
    """The API with a token; ``patience``: how many seconds to wait for derived state."""

    client: httpx.Client
    patience: float

    def send(
        self,
        method: str,
        path: str,
        *,
        body: Any = None,
        statuses: tuple[int, ...] = (200, 201, 202, 204),
        headers: Mapping[str, str] | None = None,
    ) -> httpx.Response:
        """Send a request.

        Raises:
            RefusedError: the answer is one of `REFUSALS`, which was not expected.
            SmokeFailure: the API does not answer, or with another status than those expected.
        """
        content = {} if body is None else {"json": body}
        try:
            answer = self.client.request(method, path, headers=headers, **content)
        except httpx.HTTPError as error:
            raise SmokeFailure(f"{method} {path}: {error!r}") from error
        if answer.status_code not in statuses:
            text = f"{method} {path} answered {answer.status_code}: {answer.text[:MAX_CHARACTERS]}"
            is_refused = answer.status_code in REFUSALS
            raise RefusedError(text) if is_refused else SmokeFailure(text)
        is_problem = answer.headers.get("content-type", "").startswith(PROBLEM)
        if answer.is_client_error and not is_problem:
            raise SmokeFailure(f"{method} {path}: {answer.status_code} without a problem document")
        return answer

    def send_anonymous(
        self,
        method: str,
        url: str,
        *,
        content: bytes | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> httpx.Response:
        """Send a request without the token, for example by a signed URL.

        Raises:
            SmokeFailure: nothing answers.
        """
        request = self.client.build_request(method, url, content=content, headers=headers)
        request.headers.pop("authorization", None)
        try:
            return self.client.send(request)
        except httpx.HTTPError as error:
            raise SmokeFailure(f"{method} {request.url.host}: {error!r}") from error

    def read(self, path: str) -> Any:
        """The JSON of a GET."""
        return self.send("GET", path).json()

    def wait_for(self, read: Callable[[], T], is_right: Callable[[T], bool], what: str) -> T:
        """Read until the value is right.

        Raises:
            SmokeFailure: it is not, after ``patience`` seconds.
        """
        until = time.monotonic() + self.patience
        while not is_right(value := read()):
            if time.monotonic() > until:
                text = json.dumps(value, ensure_ascii=False, default=str)[:MAX_CHARACTERS]
                raise SmokeFailure(f"{what}: not after {self.patience:.0f} s; last: {text}")
            time.sleep(PAUSE_S)
        return value


@dataclass
class Checks:
    """The results of a run, in the order of its checks."""

    results: list[CheckResult] = field(default_factory=list)

    @contextmanager
    def check(self, subject: str, name: str) -> Iterator[None]:
        """Measure a check. It fails with `SmokeFailure`, or if an answer has another form."""
        began = time.monotonic()
        outcome, detail = Outcome.PASSED, ""
        try:
            yield
        except SmokeFailure as failure:
            outcome, detail = Outcome.FAILED, str(failure)
        except _UNEXPECTED as error:
            outcome, detail = Outcome.FAILED, f"{type(error).__name__}: {error}"
        self.results.append(CheckResult(subject, name, outcome, detail, time.monotonic() - began))

    def name_last(self, subject: str) -> None:
        """Give the last result the subject that its check has found."""
        self.results[-1] = replace(self.results[-1], subject=subject)

    def add(self, subject: str, name: str, outcome: Outcome, detail: str = "") -> None:
        """Add a result without a time."""
        self.results.append(CheckResult(subject, name, outcome, detail))


@contextmanager
def open_api(url: str, token: str, patience: float) -> Iterator[Api]:
    """Open the API with a token."""
    headers = {"authorization": f"Bearer {token}"}
    with httpx.Client(base_url=url, headers=headers, timeout=TIMEOUT_S) as client:
        yield Api(client, patience)


def make_key() -> dict[str, str]:
    """A header that makes a change be applied once, however often it is sent."""
    return {"idempotency-key": f"smoke-{secrets.token_hex(12)}"}
