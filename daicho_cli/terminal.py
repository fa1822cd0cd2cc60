"""What all commands share at the terminal: messages, a progress bar, and how a command ends."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NoReturn

import typer
from botocore.exceptions import BotoCoreError, ClientError
from rich.console import Console
from rich.progress import Progress, ProgressColumn

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


def create_progress_bar(*columns: ProgressColumn) -> Progress:
    """A progress bar on stderr, which disappears at its end; invisible without a terminal."""
    console = Console(stderr=True)
    return Progress(*columns, console=console, transient=True, disable=not console.is_terminal)


MINUTE_S, HOUR_S = 60, 3_600


def format_duration(seconds: float) -> str:
    """Minutes, or hours."""
    if seconds < MINUTE_S:
        return "<1 min"
    if seconds < HOUR_S:
        return f"{seconds / MINUTE_S:.0f} min"
    return f"{seconds / HOUR_S:,.1f} h"
