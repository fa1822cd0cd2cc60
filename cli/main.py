"""The command ``daicho``: one file a command."""

from __future__ import annotations

import typer

from cli import docs, generation, load, openapi

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_show_locals=False,
    help="Daicho: one DynamoDB table, and everything derived from it kept exact.",
)
app.command()(load.load)
app.command()(generation.generation)
app.command()(docs.docs)
app.command()(openapi.openapi)

if __name__ == "__main__":
    app()
