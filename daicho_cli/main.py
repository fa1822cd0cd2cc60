"""The command ``daicho``: one file a command."""

from __future__ import annotations

import traceback
from pathlib import Path
from typing import Any

import typer
from typer.core import TyperGroup

from daicho.errors import DeclarationError
from daicho_cli import generation
from daicho_cli.archive import group as archive
from daicho_cli.export import command as export
from daicho_cli.generate import access_patterns, openapi
from daicho_cli.load import command as load
from daicho_cli.redrive import command as redrive


class Commands(TyperGroup):
    """Prints a wrong declaration in one line, with its place and the problem."""

    def invoke(self, ctx: Any) -> Any:
        """Run a command."""
        try:
            return super().invoke(ctx)
        except DeclarationError as error:
            frames = traceback.extract_tb(error.__traceback__)
            own = [frame for frame in frames if Path(frame.filename).parent.name == "domains"]
            place = f"{Path(own[-1].filename).name}:{own[-1].lineno}: " if own else ""
            typer.echo(f"{place}{error}", err=True)
            raise typer.Exit(1) from error


app = typer.Typer(
    cls=Commands,
    no_args_is_help=True,
    rich_markup_mode="markdown",
    add_completion=False,
    pretty_exceptions_show_locals=False,
    help="Daicho: one DynamoDB table, and everything derived from it kept exact.",
)
app.command()(load.load)
app.command()(export.export)
app.command()(redrive.redrive)
app.add_typer(archive.app, name="archive")
app.command()(generation.generation)
app.command()(access_patterns.docs)
app.command()(openapi.openapi)

if __name__ == "__main__":
    app()
