"""The state of the stack: the only module of the library that talks to CloudFormation."""

from __future__ import annotations

from botocore.config import Config

from daicho.storage.botocore_errors import AWS_ERRORS, translate_error
from daicho.storage.sessions import open_client


def is_going_back(stack: str) -> bool:
    """Whether CloudFormation rolls back an update of a stack. ``stack``: its name or id.

    Raises:
        StoreError: CloudFormation does not answer.
    """
    config = Config(
        retries={"mode": "standard", "total_max_attempts": 5}, connect_timeout=1.0, read_timeout=5.0
    )
    client = open_client("cloudformation", config)
    try:
        (found,) = client.describe_stacks(StackName=stack)["Stacks"]
    except AWS_ERRORS as error:
        raise translate_error(error, f"describe the stack {stack}") from error
    return "ROLLBACK" in found["StackStatus"]
