"""The table that a command loads into or exports."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from botocore.exceptions import BotoCoreError

from daicho.storage.table import Table, open_table
from daicho_cli.aws.stacks import StackError, read_local_stack


@dataclass(frozen=True)
class Connection:
    """The location of a table. Without an endpoint the environment configures AWS."""

    table: str
    endpoint: str | None = None
    region: str | None = None

    @classmethod
    def find(cls, table: str | None, endpoint: str | None, stack_file: Path) -> Connection:
        """The given table, or the table of the local stack that `make up` has deployed.

        Raises:
            StackError: the stack does not exist, or its file is incomplete.
        """
        if table is not None:
            return cls(table, endpoint)
        stack = read_local_stack(stack_file, instead="--table")
        for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
            os.environ.setdefault(name, "test")  # the local AWS accepts any
        try:
            return cls(stack["table"], endpoint or stack["endpoint"], stack["region"])
        except KeyError as error:
            raise StackError(f"{stack_file} knows no {error}: make up once more") from error

    def open(self, parallelism: int, attempts: int = 5) -> Table:
        """Open the table, with retries and timeouts for a program that may wait.

        Raises:
            StackError: the environment names no region.
        """
        try:
            return open_table(
                self.table,
                attempts=attempts,
                timeout=30.0,
                connections=parallelism + 4,
                endpoint=self.endpoint,
                region=self.region,
            )
        except BotoCoreError as error:
            raise StackError(str(error)) from error
