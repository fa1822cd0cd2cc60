"""The size of a table, as DynamoDB last measured it."""

from __future__ import annotations

from dataclasses import dataclass

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

from daicho_cli.aws.connection import Connection
from daicho_cli.aws.stacks import StackError


@dataclass(frozen=True)
class TableSize:
    """Items and bytes of a table without its indexes. DynamoDB measures both every six hours.

    A local DynamoDB may not measure them: then they are 0.
    """

    items: int = 0
    bytes: int = 0


def read_table_size(connection: Connection) -> TableSize | None:
    """The size of a table; None if it does not exist.

    Raises:
        StackError: AWS does not answer the request, or no Region or credentials are configured.
    """
    config = Config(connect_timeout=3.0, read_timeout=10.0, retries={"total_max_attempts": 3})
    try:
        client = boto3.client(
            "dynamodb",
            config=config,
            endpoint_url=connection.endpoint,
            region_name=connection.region,
        )
        described = client.describe_table(TableName=connection.table)["Table"]
    except ClientError as error:
        if error.response.get("Error", {}).get("Code") == "ResourceNotFoundException":
            return None
        raise StackError(f"table {connection.table}: {error}") from error
    except BotoCoreError as error:
        raise StackError(f"table {connection.table}: {error}") from error
    return TableSize(described.get("ItemCount", 0), described.get("TableSizeBytes", 0))
