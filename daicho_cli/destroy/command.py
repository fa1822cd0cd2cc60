"""``daicho destroy``: remove a stage that retains no data."""

from __future__ import annotations

from typing import Annotated

import boto3
import typer

from daicho_cli.aws.stacks import name_stack
from daicho_cli.destroy.stack_removal import StackRemoval
from daicho_cli.options import Region
from daicho_cli.terminal import end_on_errors, print_message


def destroy(
    stage: Annotated[str, typer.Option(help="The deployed stage, for example dev.")],
    region: Region = None,
    yes: Annotated[
        bool, typer.Option("--yes", "-y", help="Remove the stage without a question.")
    ] = False,
) -> None:
    """Remove a deployed stage with all its data, if the stage retains none.

    Empties the buckets, with all versions of objects, and deletes the stack. S3 delivers access
    logs for some hours: the command repeats both, up to five times. It refuses a stack with
    termination protection, and a stack that retains data, such as prod. Exit code 0: the stack is
    deleted. 2: it still exists, and the reason is printed.
    """
    with end_on_errors("destroy"):
        name = name_stack(stage)
        removal = StackRemoval(
            boto3.client("cloudformation", region_name=region),
            boto3.client("s3", region_name=region),
            name,
            print_message,
        )
        id = removal.check()
        buckets = removal.list_buckets(id)
        _, _, _, place, account, *_ = id.split(":")
        print_message(f"{name} in account {account}, {place}: its table, users and all objects of")
        for bucket in buckets:
            print_message(f"  {bucket}")
        if not yes:
            typer.confirm("Delete them?", abort=True, err=True)
        removal.run()
