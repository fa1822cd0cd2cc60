"""``daicho local``: a local AWS with the project's stack."""

from __future__ import annotations

import datetime as dt
import errno
import re
import sys
from collections.abc import Iterator
from typing import Annotated, Any, NoReturn

import typer
from botocore.exceptions import EndpointConnectionError
from typer.core import TyperGroup

from daicho.errors import DeclarationError, ProjectError
from daicho_cli.local import lifecycle, ttl_process
from daicho_cli.local.environment import REGION, use_local_aws
from daicho_cli.local.instance import LocalError, LocalInstance
from daicho_cli.local.programs import install_programs

NEWEST = 200
NOT_WRITABLE = (errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOSPC)
_FUNCTION = re.compile(r"/(?:Projector)?(\w+?)(?:Function)?Logs[0-9A-F]{8}$")
_STACK_ID = re.compile(r"-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$")
"""The end of the names that contain the id of their stack."""
_OF_LAMBDA = ("START RequestId:", "END RequestId:", "REPORT RequestId:")


def read_newest(instance: LocalInstance, lines: int = NEWEST) -> list[str]:
    """The newest lines of all functions, oldest first: time, function, text."""
    # Events of the same millisecond keep the order in which they were written.
    events = sorted(_read_events(instance), key=lambda event: event[0])[-lines:]
    return [f"{_format_time(at)}  {function:8} {text}" for at, function, text in events]


def _read_events(instance: LocalInstance) -> Iterator[tuple[int, str, str]]:
    client = instance.session().client("logs", endpoint_url=instance.endpoint, region_name=REGION)
    groups = client.get_paginator("describe_log_groups").paginate()
    for group in (entry["logGroupName"] for page in groups for entry in page["logGroups"]):
        pages = client.get_paginator("filter_log_events").paginate(logGroupName=group)
        for event in (entry for page in pages for entry in page["events"]):
            if not event["message"].startswith(_OF_LAMBDA):
                yield event["timestamp"], parse_function(group), event["message"].rstrip()
    client.close()


def parse_function(group: str) -> str:
    """The function of a log group, by its name in the stack file; else the group's last part.

    That is without the id of the stack.
    """
    match = _FUNCTION.search(group)
    return match[1].lower() if match else _STACK_ID.sub("", group.rpartition("/")[2])


def _format_time(milliseconds: int) -> str:
    return dt.datetime.fromtimestamp(milliseconds / 1000, dt.UTC).strftime("%H:%M:%S")


SUMMARY = "Run the project's stack on a local AWS, without an account and without Docker."


class _Group(TyperGroup):
    """Ends with one message where an error is expected."""

    def invoke(self, ctx: Any) -> Any:
        """Run a command."""
        use_local_aws()
        try:
            return super().invoke(ctx)
        except (LocalError, ProjectError, DeclarationError) as trouble:
            _end(str(trouble), trouble)
        except EndpointConnectionError as trouble:
            _end("the local AWS does not run; make up starts it", trouble)
        except OSError as trouble:
            if trouble.errno not in NOT_WRITABLE:
                raise
            _end(f"cannot write {trouble.filename}: {trouble.strerror}", trouble)


app = typer.Typer(cls=_Group, no_args_is_help=True, add_completion=False, help=SUMMARY)


@app.command()
def up(
    sample: Annotated[bool, typer.Option(help="Load the project's sample data.")] = True,
    faults: Annotated[
        float | None,
        typer.Option(envvar="FAULTS", help="Share of the projector's requests that are to fail."),
    ] = None,
    table_stream: Annotated[
        str, typer.Option(metavar="ARN", help="The stream of a table that was taken over.")
    ] = "",
    yes: Annotated[
        bool, typer.Option("--yes", help="Forget what was half made, without a question.")
    ] = False,
) -> None:
    """Start the local AWS, deploy, load sample data, print the first calls."""
    may_forget = (lambda _: True) if yes else _ask_to_forget
    lifecycle.up(
        LocalInstance.find(),
        typer.echo,
        may_forget,
        with_sample=sample,
        faults=faults,
        options={"table_stream": table_stream} if table_stream else {},
    )


@app.command()
def install() -> None:
    """Install the programs of the local AWS; `up` does it too."""
    for name in install_programs(LocalInstance.find().programs):
        typer.echo(f"{name} is installed")


@app.command()
def down() -> None:
    """Stop the local AWS; data and undelivered stream records stay."""
    lifecycle.down(LocalInstance.find(), typer.echo)


@app.command()
def reset() -> None:
    """Stop the local AWS and forget its data."""
    lifecycle.reset(LocalInstance.find(), typer.echo)


@app.command()
def status() -> None:
    """Say what runs, and where."""
    lifecycle.status(LocalInstance.find(), typer.echo)


@app.command()
def logs(
    lines: Annotated[int, typer.Option(min=1, help="How many of the newest.")] = NEWEST,
) -> None:
    """Print what the functions logged."""
    for line in read_newest(LocalInstance.find(), lines):
        typer.echo(line)


@app.command(name="sample-data")
def sample_data() -> None:
    """Load the project's sample data; doing it twice changes nothing."""
    from daicho_cli.local import welcome  # noqa: PLC0415  # it loads the web framework

    instance = LocalInstance.find()
    sample = welcome.find_sample_data(instance.project)
    if sample is None:
        raise LocalError("the project names no sample_data in [tool.daicho] of pyproject.toml")
    loaded = sample.load(instance, instance.stack(), typer.echo)
    typer.echo(f"{loaded} items are new; the others were there.")


@app.command()
def expire(
    every: Annotated[float, typer.Option(help="Seconds between sweeps; 0: one sweep.")] = 0,
    days: Annotated[
        int, typer.Option(min=0, max=3650, help="Play so many days ahead instead.")
    ] = 0,
    entity: Annotated[
        list[str] | None, typer.Option(help="Ahead only of this entity; several times.")
    ] = None,
) -> None:
    """Play DynamoDB's TTL process: once, for ever, or ahead of time."""
    instance = LocalInstance.find()
    if days:
        for day, deleted in enumerate(ttl_process.simulate_days(instance, days, entity or ()), 1):
            if deleted:
                typer.echo(f"in {day} days: {deleted} expired")
    elif every:
        ttl_process.run(instance, every)
    else:
        typer.echo(f"{ttl_process.delete_expired_now(instance)} expired")


def _ask_to_forget(reason: str) -> bool:
    """Ask whether a half-made stack may be forgotten; without a terminal it is an error."""
    if not sys.stdin.isatty():
        raise LocalError(f"{reason} To forget it and begin anew: daicho local up --yes")
    return typer.confirm(f"{reason} Forget it, and begin anew?")


def _end(text: str, trouble: Exception) -> NoReturn:
    typer.echo(f"daicho: {text}", err=True)
    raise typer.Exit(1) from trouble
