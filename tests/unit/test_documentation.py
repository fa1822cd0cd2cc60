"""The examples, commands, targets and rules that the documentation names exist."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from botocore import xform_name
from botocore.model import OperationModel
from botocore.session import Session
from typer.core import TyperCommand, TyperGroup

from daicho_cli.main import SUBCOMMANDS, load_subcommand

ROOT = Path(__file__).parents[2]
PROJECT_MAKEFILE = ROOT / "daicho_cli/init/templates/Makefile"
OF_PROJECTS = ("start-a-project.md", "upgrade.md", "generate-clients.md", "test-your-entities.md")
"""Pages for somebody with an own project, which has a Makefile of its own."""
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")], key=str)
CODE = re.compile(r"^ *```.*?^ *```", re.MULTILINE | re.DOTALL)
INLINE_CODE = re.compile(r"`([^`]+)`")
COMMAND_LINE = re.compile(r"(?:^|bin/|\s)daicho ([a-z-]+)(?: ([a-z-]+))?([^|#;)]*)")
AWS_COMMAND = re.compile(r"\baws ([a-z][a-z0-9-]+) ([a-z]+-[a-z-]+)([^|;)]*)")
AWS_SERVICES = {"s3api": "s3"}
"""Services whose commands have another name than their model."""
OF_ALL_AWS_COMMANDS = {"query", "output", "no-paginate", "cli-read-timeout", "cli-binary-format"}
QUOTED = re.compile(r"""'[^']*'|"[^"$]*"|"\$\w+"|"[^"]*?"(?=\s|$|\))""")
OPTION = re.compile(r"(?<![\w-])--?[a-z][a-z-]*")


def test_the_readme_shows_the_tested_example() -> None:
    example = (ROOT / "examples/tickets.py").read_text("utf-8")
    page = (ROOT / "README.md").read_text("utf-8")
    assert f'```python title="examples/tickets.py"\n{example}```' in page


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.name))
def test_every_make_target_that_is_named_exists(page: Path) -> None:
    makefiles = [ROOT / "Makefile", *([PROJECT_MAKEFILE] if page.name in OF_PROJECTS else [])]
    texts = [path.read_text("utf-8") for path in makefiles]
    targets = set(re.findall(r"^([a-z0-9-]+):", "\n".join(texts), re.MULTILINE))
    text = page.read_text("utf-8")
    spans = re.findall(r"`(?:\w+=\S+ )*make((?: [a-z][a-z0-9-]+)+)[`\s]", text)
    for block in CODE.findall(text):
        spans += re.findall(r"^ *(?:\w+=\S+ )*make((?: [a-z][a-z0-9-]+)+)\s", block, re.MULTILINE)
    named = {target for span in spans for target in span.split()}
    assert named <= targets, f"{page.name}: {named - targets}"


def test_every_rule_that_the_code_names_is_on_the_page_of_exactness() -> None:
    page = (ROOT / "docs/explanation/exactness-proof.md").read_text("utf-8")
    stated = {int(number) for number in re.findall(r"^### Rule (\d+) \(\S", page, re.M)}
    assert stated == {*range(1, 40), 42, 48, 49, *range(55, 61)}
    text = "".join(path.read_text("utf-8") for path in (ROOT / "functions").rglob("*.py"))
    planted = (ROOT / "tests/delivery/mutants/planted.toml").read_text("utf-8")
    named = re.findall(r"\b[Rr]ules? (\d+)", text) + re.findall(r"^rule = '(\d+)'", planted, re.M)
    assert len(named) > 100
    assert {int(number) for number in named} <= stated


def test_every_rule_is_named_where_the_code_keeps_it() -> None:
    testing = ROOT / "functions/daicho/testing"  # it tests the rules and keeps none
    files = [path for path in (ROOT / "functions").rglob("*.py") if testing not in path.parents]
    text = "".join(path.read_text("utf-8") for path in files)
    named = {int(number) for number in re.findall(r"\b[Rr]ules? (\d+)", text)}
    assert {*range(1, 24), *range(25, 35), 42} <= named  # 24 is what rules 29 to 32 keep


def test_every_command_that_is_named_exists() -> None:
    loaded = {name: load_subcommand(name) for name in SUBCOMMANDS}
    groups = {name: command for name, command in loaded.items() if isinstance(command, TyperGroup)}
    assert groups
    for page in PAGES:
        text = page.read_text("utf-8")
        named = set(re.findall(r"(?:`|bin/|^)daicho ([a-z][a-z-]*)", text, re.MULTILINE))
        assert named <= loaded.keys(), f"{page.name}: {named - loaded.keys()}"
        for name, group in groups.items():
            command = rf"(?:`|bin/|^)daicho {name} ([a-z][a-z-]*)"
            inside = set(re.findall(command, text, re.MULTILINE))
            assert inside <= group.commands.keys(), f"{page.name}: {inside}"


