"""The most expensive request to each route of the demonstration, sent and measured."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Callable, Iterator
from itertools import product
from typing import Any

from daicho.web.http.operation import Operation
from tests.support import attacks
from tests.support.attacks import AttackedApi, Taken
from tests.support.documented_answers import AnswerChecker, Replay, sort_by_harm
from tests.support.project_routes import PROJECT_ROUTES


def list_enlarged(body: Any) -> Iterator[Any]:
    """A body with one of its texts as large as an item may be, and as it is."""
    names = [name for name, value in body.items() if isinstance(value, str)] if body else ()
    text = "".join(random.Random(1).choices(attacks.CHARACTERS, k=15_000))  # hardly compressible
    for name, size in product(names, (15_000, 900)):
        yield {**body, name: text[:size]}
    yield body


def list_queries(operation: Operation) -> list[dict[str, str]]:
    """The longest query of each kind: whole pages, with what is included, live."""
    most = {"limit": "100", "include": "calls", "live": "true"}
    return [
        {name: text for name, text in most.items() if name in variant.allowed}
        for variant in operation.variants
    ]


class WorstRequests:
    """Sends each route its most expensive request that the example of its document leads to."""

    def __init__(self, api: AttackedApi) -> None:
        self.api, self.sent = api, 0
        self.taken = defaultdict[tuple[str, str], list[Taken]](list)
        checker = AnswerChecker(PROJECT_ROUTES.description)
        self.items = Replay(PROJECT_ROUTES, checker, api.client, {"candidate": "a", "song": "x"})

    def send(self, operation: Operation, query: dict[str, str], times: int = 1) -> None:
        """Send it with the largest body that is accepted, several times."""
        for body in list_enlarged(self.items._make_body(operation)):
            for _ in range(times):
                url, self.sent = self.items.build_url(operation, **query), self.sent + 1
                key = (
                    {"Idempotency_Key": f"{self.sent}"} if operation.accepts_idempotency_key else {}
                )
                taken = self.api.send(operation.method, url, body, **key)
                if taken.answer.status >= 300:
                    break
                self.taken[operation.method, operation.path].append(taken)
                self.items._keep_id(taken.answer)
            else:
                return

    def send_all(self, catch_up: Callable[[], None]) -> None:
        """Create items, then send everything else; what is below others is removed first."""
        making = [each for each in PROJECT_ROUTES.all if each.method in {"PUT", "POST"}]
        for operation in sorted(making, key=lambda each: each.path.count("/")):
            self.send(operation, {}, times=20 if operation.method == "POST" else 1)
        catch_up()
        others = [each for each in sort_by_harm(PROJECT_ROUTES.all) if each not in making]
        others.sort(key=lambda each: (each.method == "DELETE") * (9 - each.path.count("/")))
        for operation in others:
            for query in list_queries(operation):
                self.send(operation, query)
