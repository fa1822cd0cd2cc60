"""The README's commands: a new entity is one file that is copied, generated and deployed.

They run as the README shows them, in a copy of the project with an environment of its own. Not run:
`make test`, which runs this test, `make bootstrap` and `make deploy`, which need an account.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.api import client, eventually, everything
from tests.e2e.followed_requests import follow_requests
from tests.support.changing_project import share_programs
from tests.support.commands import run_command
from tests.support.dynoxide import free_port
from tests.support.how_to_page import FENCE, HowToPage
from tests.support.repository import ROOT

UV = Path(sys.executable).parent / "uv"
FROM_OUTSIDE = (
    *("MAKE", "MFLAGS", "PYTEST", "PYTHON", "VIRTUAL_ENV", "AWS_", "DAICHO_"),
    *("LANG", "LC_"),
)
"""Variables by their beginning that somebody who clones the project does not have."""
OWN_TEST = Path("tests/integration/api/test_tickets.py")

README = (ROOT / "README.md").read_text("utf-8")
NOT_RUN = {
    *("make test", "make bootstrap", "make deploy", "make deploy STAGE=prod"),
    "make docs-serve",  # it ends with Ctrl+C: tests/docs builds the same site
}


def list_commands(text: str) -> set[str]:
    """The commands of a page: those of its blocks but of an own project, and inline ones."""
    inline = re.findall(r"`((?:make|curl|daicho) [^`]+)`", FENCE.sub("", text))
    return {*inline, *(c.line for c in HowToPage.parse(text).commands if c.need != "package")}


README_COMMANDS = list_commands(README)


class Project:
    """A clone of the project in another folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.variables: dict[str, str] = {}
        tracked = self.run("git", "-C", str(ROOT), "ls-files", "-z", folder=ROOT)
        for name in filter(None, tracked.split("\0")):
            if (ROOT / name).is_file():
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(ROOT / name, folder / name)
        # What make would do by pip, from uv's cache: the rest of the installation is make's.
        environment = folder / ".venv"
        self.run(str(UV), "venv", "--quiet", "--seed", "--python", sys.executable, str(environment))
        locked = ("--require-hashes", "-r", "requirements.txt")
        self.run(str(UV), "pip", "install", "--quiet", *locked)
        (environment / ".uv").touch()
        share_programs(folder / ".local")

    def make(self, *arguments: str) -> str:
        """Run make; what it prints."""
        return self.run("make", *arguments)

    def paste(self, command: str) -> str:
        """Run a command of the README; what it prints."""
        assert command in README_COMMANDS, command
        return self.run("bash", "-euc", command)

    def run(self, *command: str, folder: Path | None = None) -> str:
        """Run a command in the clone, or in another folder; its output."""
        environment = {k: v for k, v in os.environ.items() if not k.startswith(FROM_OUTSIDE)}
        environment |= self.variables
        return run_command(*command, folder=folder or self.folder, variables=environment)


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Project]:
    """The clone, with the local stack that is started in it; it ends with the test."""
    clone = Project(tmp_path / "my projéct")
    yield clone
    if (clone.folder / ".local").is_dir():
        clone.make("reset")


