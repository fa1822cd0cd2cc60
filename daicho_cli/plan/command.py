"""``daicho plan``: what a deployment of the checkout changes, costs and refuses."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from daicho.declare.registry import Daicho
from daicho.errors import DeclarationError
from daicho.plan import Ledger
from daicho.plan.disabled import RETIREMENT_S
from daicho.project import Project
from daicho.release.refusals import list_early_disables, list_refusals
from daicho.runtime.clock import utc_now
from daicho_cli.aws import DeployedStage, find_stage
from daicho_cli.contract.command import ContractCheck, ContractError, compare_with_committed
from daicho_cli.options import (
    LOCAL,
    AsJson,
    Endpoint,
    Region,
    Scan,
    StackFile,
    Stage,
    TableOfStage,
    Yes,
)
from daicho_cli.plan.changes import EMPTY_STAGE, list_declaration_routes, list_entity_changes
from daicho_cli.plan.items import ScanOptions
from daicho_cli.plan.rebuild import preview_rebuilds
from daicho_cli.plan.report import (
    REFUSED,
    DeploymentPlan,
    build_document,
    format_plan,
)
from daicho_cli.plan.template import TemplateCheck, check_template
from daicho_cli.project import discover_project, find_project, load_ledger
from daicho_cli.terminal import OptionError, end_on_errors, print_json, print_message

DEFAULT_SCAN_RATE = 500.0


def plan(  # noqa: PLR0913, PLR0917  # the command's options
    stage: Stage = None,
    table: TableOfStage = None,
    region: Region = None,
    endpoint: Endpoint = None,
    stack: StackFile = LOCAL,
    scan: Scan = False,
    rate: Annotated[
        float, typer.Option(min=1, help="With --scan: the highest number of read units a second.")
    ] = DEFAULT_SCAN_RATE,
    yes: Yes = False,
    against: Annotated[
        str | None,
        typer.Option(
            metavar="FILE|REVISION",
            help="The OpenAPI document, or git revision, with which the API is compared.",
            show_default="the last commit",
        ),
    ] = None,
    template: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE|FOLDER",
            help="The output of `cdk synth`: refuse it if it replaces a resource with data.",
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Print what a deployment changes in a stage, what it costs, and what is refused.

    Nothing is written. Exit code 0: nothing changes. 1: the deployment is refused, or the command
    could not run. 2: something changes, or a change breaks clients of the API.
    """
    project = find_project()
    with end_on_errors("plan", REFUSED):
        if template is not None and table is not None:
            raise OptionError("--template compares stacks: use --stage instead of --table")
        check = check_template(template, stack, stage, region) if template else TemplateCheck()

        def find() -> DeployedStage | None:
            return find_stage(stack, table=table, stage=stage, region=region, endpoint=endpoint)

        scanned = ScanOptions(rate, confirmed=yes) if scan else None
        made = _plan_checkout(project, discover_project(), find, scanned, against).add_check(check)
    if as_json:
        print_json(build_document(made))
    else:
        typer.echo(format_plan(made))
    raise typer.Exit(made.exit_code)


def _plan_checkout(
    project: Project,
    daicho: Daicho,
    find: Callable[[], DeployedStage | None],
    scan: ScanOptions | None,
    against: str | None,
) -> DeploymentPlan:
    """Compare the checkout with a stage, which is read only if the declarations are possible."""
    locked = load_ledger()
    try:
        daicho.append_generations(locked)  # it names changes that are never possible
        ledger = daicho.check_locked(locked)
        routes = list_declaration_routes(daicho)
    except DeclarationError as error:
        return DeploymentPlan("", refusals=[str(error)])
    deployed = find()
    states = EMPTY_STAGE if deployed is None else deployed.states
    known = states.list_known_states(ledger)
    is_on_aws = deployed is not None and deployed.connection.endpoint is None
    retirement = dt.timedelta(seconds=RETIREMENT_S if is_on_aws else 0)
    made = DeploymentPlan(
        "" if deployed is None else deployed.table.name,
        [
            *list_refusals(ledger, known),
            *list_early_disables(ledger, known, utc_now(), retirement),
        ],
        states.is_recorded or states.is_empty,
        list_entity_changes(ledger, states, routes),
        states.list_unfiltered(ledger),
        contract=_compare_api(daicho, ledger, project.root, against),
    )
    if deployed is None or made.refusals:
        return made
    return _add_rebuilds(made, deployed, scan)


def _add_rebuilds(
    made: DeploymentPlan, deployed: DeployedStage, scan: ScanOptions | None
) -> DeploymentPlan:
    """Read items of the entities that need a rebuild, and estimate what it costs."""
    changes = [change for change in made.entities if change.needs_rebuild]
    if not changes:
        if scan is not None:
            print_message("no entity needs a rebuild: the table is not scanned")
        return made
    found = preview_rebuilds(deployed, changes, scan)
    region = deployed.region
    return replace(
        made, rebuilds=found.rebuilds, read=found.read, prices=found.prices, region=region
    )


def _compare_api(
    daicho: Daicho, ledger: Ledger, root: Path, against: str | None
) -> ContractCheck | ContractError:
    try:
        return compare_with_committed(daicho, ledger, root, against)
    except ContractError as error:
        return error
