"""The group ``daicho archive``."""

from __future__ import annotations

import typer

from daicho_cli.archive import forget, query, restore, verify

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode="markdown",
    help="What expired and was archived: ask it, bring it back, verify it, forget a tenant.",
)
app.command()(query.query)
app.command()(restore.restore)
app.command()(verify.verify)
app.command()(forget.forget)
