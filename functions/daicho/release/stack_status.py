"""The state of the stack: the only module of the library that talks to CloudFormation."""

from __future__ import annotations

from daicho.storage.botocore_errors import translate_errors
from daicho.storage.sessions import build_config, open_client


def is_going_back(stack: str) -> bool:
    """Whether CloudFormation rolls back an update of a stack. ``stack``: its name or id.

    Raises:
        StoreError: CloudFormation does not answer.
    """
    client = open_client("cloudformation", build_config(attempts=5))
    with translate_errors(f"describe the stack {stack}"):
        (found,) = client.describe_stacks(StackName=stack)["Stacks"]
    return "ROLLBACK" in found["StackStatus"]
