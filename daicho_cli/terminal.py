"""What all commands share at the terminal: messages, a progress bar, and how a command ends."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, NoReturn

import typer
from botocore.exceptions import BotoCoreError, ClientError
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table

from daicho.errors import DaichoError

SUCCESS, INCOMPLETE, COULD_NOT_RUN, INTERRUPTED = 0, 1, 2, 130
"""Exit codes: success; something remains or is wrong, and was printed; the command could not run;
the caller interrupted it."""


class CommandError(Exception):
    """A command cannot run, or cannot continue. The message is for its caller."""


class OptionError(CommandError):
    """Options without a valid meaning."""


_EXPECTED = (CommandError, DaichoError, ClientError, BotoCoreError, OSError)


@contextmanager
def end_on_errors(command: str, code: int = COULD_NOT_RUN) -> Iterator[None]:
    """End the command with a message and an exit code if an expected error occurs."""
    try:
        yield
    except KeyboardInterrupt:
        end_command(f"{command} was interrupted", INTERRUPTED)
    except BrokenPipeError:
        # The reader of the output has closed it. Python must not fail when it flushes at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise typer.Exit(SUCCESS) from None
    except _EXPECTED as error:
        end_command(f"{command} could not run: {error}", code)


def end_command(message: str, code: int) -> NoReturn:
    """Print a message on stderr, and exit."""
    print_message(message)
    raise typer.Exit(code)


def print_message(text: str) -> None:
    """Print a message that is not part of the command's output, on stderr."""
    typer.echo(text, err=True)


def print_json(document: Any) -> None:
    """Print one JSON document as the command's output."""
    typer.echo(json.dumps(document, indent=2, ensure_ascii=False))


def build_table(title: str, columns: Iterable[str]) -> Table:
    """A table without rows; long cells are folded."""
    table = Table(title=title, title_justify="left")
    for column in columns:
        table.add_column(column, overflow="fold")
    return table


@contextmanager
def show_progress_bar(
    title: str, *texts: str, total: float | None = None, has_end: bool = False, **fields: Any
) -> Iterator[Callable[..., None]]:
    """Show a progress bar on stderr, which disappears at its end; invisible without a terminal.

    ``texts``: what is printed after the bar, with ``fields`` such as ``{task.fields[items]}``.
    ``has_end``: whether the remaining time can be estimated. Yields the function that updates the
    bar and its fields.
    """
    console, remaining = Console(stderr=True), [TimeRemainingColumn()] if has_end else []
    shown = (TextColumn("{task.description}"), BarColumn(), *map(TextColumn, texts))
    columns = (*shown, TimeElapsedColumn(), *remaining)
    with Progress(
        *columns, console=console, transient=True, disable=not console.is_terminal
    ) as bar:
        yield partial(bar.update, bar.add_task(title, total=total, **fields))


MINUTE_S, HOUR_S = 60, 3_600


def format_duration(seconds: float) -> str:
    """Minutes, or hours."""
    if seconds < MINUTE_S:
        return "<1 min"
    if seconds < HOUR_S:
        return f"{seconds / MINUTE_S:.0f} min"
    return f"{seconds / HOUR_S:,.1f} h"