def list_options(command: TyperCommand | TyperGroup) -> set[str]:
    """The options of a command; of a group those of all its commands."""
    parts = command.commands.values() if isinstance(command, TyperGroup) else (command,)
    options = {name for part in parts for each in part.params for name in each.opts}
    return {"--help", *options, *(n for p in parts for e in p.params for n in e.secondary_opts)}


def list_command_lines(text: str) -> Iterator[str]:
    """The lines of blocks of code, whose continuations are joined, and the spans of code."""
    for block in CODE.findall(text):
        yield from re.sub(r"\\\n\s*", " ", block).splitlines()
    for span in INLINE_CODE.findall(CODE.sub("", text)):
        yield " ".join(span.split())


def find_unknown_options(text: str) -> list[str]:
    """The commands of a text with an option that they do not have."""
    unknown = []
    for line in list_command_lines(text):
        for name, inner, rest in COMMAND_LINE.findall(line):
            if name not in SUBCOMMANDS:
                continue  # prose in a block of code; the next test finds a misspelt command
            command = load_subcommand(name)
            if isinstance(command, TyperGroup):
                command = command.commands.get(inner, command)
            wrong = {*OPTION.findall(rest)} - list_options(command)
            unknown += [f"daicho {name} {inner}: {option}" for option in sorted(wrong)]
    return unknown


def test_every_option_that_is_named_exists() -> None:
    assert {page.name: u for page in PAGES if (u := find_unknown_options(page.read_text()))} == {}
    reference = (ROOT / "docs/reference/cli.md").read_text("utf-8")
    sections = dict(re.findall(r"^## (\w+)\n(.*?)(?=^## |\Z)", reference, re.M | re.S))
    for name in SUBCOMMANDS & sections.keys():
        rows = re.findall(r"^\| (`-[^|]*)\|", sections[name], re.MULTILINE)
        named = set(OPTION.findall(" ".join(rows)))
        assert named <= list_options(load_subcommand(name)), name


def test_an_unknown_option_is_found() -> None:
    block = "```\n.venv/bin/daicho plan \\\n  --stage dev --nothing  # --comment\n```\n"
    assert find_unknown_options(block) == ["daicho plan : --nothing"]
    assert find_unknown_options("`daicho archive\nforget --apply --since 1`") == [
        "daicho archive forget: --since"
    ]


def list_aws_options(operation: OperationModel) -> set[str]:
    """The options of an operation in the AWS CLI: its members, and the negation of a boolean."""
    members = operation.input_shape.members if operation.input_shape else {}
    names = {xform_name(name, "-") for name in members}
    booleans = {
        xform_name(name, "-") for name, each in members.items() if each.type_name == "boolean"
    }
    return {*names, *(f"no-{name}" for name in booleans), *OF_ALL_AWS_COMMANDS}


def find_unknown_aws_options(text: str, session: Session) -> list[str]:
    """The commands of the AWS CLI in a text whose operation or option AWS does not have."""
    unknown = []
    for line in list_command_lines(text):
        for service, command, rest in AWS_COMMAND.findall(QUOTED.sub("TEXT", line)):
            model = session.get_service_model(AWS_SERVICES.get(service, service))
            operations = {xform_name(name, "-"): name for name in model.operation_names}
            if command not in operations:
                unknown.append(f"aws {service} {command}")
                continue
            options = list_aws_options(model.operation_model(operations[command]))
            wrong = set(re.findall(r"(?<![\w-])--([a-z][a-z-]*)", rest)) - options
            unknown += [f"aws {service} {command}: --{option}" for option in sorted(wrong)]
    return unknown


def test_every_operation_of_aws_that_is_named_exists() -> None:
    session = Session()
    texts = {page.name: page.read_text("utf-8") for page in PAGES}
    assert sum(len(AWS_COMMAND.findall(text)) for text in texts.values()) > 20
    unknown = {
        name: u for name, text in texts.items() if (u := find_unknown_aws_options(text, session))
    }
    assert unknown == {}


def test_an_unknown_option_of_aws_is_found() -> None:
    block = """```sh
ID=$(aws dynamodb update-table --table-name "$(ls)" \\
  --query 'a[?b(c)]' --protected)
aws dynamodb forget-table --table-name T
```
"""
    assert find_unknown_aws_options(block, Session()) == [
        "aws dynamodb update-table: --protected",
        "aws dynamodb forget-table",
    ]
