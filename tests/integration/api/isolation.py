"""Attacks of one tenant on another: every route of the project with everything that is the other's.

Two tenants have equal items. Each operation of the route table is requested

- without a token, with a token of no tenant, and with the name of the other tenant in each place
  that a client can write: header, query, body, path, and a token that the gateway did not pass on;
- by other callers of the attacker's tenant, with ids, cursors, ETags, jobs, keys of archived items,
  upload URLs and Idempotency-Keys of the victim;
- by users of the victim's own tenant who lack the role.

After each attack the items and objects of the victim are as before. No answer contains anything of
the victim, and an id of the victim is answered like an id that nobody has. At the end all answers
to the victim are compared too. Tokens that the gateway refuses are tested where they are judged, on
the local AWS: tests/demonstration/e2e/test_tokens.py. ::

    python -m tests.integration.api.isolation
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from daicho.handlers import api
from daicho.handlers.wiring.dependencies import Dependencies
from daicho.runtime.clock import utc_now
from daicho.storage.table import Table
from daicho.testing import MemoryDeployment
from daicho.testing.stack_settings import ENVIRONMENT
from daicho.web.http.operation import Operation
from tests.support.api_client import Answer, Client, write_token
from tests.support.described_routes import VALUES
from tests.support.documented_answers import AnswerChecker, Replay, sort_by_harm
from tests.support.memory_stores import SigningS3
from tests.support.project_routes import PROJECT_ROUTES
from tests.support.session_policy import RecordingClient
from tests.support.two_tenants import Machine

VICTIM, ATTACKER = "acme", "globex"
SECRETS = {VICTIM: "confidential", ATTACKER: "public"}
"""What texts of each tenant contain."""
TEXTS = ("name", "title", "text", "note", "body", "question")
ROLES = ("staff", "admin")
UNKNOWN = "01zzzzzzzzzzzzzzzzzzzzzzzz"
"""An id that nobody has."""
STACKS_OWN = ("#archive", "#dirty", "#redrive", "#shard", "#stream", "#watermark")
"""How partitions begin that the stream functions write, whatever tenant a record is of."""
ARCHIVED_DAYS = 8
SINCE, UNTIL = "2026-01-01T00:00:00Z", "2200-01-01T00:00:00Z"
EXAMPLES = {
    parameter["name"]: str(parameter["example"])
    for path in PROJECT_ROUTES.description["paths"].values()
    for operation in path.values()
    for parameter in operation.get("parameters", ())
    if "example" in parameter
}
"""Of parameters, by name."""
Caller = Mapping[str, Any]
SPOOFED = {"x_tenant": VICTIM, "tenant": VICTIM, "custom_tenant": VICTIM}
"""Headers that name the victim."""
CALLERS: Mapping[str, Caller] = {
    "an administrator": {"sub": "eve", "cognito:groups": [*ROLES]},
    "a user with the subject of a user of the other tenant": {"sub": "somebody"},
    "a user without a role": {"sub": "eve", "cognito:groups": ["voters"]},
}
OWNER: Caller = {"sub": "somebody", "cognito:groups": [*ROLES]}


class World:
    """Two tenants with equal items, over the API's function in memory."""

    def __init__(self, operations: Sequence[Operation] = PROJECT_ROUTES.served) -> None:
        self.operations = operations
        self.deployment = MemoryDeployment(PROJECT_ROUTES.ledger, start=utc_now())
        self.deployment._buckets["objects"] = SigningS3(self.deployment.clock.now)
        self.machine = Machine()
        self.requests = RecordingClient(self.deployment._dynamodb)
        client: Any = self.requests
        table, machine = Table(client, self.deployment.table.name), self.machine
        dependencies = Dependencies(
            table=lambda *_, **__: table,
            bucket=lambda name, **__: self.deployment._open_bucket(name),
            machine=lambda _: machine,  # type: ignore[arg-type, return-value]
            now=self.deployment.clock.now,
            parallelism=1,
        )
        names = {"DOMAIN_PACKAGE": "domains", "ARCHIVE_BUCKET": "archive", "JOB_MACHINE": "jobs"}
        self._handler = api.build({**ENVIRONMENT, **names}, PROJECT_ROUTES.ledger, dependencies)
        self.replays = {tenant: self._make_replay(tenant) for tenant in SECRETS}
        for expire in (True, False, False):
            for replay in self.replays.values():
                self._make_items(replay)
            self.deployment.catch_up()
            if expire:
                self.deployment.clock.advance(ARCHIVED_DAYS * 86_400)
                self.deployment.expire_items()
                self.deployment.catch_up()

    def handle(self, event: Any, context: Any) -> Any:
        """Answer an event; its requests to DynamoDB are recorded for the tenant of its token."""
        claims = event["requestContext"].get("authorizer", {}).get("jwt", {}).get("claims", {})
        self.requests.tenant = claims.get("custom:tenant", "")
        return self._handler(event, context)

    def _make_replay(self, tenant: str) -> Replay:
        client = Client(self.handle, tenant, OWNER)
        texts = {name: f"{SECRETS[tenant]} {name}" for name in TEXTS}
        fields = {
            "candidate": "a",
            "song": "x",
            "entity": "Message",
            "since": SINCE,
            "until": UNTIL,
            **texts,
        }
        values = {**EXAMPLES, **VALUES, **fields, "q": SECRETS[tenant]}
        checker = AnswerChecker(PROJECT_ROUTES.description)
        return Replay(PROJECT_ROUTES, checker, client, fields, values=values)

    def _make_items(self, replay: Replay) -> None:
        """Make items wherever they can be made, under an Idempotency-Key of the operation."""
        for operation in self.operations:
            if operation.body is not None and operation.method in ("PUT", "POST"):
                replay._keep_id(replay.answer(operation, headers=write_key(operation)))

    def read_state(self) -> dict[Any, Any]:
        """All items that are not the attacker's or the stack's, and the objects and jobs."""
        others = (f"{ATTACKER}#", f"#tenant#{ATTACKER}", *STACKS_OWN)
        state: dict[Any, Any] = {
            key: item
            for key, item in self.deployment._dynamodb.items
            if not key.pk.startswith(others)
        }
        for name, bucket in self.deployment._buckets.items():
            state |= {(name, key): each.body for key, each in bucket.stored.items()}
        started = [each for each in self.machine.started.values() if each["tenant"] == VICTIM]
        return {**state, "jobs": started}

    def read_answers(self) -> dict[str, str]:
        """The answers to the victim by the operation that reads."""
        replay = self.replays[VICTIM]
        return {
            url: replay.send("GET", url).text
            for each in self.operations
            if each.method == "GET"
            for url in list_urls(each, replay)
        }


