"""The group ``daicho archive``."""

from __future__ import annotations

import typer

from daicho_cli.archive import forget, query, restore, verify

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode="markdown",
    add_completion=False,
    help="Query, restore, verify and erase archived items.",
)
app.command()(query.query)
app.command()(restore.restore)
app.command()(verify.verify)
app.command()(forget.forget)
