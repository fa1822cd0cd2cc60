"""``daicho status``: the instances of a stage, and which of them answer."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from daicho.rebuild.recounts import list_recounts
from daicho_cli.aws.deployed_stage import StageOptions, find_stage
from daicho_cli.options import LOCAL, Endpoint, Region, StackFile, Stage, TableOfStage
from daicho_cli.project import load_ledger
from daicho_cli.status.report import build_document, print_statuses
from daicho_cli.status.stage_status import list_entity_statuses
from daicho_cli.terminal import INCOMPLETE, end_command, end_on_errors


def status(
    stage: Stage = None,
    table: TableOfStage = None,
    region: Region = None,
    endpoint: Endpoint = None,
    stack: StackFile = LOCAL,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON document instead of a table.")
    ] = False,
) -> None:
    """Print each instance of each entity in a stage, with its state.

    The lock file lists the instances, and the table shows which of them include every item. Exit
    code 1: nothing is deployed, or the command could not run.
    """
    with end_on_errors("status", INCOMPLETE):
        ledger = load_ledger()
        deployed = find_stage(StageOptions(stack, table, stage, region, endpoint))
        waiting = list(list_recounts(deployed.table)) if deployed else []
    if deployed is None:
        end_command("there is no table: nothing is deployed", INCOMPLETE)
    statuses = list_entity_statuses(ledger, deployed.states)
    if as_json:
        document = build_document(deployed.table.name, statuses, waiting)
        typer.echo(json.dumps(document, indent=2, ensure_ascii=False))
    else:
        print_statuses(deployed.table.name, statuses, waiting)
