"""Which description the declarations are compared with."""

from __future__ import annotations

import copy
import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from daicho.plan import Ledger
from daicho.web.openapi import document
from daicho_cli.contract.command import (
    DESCRIPTION,
    ContractError,
    compare_with_committed,
    read_description,
)
from tests.support.sample_project import DAICHO, LEDGER, SAMPLE_ROUTES


def write(root: Path, described: Any, path: Path = DESCRIPTION) -> Path:
    place = root / path
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(described if isinstance(described, str) else json.dumps(described), "utf-8")
    return place


def name_document(title: str) -> dict[str, Any]:
    return {"openapi": "3.1.0", "info": {"title": title}, "paths": {}}


def run_git(folder: Path, *command: str) -> None:
    identity = ("-c", "user.name=Test", "-c", "user.email=test@example.com")
    subprocess.run(["git", *identity, *command], cwd=folder, check=True, capture_output=True)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A project in a folder of a git repository, with the descriptions 1 to 3.

    1 is tagged, 2 is the last commit, 3 is in the folder.
    """
    root = tmp_path / "services/shop"
    write(root, name_document("1"))
    run_git(tmp_path, "init", "-q")
    for title in ("1", "2"):
        write(root, name_document(title))
        run_git(tmp_path, "add", "-A")
        run_git(tmp_path, "commit", "-qm", title)
        run_git(tmp_path, "tag", f"v{title}")
    write(root, name_document("3"))
    return root


def read_title(root: Path, against: str | None = None) -> tuple[str, str]:
    name, described = read_description(root, against)
    return name, described["info"]["title"]


def test_the_last_commit_is_the_default(repository: Path) -> None:
    assert read_title(repository) == (f"{DESCRIPTION} of HEAD", "2")
    assert read_title(repository, "v1") == (f"{DESCRIPTION} of v1", "1")


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"paths": 7}', "\x00"])
def test_what_is_no_document_is_refused(tmp_path: Path, text: str) -> None:
    write(tmp_path, text)
    with pytest.raises(ContractError, match=r"is no OpenAPI document"):
        read_description(tmp_path)


def test_the_declarations_are_compared_with_the_description(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = copy.deepcopy(SAMPLE_ROUTES.description)
    write(tmp_path, before)
    # Generations that are not locked yet are no error.
    assert compare_with_committed(DAICHO, Ledger(), tmp_path).changes == ()
    monkeypatch.setattr(document, "describe_api", lambda *_: SAMPLE_ROUTES.description)
    (name,) = [
        parameter
        for parameter in before["paths"]["/artists"]["get"]["parameters"]
        if parameter["name"] == "name"
    ]
    name["name"] = "q"
    check = compare_with_committed(DAICHO, LEDGER, tmp_path, str(write(tmp_path, before)))
    assert check.is_breaking
    (change,) = check.changes
    assert change.way == 'Search(..., param="q")'

    del before["components"]["schemas"]["ArtistPage"]
    write(tmp_path, before)
    with pytest.raises(ContractError, match="refers to 'ArtistPage', which it does not contain"):
        compare_with_committed(DAICHO, LEDGER, tmp_path)
