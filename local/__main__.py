"""``python -m local``: the commands of `make up`, `down`, `reset`, `demo-data` and `status`."""

from __future__ import annotations

import sys
from typing import Annotated

import typer
from botocore.exceptions import EndpointConnectionError

from local import lifecycle, ttl_process
from local import logs as logged
from local.demo import loader
from local.instance import LocalError, LocalInstance

app = typer.Typer(no_args_is_help=True, add_completion=False, help="The local AWS.")


@app.command()
def up(
    demo_data: Annotated[bool, typer.Option(help="Load the demo data.")] = True,
    faults: Annotated[
        float | None,
        typer.Option(envvar="FAULTS", help="Share of the projector's writes that are to fail."),
    ] = None,
) -> None:
    """Start the local AWS, deploy, load demo data."""
    lifecycle.up(LocalInstance.find(), _say, with_demo=demo_data, faults=faults)


@app.command()
def down() -> None:
    """Stop the local AWS; data and undelivered stream records stay."""
    lifecycle.down(LocalInstance.find(), _say)


@app.command()
def reset() -> None:
    """Stop the local AWS and forget its data."""
    lifecycle.reset(LocalInstance.find(), _say)


@app.command()
def status() -> None:
    """Say what runs, and where."""
    lifecycle.status(LocalInstance.find(), _say)


@app.command()
def logs(
    lines: Annotated[int, typer.Option(min=1, help="How many of the newest.")] = logged.NEWEST,
) -> None:
    """Print what the functions logged."""
    for line in logged.read_newest(LocalInstance.find(), lines):
        _say(line)


@app.command(name="demo-data")
def demo_data() -> None:
    """Load the demo data; doing it twice changes nothing."""
    instance = LocalInstance.find()
    loaded = loader.load(instance, instance.stack(), _say)
    _say(f"{loaded} items are new; the others were there.")


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
                _say(f"in {day} days: {deleted} expired")
    elif every:
        ttl_process.run(instance, every)
    else:
        _say(f"{ttl_process.delete_expired_now(instance)} expired")


def _say(text: str) -> None:
    typer.echo(text)


def main() -> None:
    """Run a command; an expected error becomes one message."""
    try:
        app()
    except LocalError as trouble:
        typer.echo(f"daicho: {trouble}", err=True)
        sys.exit(1)
    except EndpointConnectionError:
        typer.echo("daicho: the local AWS does not run; make up starts it", err=True)
        sys.exit(1)


if __name__ == "__main__":
    main()
