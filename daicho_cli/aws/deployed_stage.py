"""A deployed stage: its table, and which generations the table has."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import boto3

from daicho.cost.prices import DEFAULT_REGION
from daicho.release.states import StageStates, read_stage_states
from daicho.storage.table import Table
from daicho_cli.aws.connection import Connection
from daicho_cli.aws.stacks import UndeployedError
from daicho_cli.aws.table_size import TableSize, read_table_size
from daicho_cli.options import OptionError

PARALLELISM = 8
"""Segments of a scan that are read at once."""


@dataclass(frozen=True)
class DeployedStage:
    """The table of a stage, its size, and what it contains of each entity."""

    connection: Connection
    table: Table
    size: TableSize
    states: StageStates

    @property
    def region(self) -> str:
        """The Region of the table."""
        return self.connection.region or boto3.Session().region_name or DEFAULT_REGION


def find_stage(
    table: str | None, stage: str | None, region: str | None, endpoint: str | None, stack: Path
) -> DeployedStage | None:
    """Read the stage that the options name; by default the local stack.

    None if the stage has no stack or no table: nothing was deployed yet.

    Raises:
        OptionError: both a table and a stage are named.
        StackError: the local stack does not exist, or AWS does not answer.
        StoreError: the table does not answer.
        ClientError, BotoCoreError: AWS does not answer the request for the stage's stack.
    """
    if table is not None and stage is not None:
        raise OptionError("--stage names the table of a stage: use --table or --stage, not both")
    try:
        connection = Connection.find(
            table, endpoint, stack, stage=stage, region=region, instead="--stage"
        )
    except UndeployedError:
        return None
    size = read_table_size(connection)
    if size is None:
        return None
    opened = connection.open(PARALLELISM)
    return DeployedStage(connection, opened, size, read_stage_states(opened))
