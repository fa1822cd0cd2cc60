"""The table that a command loads into or exports."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from botocore.exceptions import BotoCoreError

from daicho.storage.table import Table, open_table
from daicho_cli.aws.stacks import StackError, read_local_stack, read_outputs


@dataclass(frozen=True)
class Connection:
    """The location of a table. Without an endpoint the environment configures AWS."""

    table: str
    endpoint: str | None = None
    region: str | None = None

    @classmethod
    def find(
        cls,
        table: str | None,
        endpoint: str | None,
        stack_file: Path,
        *,
        stage: str | None = None,
        region: str | None = None,
        instead: str = "--table",
    ) -> Connection:
        """The given table, or that of a stage, or that of the local stack (`make up`).

        ``instead``: the option to use without a local stack.

        Raises:
            StackError: the stack does not exist, or does not name its table.
            ClientError, BotoCoreError: AWS does not answer the request for the stage's stack.
        """
        if table is not None:
            return cls(table, endpoint, region)
        if stage is not None:
            outputs = read_outputs(stage, region)
            if "TableName" not in outputs:
                raise StackError(f"the stack of {stage} has no output TableName: deploy it again")
            return cls(outputs["TableName"], endpoint, region)
        stack = read_local_stack(stack_file, instead=instead)
        for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
            os.environ.setdefault(name, "test")  # the local AWS accepts any
        try:
            return cls(stack["table"], endpoint or stack["endpoint"], region or stack["region"])
        except KeyError as error:
            raise StackError(f"{stack_file} knows no {error}: make up once more") from error

    def open(self, parallelism: int, attempts: int = 5, timeout: float = 30.0) -> Table:
        """Open the table, with retries and timeouts for a program that may wait.

        ``timeout``: of a request, in seconds.

        Raises:
            StackError: the environment names no region.
        """
        try:
            return open_table(
                self.table,
                attempts=attempts,
                timeout=timeout,
                connections=parallelism + 4,
                endpoint=self.endpoint,
                region=self.region,
            )
        except BotoCoreError as error:
            raise StackError(str(error)) from error
