"""The command ``daicho``: one file for each subcommand, loaded when the subcommand is run."""

from __future__ import annotations

import importlib
import os
import traceback
from pathlib import Path
from typing import Any, NamedTuple

import typer
from typer.core import TyperCommand, TyperGroup

from daicho.errors import DeclarationError, ProjectError


class Subcommand(NamedTuple):
    """Where a subcommand is, and its summary in the list of all subcommands."""

    module: str
    summary: str


_MODULES = {
    **{name: f"{name}.command" for name in ("init", "load", "plan", "contract", "cost", "trial")},
    **{"docs": "generate.access_patterns", "openapi": "generate.openapi", "smoke": "smoke.run"},
    **{"archive": "archive.commands", "local": "local.group"},
}
"""The modules of this package that are not called like their subcommand."""
_SUMMARIES = {
    "init": "Make a new project: an app with one entity, its test, and all to run and deploy it.",
    "load": "Load the rows of FILE as items of ENTITY.",
    "export": "Export items into FILE, one item a line.",
    "redrive": "Apply the records that were quarantined or discarded, each exactly once.",
    "republish": "Move events that nobody took back to their queues.",
    "archive": "Query, restore, verify and erase archived items.",
    "local": "Run the project's stack on a local AWS, without an account and without Docker.",
    "generation": (
        "Append changed declarations to the lock file of generations, and print the effects."
    ),
    "rebuild": "Bring existing items to the newest generation, so that new declarations answer.",
    "verify": (
        "Compare what is stored with what follows from the base items, while writes continue."
    ),
    "restore": "Move the items of a stage, a tenant or an entity back to an earlier moment.",
    "take-over": "Make a restored table fit to be that of a stage whose own table is lost.",
    "recover": (
        "Make derived state right after records of the stream were lost, while writes continue."
    ),
    "plan": "Print what a deployment changes in a stage, what it costs, and what is refused.",
    "status": "Print each instance of each entity in a stage, with its state.",
    "user": "Create a user of a tenant in the user pool, with a password.",
    "smoke": "Test a deployed stack: drive one route of each kind.",
    "trial": "Deploy the stage trial, measure it, write a report, and remove it again.",
    "destroy": "Remove a deployed stage with all its data, if the stage retains none.",
    "docs": "Write the table of access patterns.",
    "openapi": "Write the OpenAPI document of all routes.",
    "contract": "Compare the API of the declarations with the committed OpenAPI document.",
    "cost": "Estimate the monthly bill from the declarations and a description of the traffic.",
}
"""By name: the first sentence of the subcommand's own help, which a test compares."""
SUBCOMMANDS = {
    name: Subcommand(f"daicho_cli.{_MODULES.get(name, name.replace('-', '_'))}", summary)
    for name, summary in _SUMMARIES.items()
}


class Commands(TyperGroup):
    """Loads only the subcommand that is run: `daicho --help` imports neither boto3 nor Pydantic.

    A wrong declaration is printed in one line, with its place and the problem; so is a project that
    lacks something.
    """

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        for name, subcommand in SUBCOMMANDS.items():
            self.add_command(TyperCommand(name, help=subcommand.summary))

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Replace the entry of the list by the subcommand itself."""
        name, entry, rest = super().resolve_command(ctx, args)
        return name, entry if name is None else load_subcommand(name), rest

    def invoke(self, ctx: Any) -> Any:
        """Run a command."""
        try:
            return super().invoke(ctx)
        except (DeclarationError, ProjectError) as error:
            frames = traceback.extract_tb(error.__traceback__)
            folder = _find_domain_folder()
            own = [f for f in frames if folder and Path(f.filename).is_relative_to(folder)]
            place = f"{Path(own[-1].filename).name}:{own[-1].lineno}: " if own else ""
            typer.echo(f"{place}{error}", err=True)
            raise typer.Exit(1) from error


def _find_domain_folder() -> Path | None:
    """The folder of the project's domain files; None outside a project."""
    from daicho.project import Project  # noqa: PLC0415  # the list of subcommands needs none

    try:
        project = Project.find(Path.cwd())
    except ProjectError:
        return None
    return project.locate(project.domains)


def load_subcommand(name: str) -> Any:
    """Import a subcommand: Typer's command object, or group of commands."""
    module = importlib.import_module(SUBCOMMANDS[name].module)
    group = getattr(module, "app", None)
    if group is None:
        group = typer.Typer(rich_markup_mode="markdown", add_completion=False)
        group.command(name)(getattr(module, name.replace("-", "_")))
    return typer.main.get_command(group)


app = typer.Typer(
    cls=Commands,
    no_args_is_help=True,
    rich_markup_mode="markdown",
    add_completion=False,
    pretty_exceptions_show_locals=False,
)


@app.callback()
def _describe() -> None:
    """Generate the files of a Daicho project, and load, export and repair its data."""
    # As the AWS CLI and CDK do. botocore reads AWS_DEFAULT_REGION alone, so one export would let a
    # deployment succeed and leave the commands without a Region.
    if region := os.environ.get("AWS_REGION"):
        os.environ["AWS_DEFAULT_REGION"] = region


if __name__ == "__main__":
    app()
