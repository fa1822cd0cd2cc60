"""``daicho smoke``: drives one route of each kind of a deployed stack."""

from __future__ import annotations

import json
import re
import secrets
import signal
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from typing import Annotated, Any

import httpx
import typer

from daicho.declare.entity import Entity
from daicho.declare.registry import Daicho
from daicho.plan import Ledger
from daicho_cli.aws import Stack
from daicho_cli.options import LOCAL, AsJson, Region, StackFile, Stage
from daicho_cli.project import discover_project, load_ledger
from daicho_cli.smoke.calls import Api, Checks, Outcome, Report, SmokeFailure, open_api
from daicho_cli.smoke.checks import LOCAL_SETTLED_S, SETTLED_S, DerivedChecks, ItemChecks, try_each
from daicho_cli.smoke.routes import Item, ItemMaker, Routes
from daicho_cli.smoke.target import (
    ARCHIVE_TENANT_SUFFIX,
    expire_item,
    find_target,
    leave_expired_item,
    open_tenant_api,
    read_rows,
)
from daicho_cli.terminal import INCOMPLETE, SUCCESS, OptionError, end_on_errors, print_json

DELETION_PATIENCE_S = 30.0
RUN_NAME = re.compile(r"smoke-[0-9a-f]{8}")
"""The name of a run. Its tenants have no other names, so that no other tenant is ever deleted."""
TRACES = "log lines, traces and metrics of the requests"
UNKNOWN_PATH = "/no-such-route-of-the-smoke-test"


