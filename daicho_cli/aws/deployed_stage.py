"""A deployed stage: its table, and which generations the table has."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import boto3

from daicho.release.states import StageStates, read_stage_states
from daicho.storage.table import Table
from daicho_cli.aws.connection import Connection
from daicho_cli.aws.stacks import UndeployedError
from daicho_cli.aws.table_size import TableSize, read_table_size
from daicho_cli.cost.prices import DEFAULT_REGION
from daicho_cli.options import OptionError

PARALLELISM = 8
"""Segments of a scan that are read at once."""


@dataclass(frozen=True)
class StageOptions:
    """The options that name a stage; without any, the local stack.

    ``stack``: the file that describes the local stack.
    """

    stack: Path
    table: str | None = None
    stage: str | None = None
    region: str | None = None
    endpoint: str | None = None


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


def find_stage(options: StageOptions) -> DeployedStage | None:
    """Read the stage that the options name.

    None if the stage has no stack or no table: nothing was deployed yet.

    Raises:
        OptionError: both a table and a stage are named.
        StackError: the local stack does not exist, or AWS does not answer.
        StoreError: the table does not answer.
        ClientError, BotoCoreError: AWS does not answer the request for the stage's stack.
    """
    if options.table is not None and options.stage is not None:
        raise OptionError("--stage names the table of a stage: use --table or --stage, not both")
    try:
        connection = Connection.find(
            options.table,
            options.endpoint,
            options.stack,
            stage=options.stage,
            region=options.region,
            instead="--stage",
        )
    except UndeployedError:
        return None
    size = read_table_size(connection)
    if size is None:
        return None
    opened = connection.open(PARALLELISM)
    return DeployedStage(connection, opened, size, read_stage_states(opened))
