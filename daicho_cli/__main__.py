"""The entry point of the command ``daicho``, for an installation with or without the extra."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command; exit with 1 and say what to install if the extra ``cli`` is missing."""
    try:
        from daicho_cli.main import app  # noqa: PLC0415  # it imports Typer, which the extra brings
    except ModuleNotFoundError as error:
        if error.name != "typer":
            raise
        sys.exit("The command daicho needs more packages: pip install 'daicho[cli]'")
    app()


if __name__ == "__main__":
    main()