@dataclass
class SmokeRun:
    """A run against one stack; ``patience``: how many seconds to wait for derived state."""

    target: Stack
    daicho: Daicho
    ledger: Ledger
    patience: float
    name: str = field(default_factory=lambda: f"smoke-{secrets.token_hex(4)}")
    checks: Checks = field(default_factory=Checks)
    left_behind: list[str] = field(default_factory=list)

    @cached_property
    def routes(self) -> Routes:
        """The routes of the checkout."""
        return Routes(self.daicho)

    @property
    def has_archive(self) -> bool:
        """Whether the archive is known; not if only the URL of the API is."""
        return "ArchiveBucketName" in self.target.resources

    def drive(self) -> None:
        """Drive the routes as a tenant of its own, which is deleted at the end.

        Raises:
            StackError: the stack has no user pool.
            ClientError, BotoCoreError: AWS refuses.
        """
        roles = self.daicho.roles
        with open_tenant_api(self.target, self.name, roles, self.patience) as api:
            try:
                self.check_routes(api)
            finally:
                self._remove_tenant(api, self.name)
        self.left_behind.append(TRACES)

    def drive_with(self, token: str) -> None:
        """Drive the routes as the tenant of a token; its created items are removed one by one."""
        with open_api(self.target.url, token, self.patience) as api:
            created: list[Item] = []
            try:
                self.check_routes(api, created, with_archive=False)
            finally:
                self._delete_items(api, created)
        self.left_behind.append(TRACES)

    def check_routes(
        self, api: Api, created: list[Item] | None = None, *, with_archive: bool = True
    ) -> None:
        """Drive one route of each kind. ``created``: a list that receives the created items."""
        description = self._check_description(api)
        self._check_problems(api)
        if description is None:
            return
        maker = ItemMaker(api, self.routes, description, [] if created is None else created)
        ItemChecks(maker, self.checks).run()
        settled = LOCAL_SETTLED_S if self.target.is_local else SETTLED_S
        DerivedChecks(maker, self.checks, settled=settled).run()
        if with_archive and self.has_archive:
            self._check_archive_path(maker)
        else:
            reason = (
                "a token was given: only a run with its own tenant lets an item expire"
                if self.has_archive
                else "an API without a stack: its archive bucket is not known"
            )
            self.checks.add("archive", "row of an expired item", Outcome.NOT_CHECKED, reason)

    def check_archive(self) -> None:
        """Look for the row of the item that the run ``name`` left to expire.

        If it is there, the tenant of the item is deleted, and the row with it.

        Raises:
            OptionError: ``name`` is not the name of a run, or only the URL of an API is known.
            StackError, ClientError, BotoCoreError, UnavailableError: AWS refuses.
        """
        if not RUN_NAME.fullmatch(self.name):
            raise OptionError(f"--check-archive {self.name!r}: not a run such as smoke-1a2b3c4d")
        if not self.has_archive:
            raise OptionError("--check-archive needs a stack: --url names only an API")
        tenant = f"{self.name}{ARCHIVE_TENANT_SUFFIX}"
        entities = [entity.__name__ for entity in self.routes.archived]
        with self.checks.check("archive", f"row of tenant {tenant}"):
            rows = read_rows(self.target, tenant, entities)
            if len(rows) != 1:
                raise SmokeFailure(
                    f"{len(rows)} rows: DynamoDB deletes expired items within days; try again later"
                )
        if self.checks.results[-1].outcome is not Outcome.PASSED:
            return
        with open_tenant_api(self.target, tenant, self.daicho.roles, self.patience) as api:
            self._remove_tenant(api, tenant)

    def build_report(self) -> Report:
        """What the run has found so far."""
        return Report(self.target.name, self.name, self.checks.results, self.left_behind)

    def _check_description(self, api: Api) -> Mapping[str, Any] | None:
        """The description of the deployment, if it can be read: examples are taken from it."""
        description: Mapping[str, Any] = {}
        with self.checks.check("GET /docs", "the page of the API"):
            page = api.send("GET", "/docs")
            if "text/html" not in page.headers.get("content-type", ""):
                raise SmokeFailure(f"/docs is {page.headers.get('content-type')}")
        with self.checks.check("GET /openapi.json", "describes the routes of this checkout"):
            description = api.read("/openapi.json")
            described = {
                (method.upper(), path)
                for path, methods in description["paths"].items()
                for method in methods
            }
            own = {(each.method, each.path) for each in self.routes.operations}
            if missing := sorted(own - described):
                names = ", ".join(f"{method} {path}" for method, path in missing[:5])
                raise SmokeFailure(f"the deployment lacks {len(missing)} routes: {names}")
        return description or None

    def _check_problems(self, api: Api) -> None:
        with self.checks.check(f"GET {UNKNOWN_PATH}", "problem document with status 404"):
            answer = api.send("GET", UNKNOWN_PATH, statuses=(404,))
            if json.loads(answer.text).get("status") != httpx.codes.NOT_FOUND:
                raise SmokeFailure(f"the answer is no problem document: {answer.text[:200]}")
        with self.checks.check(f"GET {UNKNOWN_PATH}", "status 401 without a token"):
            anonymous = api.send_anonymous("GET", UNKNOWN_PATH)
            if anonymous.status_code != httpx.codes.UNAUTHORIZED:
                raise SmokeFailure(f"answered {anonymous.status_code}")

    def _check_archive_path(self, maker: ItemMaker) -> None:
        """Let an item expire: here and now on the local stack, else in a tenant that is kept."""
        if self.target.is_local:
            check: Callable[[type[Entity]], str] = partial(self._archive, maker)
            name = "row of an expired item"
        else:
            check, name = self._leave_expired, "an item is left to expire"
        try_each(self.checks, "archive", name, maker.routes.archived, check)

    def _archive(self, maker: ItemMaker, entity: type[Entity]) -> str:
        item = maker.create(entity)
        expire_item(self.target, self.ledger, self.name, item)

        def count() -> int:
            return len(read_rows(self.target, self.name, [entity.__name__]))

        maker.api.wait_for(count, lambda rows: rows == 1, f"archived rows of {entity.__name__}")
        return f"{entity.__name__}: TTL, archive"

    def _leave_expired(self, entity: type[Entity]) -> str:
        """Create an expired item in a tenant that this run does not delete."""
        tenant = f"{self.name}{ARCHIVE_TENANT_SUFFIX}"
        leave_expired_item(self.target, self.routes, self.ledger, tenant, entity, self.patience)
        self.left_behind.append(
            f"an expired {entity.__name__} of tenant {tenant}: DynamoDB deletes it within days; "
            f"then run daicho smoke --check-archive {self.name}"
        )
        return f"{entity.__name__}: TTL"

    def _remove_tenant(self, api: Api, tenant: str) -> None:
        with self.checks.check("DELETE /tenant", "the tenant is being removed"):
            self._delete_tenant(api)
        if self.checks.results[-1].outcome is Outcome.PASSED:
            self.left_behind.append(
                f"the closed tenant {tenant}, whose name is not used again, and its job; its "
                "tombstones expire in 3 days, and its archived rows are forgotten within days"
            )
        else:
            self.left_behind.append(f"all items of tenant {tenant}: it was not removed")

    def _delete_tenant(self, api: Api) -> None:
        """Start the deletion of a tenant, and wait until its job has begun."""
        job = api.send("DELETE", "/tenant?archive=forget", statuses=(202,)).json()["id"]
        waiting = Api(api.client, min(api.patience, DELETION_PATIENCE_S))

        def read() -> Mapping[str, Any]:
            found: Mapping[str, Any] = api.read(f"/jobs/{job}")
            return found

        def has_begun(found: Mapping[str, Any]) -> bool:
            return bool(found["passes"]) or found["state"] != "running"

        found = waiting.wait_for(read, has_begun, f"job {job}")
        if found["state"] == "failed":
            raise SmokeFailure(f"job {job} failed: {found['error']}")

    def _delete_items(self, api: Api, created: list[Item]) -> None:
        """Remove items in the reverse order of their creation; the others are left behind."""
        for item in reversed(created):
            if item.path and self.routes.find_item(item.entity, "DELETE"):
                try:
                    api.send("DELETE", item.path, statuses=(204, 404))
                except SmokeFailure as failure:
                    self.left_behind.append(f"{item.path}: {failure}")
            else:
                self.left_behind.append(f"{item.entity.__name__} {item.key}: no route removes it")