def test_the_commands_of_the_readme(project: Project) -> None:
    pasted = set(NOT_RUN)

    def paste(command: str) -> str:
        pasted.add(command)
        return project.paste(command)

    before = read_files(project.folder)
    paste("cp examples/tickets.py functions/domains/")
    copied = {"functions/domains/tickets.py"}
    printed = paste("make generate")
    after = read_files(project.folder)
    changed = {name for name in after if after[name] != before.get(name)} - copied
    generated = {"docs/reference/access-patterns.md", "docs/reference/openapi.json"}
    assert changed == generated | {"functions/generations.json"}
    assert "generations: Ticket 1" in printed
    assert all(f"{name} written" in printed for name in generated)

    shutil.copy(project.folder / "examples/invoicing.py", project.folder / "functions/domains")
    assert "generations: Invoice 1" in project.make("generation")
    project.make("node_modules/.installed")  # asks the registry, which needs a proxy that answers
    project.variables |= {"PORT": str(free_port()), **build_hostile_variables(project.folder)}
    printed = paste("make up")
    stack: dict[str, Any] = json.loads((project.folder / ".local/stack.json").read_text("utf-8"))
    assert "source .local/env" in printed
    project.variables |= {"URL": stack["url"], "TOKEN": stack["tokens"]["acme"]}
    by_name, post, by_title, effort = (
        next(command for command in README_COMMANDS if word in command and "curl" in command)
        for word in ("/artists?", " POST ", "/tickets?", "/effort/")
    )
    assert f"  {by_name}\n" in printed
    (shown,) = re.findall(r"^```json\n(.*?)^```", README, re.MULTILINE | re.DOTALL)
    printed_item, shown_item = (json.loads(text)["items"][0] for text in (paste(by_name), shown))
    assert printed_item | {"created_at": shown_item["created_at"]} == shown_item

    ticket = json.loads(paste(post))
    assert ticket["title"] == "Printer on fire"
    assert eventually(lambda: json.loads(paste(by_title))["items"], bool) == [ticket]
    totals = eventually(lambda: json.loads(paste(effort))["items"], bool)
    assert [(row["team"], row["total"]) for row in totals] == [("ops", 30)]

    with client(stack, "acme") as api:
        assert everything(api, "/tickets", team="ops", queue="true") == [ticket]
        done = api.patch(f"/tickets/{ticket['id']}", json={"state": "done"})
        assert done.json() == ticket | {"state": "done", "version": 2}
        queue = partial(everything, api, "/tickets", team="ops", queue="true")
        assert eventually(queue, lambda items: not items) == []
        assert api.delete(f"/tickets/{ticket['id']}").status_code == 204
        assert api.get(f"/tickets/{ticket['id']}").status_code == 404
    check_invoice_tutorial(project)
    page = HowToPage.read(ROOT / "docs/tutorial/first-entity.md")
    assert follow_requests(page, partial(project.run, "bash", "-euc"), project.variables) == 6
    page = HowToPage.read("add-a-unique-value")
    follow_requests(page, partial(project.run, "bash", "-euc"), project.variables)

    shutil.copy(project.folder / "examples/test_tickets.py", project.folder / OWN_TEST.parent)
    project.run(".venv/bin/python", "-m", "pytest", str(OWN_TEST), "-q")
    paste("make down")
    paste("make reset")
    assert pasted - NOT_RUN == README_COMMANDS - NOT_RUN


def build_hostile_variables(folder: Path) -> dict[str, str]:
    """What a company sets for its machines, none of which concerns the local AWS.

    A proxy that nobody may use, a profile that does not exist, settings of AWS that are none, and
    an old Node.js first on the path.
    """
    old = folder.parent / "old"
    old.mkdir()
    (old / "node").write_text("#!/bin/sh\necho v8.0.0\nexit 1\n", "ascii")
    (old / "node").chmod(0o755)
    nowhere = "http://127.0.0.1:9"
    return {
        **dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY", "https_proxy"), nowhere),
        "AWS_PROFILE": "missing",
        "AWS_ENDPOINT_URL": nowhere,
        "AWS_RETRY_MODE": "none-such",
        "AWS_CA_BUNDLE": "/nonexistent",
        "PATH": f"{old}{os.pathsep}{os.environ['PATH']}",
    }


def check_invoice_tutorial(project: Project) -> None:
    """Run the requests of the tutorial of invoices, in their order."""
    page = HowToPage.read(ROOT / "docs/tutorial/invoice-service.md")
    create, due, unpaid, opened, overdue, paid, revenue, gift, sums = (
        command.line for command in page.commands if command.line.startswith("curl")
    )

    def send(command: str) -> dict[str, Any]:
        answer: dict[str, Any] = json.loads(project.run("bash", "-euc", command))
        return answer

    invoice = send(create)
    assert (invoice["total"], invoice["lines"][0]["price"]) == ("31.10", "7.10")
    assert (invoice["status"], bool(invoice["owner"])) == ("draft", True)
    project.variables["ID"] = invoice["id"]
    for command, status, fields in (
        (create, 409, ["number"]),
        (due, 422, ["issued", "due"]),
        (unpaid, 409, ["status"]),
    ):
        refused = send(command)
        assert refused["status"] == status
        assert [error["field"] for error in refused["errors"]] == fields
    assert send(opened)["status"] == "open"
    (listed,) = eventually(lambda: send(overdue)["items"], bool)
    assert listed["id"] == invoice["id"]
    assert send(paid)["status"] == "paid"
    (row,) = eventually(lambda: send(revenue)["items"], bool)
    assert row == {"country": "JP", "count": 1, "total": "31.10", "rank": 1}
    for command, name in ((paid, "status"), (gift, "lines")):
        refused = send(command)
        assert (refused["status"], refused["errors"][0]["field"]) == (409, name)
    october, november = eventually(
        lambda: send(sums)["buckets"], lambda buckets: bool(buckets[-1]["count"])
    )
    assert (october["count"], november["count"], november["total"]) == (0, 1, "31.10")


def read_files(folder: Path) -> dict[str, bytes]:
    """The files of a project by name, without what is installed and cached."""
    files = (path for path in folder.rglob("*") if path.is_file())
    names = {path.relative_to(folder): path for path in files}
    return {
        str(name): path.read_bytes()
        for name, path in names.items()
        if not any(part.startswith(".") or part == "__pycache__" for part in name.parts)
    }