def is_deletion_of_all(operation: Operation) -> bool:
    """Whether an operation closes the tenant, so that nothing works afterwards."""
    return operation.path == "/tenant"


def list_urls(operation: Operation, replay: Replay) -> list[str]:
    """Good URLs of an operation, one for each of its queries."""
    urls = []
    for variant in operation.variants:
        query = {name: replay.values.get(name, "x") for name in sorted(variant.needed)}
        urls.append(replay.build_url(operation, **query))
    return list(dict.fromkeys(urls))


def write_key(operation: Operation) -> dict[str, str]:
    """The header with the Idempotency-Key of an operation, which is the same for both tenants."""
    return {"idempotency_key": operation.id} if operation.accepts_idempotency_key else {}


@dataclass
class Matrix:
    """Sends attacks; counts them by kind, and keeps the leaks."""

    world: World
    counts: Counter[str] = field(default_factory=Counter)
    leaks: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        victim = self.world.replays[VICTIM]
        self.victim = victim
        self.before, self.answers = self.world.read_state(), self.world.read_answers()
        ids = {each for each in victim.ids.values() if len(each) == len(UNKNOWN)}
        mine = {*self.world.replays[ATTACKER].ids.values()}
        archived = re.findall(r'"key":"([^"]+)"', "".join(self.answers.values()))
        self.traces = {SECRETS[VICTIM], f"/{VICTIM}/", *(ids - mine), *archived}
        """Texts that only the victim may see."""
        self.archived_key = archived[0] if archived else ""

    def run(self) -> None:
        """Send all attacks, those that remove items last, and compare the victim's answers."""
        for operation in sorted(sort_by_harm(self.world.operations), key=is_deletion_of_all):
            self._attack_without_tenant(operation)
            for name, claims in CALLERS.items():
                self._attack_as(operation, name, claims)
            self._attack_without_role(operation)
        self.world.deployment.catch_up()
        self._compare("what was derived after all attacks")
        for url, text in self.world.read_answers().items():
            self._count("an answer to the victim afterwards", url, text == self.answers[url])

    def _attack_without_tenant(self, operation: Operation) -> None:
        """No token, none of a tenant, and one with a tenant that the gateway has not passed on."""
        url, body = self.victim.build_url(operation), self.victim._make_body(operation)
        headers = {**SPOOFED, **write_key(operation)}
        for kind, tenant, claims in (
            ("no token", None, None),
            ("a token of no tenant", None, OWNER),
            ("a malformed tenant", f"{VICTIM}#", OWNER),
        ):
            client = Client(self.world.handle, tenant, claims or {}, is_anonymous=claims is None)
            answer = client(operation.method, url, body, **headers)
            self._judge(kind, answer, is_refused=answer.status == 403)

    def _attack_as(self, operation: Operation, name: str, claims: Caller) -> None:
        """Everything of the victim, from a caller of the attacker's tenant."""
        mine, theirs = self.world.replays[ATTACKER], self.victim
        client = Client(self.world.handle, ATTACKER, claims)
        body, method = mine._make_body(operation), operation.method
        key = write_key(operation)
        taken = {header.name for header in operation.headers}
        tag = {"if_match": '"1"'} if "If-Match" in taken else {}
        for url in list_urls(operation, theirs):
            foreign = client(method, url, body)
            self._judge(f"foreign ids, {name}", foreign)
            nobodys = client(method, self._replace_ids(operation, url), body)
            is_alike = method == "PUT" or foreign.status == nobodys.status
            is_alike |= nobodys.request == foreign.request
            self._judge(f"ids of nobody, {name}", nobodys, is_refused=is_alike)
            self._judge(f"a foreign ETag, {name}", client(method, url, body, **tag))
            cursor = self._find_cursor(operation, url)
            if cursor:
                sign = "&" if "?" in url else "?"
                answer = client(method, f"{url}{sign}limit=1&cursor={cursor}")
                self._judge(f"a foreign cursor, {name}", answer, is_refused=answer.status >= 400)
        own = mine.build_url(operation)
        self._judge(f"the same Idempotency-Key, {name}", client(method, own, body, **key))
        sign = "&" if "?" in own else "?"
        spoofs = (
            ("a query that names the tenant", f"{own}{sign}tenant={VICTIM}", body),
            ("a body that names the tenant", own, self._add_tenant(body)),
        )
        for kind, url, sent in spoofs:
            self._judge(f"{kind}, {name}", client(method, url, sent, **SPOOFED, **key))
        stolen = {"authorization": f"Bearer {write_token({'custom:tenant': VICTIM, **OWNER})}"}
        self._judge(f"another token in the header, {name}", client(method, own, body, **stolen))

    def _attack_without_role(self, operation: Operation) -> None:
        """A user of the victim's own tenant who has none of the roles that an operation needs."""
        for variant in operation.variants:
            if not variant.roles:
                continue
            query = {each: self.victim.values.get(each, "x") for each in sorted(variant.needed)}
            url, body = (
                self.victim.build_url(operation, **query),
                self.victim._make_body(operation),
            )
            for groups in ([], ["voters"], [" ".join(variant.roles) + " x"]):
                claims = {"sub": "mallory", "cognito:groups": groups}
                answer = Client(self.world.handle, VICTIM, claims)(operation.method, url, body)
                self._compare(answer.request)
                self._count("the victim's tenant without the role", url, answer.status == 403)

    def _find_cursor(self, operation: Operation, url: str) -> str | None:
        """The cursor of the victim's first page."""
        if "limit" not in operation.parameters:
            return None
        sign = "&" if "?" in url else "?"
        answer = self.victim.send("GET", f"{url}{sign}limit=1")
        return answer.json.get("cursor") if answer.status == 200 else None

    def _replace_ids(self, operation: Operation, url: str) -> str:
        """A URL with ids that nobody has instead of those in the path."""
        path, sign, query = url.partition("?")
        for theirs in self.victim.ids.values():
            if len(theirs) == len(UNKNOWN):
                path = path.replace(theirs, UNKNOWN)
        return f"{path}{sign}{query}"

    def _add_tenant(self, body: Any) -> Any:
        if not isinstance(body, dict):
            return body
        key = {"key": self.archived_key} if "key" in body else {}
        return {**body, **key, "tenant": VICTIM} if not key else {**body, **key}

    def _judge(self, kind: str, answer: Answer, *, is_refused: bool = True) -> None:
        shown = [each for each in self.traces if each in answer.text or each in str(answer.headers)]
        is_kept = self.world.read_state() == self.before
        seen = [each for each in shown if each not in answer.request]
        is_good = is_refused and is_kept and not seen and answer.status < 500
        self._count(kind, f"{answer.request} {answer.status}", is_good)

    def _compare(self, where: str) -> None:
        self._count("the victim's items and objects", where, self.world.read_state() == self.before)

    def _count(self, kind: str, where: str, is_good: bool) -> None:
        self.counts[kind] += 1
        if not is_good:
            self.leaks.append(f"{kind}: {where}")


def main() -> int:
    """Print counts and leaks; 1 if there is a leak, or a request that a session policy refuses."""
    if not PROJECT_ROUTES.all:
        sys.stdout.write("the project has no domains\n")
        return 0
    matrix = Matrix(World())
    matrix.run()
    requests = matrix.world.requests
    refused = [f"{each} for {tenant}" for tenant, each in requests.list_refused()]
    own, shared = requests.count_keys()
    lines = [f"{count:6,}  {kind}" for kind, count in sorted(matrix.counts.items())]
    lines += [*matrix.leaks, *refused]
    lines += [
        f"{matrix.counts.total():,} attacks and comparisons over {len(matrix.world.operations)} "
        f"operations: {len(matrix.leaks)} leaks",
        f"{own + sum(shared.values()):,} keys in requests to DynamoDB: {len(refused)} that a "
        f"session policy of the tenant refuses; without a tenant: {shared}",
    ]
    sys.stdout.write("\n".join(lines) + "\n")
    return int(bool(matrix.leaks or refused))


if __name__ == "__main__":
    sys.exit(main())