PATIENCE_S = 150.0
"""A rollup runs each minute, and a first request starts a function."""


def smoke(  # noqa: PLR0913, PLR0917  # the command's options
    stage: Stage = None,
    region: Region = None,
    stack: StackFile = LOCAL,
    outputs: Annotated[
        Path | None, typer.Option(help="A file of cdk deploy --outputs-file, instead of --stage.")
    ] = None,
    url: Annotated[
        str | None, typer.Option(help="The address of an API: only HTTP is tested. With --token.")
    ] = None,
    token: Annotated[
        str | None,
        typer.Option(
            envvar="DAICHO_TOKEN", help="A token of a user, instead of a user for this run."
        ),
    ] = None,
    patience: Annotated[
        float, typer.Option(min=1, help="Seconds to wait for derived state.")
    ] = PATIENCE_S,
    check_archive: Annotated[
        str | None,
        typer.Option(metavar="RUN", help="Look for the archived item of an earlier run."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Test a deployed stack: drive one route of each kind.

    The routes are those of the project's declarations, with the examples of the deployment's own
    description. The run has a tenant and a user of its own, which it removes. Exit code 1: a check
    failed.
    """
    with end_on_errors("smoke"):
        signal.signal(signal.SIGTERM, signal.default_int_handler)  # as Ctrl+C: it cleans up
        target = find_target(stage, stack, region=region, outputs=outputs, url=url, token=token)
        run = SmokeRun(target, discover_project(), load_ledger(), patience)
        if check_archive is not None:
            run.name = check_archive
            run.check_archive()
        elif token is not None:
            run.drive_with(token)
        else:
            run.drive()
        report = run.build_report()
        if as_json:
            print_json(report.to_document())
        else:
            report.print()
    raise typer.Exit(INCOMPLETE if report.failed else SUCCESS)
