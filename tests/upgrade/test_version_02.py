"""A project made by 0.1 is upgraded to a version 0.2 with a known difference of each kind."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from daicho.runtime.version import VERSION
from tests.upgrade.versions import (
    BIN,
    CannotChangeError,
    CodeChange,
    build_wheel,
    copy_repository,
    read_changes,
    run,
    write_empty_wheel,
)

FILES = ("pyproject.toml", "generations.json", "uv.lock")


@pytest.fixture(scope="module")
def links(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the wheels of both versions."""
    folder = tmp_path_factory.mktemp("links")
    build_wheel(copy_repository(tmp_path_factory.mktemp("old")), folder)
    changed = copy_repository(tmp_path_factory.mktemp("new"))
    for change in read_changes():
        change.apply(changed)
    build_wheel(changed, folder)
    names = sorted(path.name for path in folder.glob("*.whl"))
    assert names == [f"daicho-{version}-py3-none-any.whl" for version in (VERSION, "0.2.0")]
    return folder


@pytest.fixture(scope="module")
def project(links: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project of version 0.1, installed from the wheel."""
    folder = tmp_path_factory.mktemp("projects") / "shop"
    run(BIN / "daicho", "init", "shop", "--folder", folder)
    run(BIN / "uv", "sync", "--quiet", folder=folder, links=links)
    return folder


@pytest.fixture(scope="module")
def checked(project: Path, links: Path) -> str:
    """What ``daicho upgrade --check`` prints."""
    daicho = project / ".venv/bin/daicho"
    return run(daicho, "upgrade", "--check", folder=project, links=links, status=1)


@pytest.fixture(scope="module")
def upgraded(project: Path, links: Path, checked: str) -> str:
    """What the upgrade prints, after the check."""
    daicho = project / ".venv/bin/daicho"
    assert "pyproject.toml pins" not in checked
    return run(daicho, "upgrade", "--accept-breaking", folder=project, links=links)


def test_a_change_whose_text_is_gone_is_reported(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("x = 1\nx = 1\n")
    with pytest.raises(CannotChangeError, match=r"a\.py has 'x = 1' 2 times, not 1"):
        CodeChange("c", "a.py", "x = 1", "x = 2").apply(tmp_path)
    with pytest.raises(CannotChangeError, match=r"b\.py has 'x = 1' 0 times"):
        CodeChange("c", "b.py", "x = 1", "x = 2").apply(tmp_path)


def copy_files(project: Path, folder: Path) -> Path:
    """A copy of a project without what is installed in it."""
    ignored = shutil.ignore_patterns(".venv", "__pycache__", ".local")
    return Path(shutil.copytree(project, folder / "copy", ignore=ignored))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--to", "0.1.7"], "daicho 0.1.7 does not exist: the newest version is 0.2.0"),
        (["--to", "next"], "'next' is no version: write --to 0.2.0, for example"),
    ],
)
def test_a_version_that_does_not_exist(
    project: Path, links: Path, options: list[str], message: str
) -> None:
    daicho = project / ".venv/bin/daicho"
    output = run(daicho, "upgrade", *options, folder=project, links=links, status=1)
    assert output == f"{message}\n"


def test_an_upgrade_over_two_minor_versions(project: Path, tmp_path: Path) -> None:
    for version in ("0.2.0", "0.3.0"):
        write_empty_wheel(tmp_path, version)
    daicho = project / ".venv/bin/daicho"
    output = run(daicho, "upgrade", folder=project, links=tmp_path, status=1)
    assert output == (
        f"from {VERSION} to 0.3.0 is more than one minor version: upgrade to 0.2 first "
        "(daicho upgrade --to 0.2)\n"
    )


def test_an_older_version(project: Path, tmp_path: Path) -> None:
    write_empty_wheel(tmp_path, "0.0.9")
    daicho = project / ".venv/bin/daicho"
    output = run(daicho, "upgrade", "--to", "0.0.9", folder=project, links=tmp_path, status=1)
    assert output.startswith(f"daicho 0.0.9 is older than {VERSION}, which the project uses: ")


def test_a_folder_without_a_project(project: Path, tmp_path: Path) -> None:
    output = run(project / ".venv/bin/daicho", "upgrade", folder=tmp_path, status=1)
    assert output.startswith("no Daicho project is in ")
    assert output.count("\n") == 1


@pytest.mark.parametrize(
    ("file", "before", "after", "message"),
    [
        (
            "pyproject.toml",
            f"=={VERSION}",
            ">=0.1",
            "pyproject.toml pins no version of daicho (it has",
        ),
        (
            "pyproject.toml",
            f"=={VERSION}",
            "==0.1.9",
            f"pins daicho 0.1.9, and {VERSION} is installed",
        ),
        ("generations.json", '"Shop"', '"Other"', "belongs to the project Other, and this is Shop"),
        (
            "domains/products.py",
            "Listing(category)",
            "Listing(name)",
            "Product.of_category changed without a new generation; run make",
        ),
        ("domains/products.py", "Count(), category", "Count(), x", "Product reads undeclared 'x'"),
    ],
)
def test_a_project_that_cannot_be_upgraded(
    project: Path, links: Path, tmp_path: Path, file: str, before: str, after: str, message: str
) -> None:
    copy = copy_files(project, tmp_path)
    text = (copy / file).read_text("utf-8")
    assert before in text
    (copy / file).write_text(text.replace(before, after), "utf-8")
    daicho = project / ".venv/bin/daicho"
    output = run(daicho, "upgrade", "--check", folder=copy, links=links, status=1)
    assert message in output.splitlines()[-1]
    assert "Traceback" not in output


def test_the_check_names_each_change(checked: str) -> None:
    lines = [" ".join(line.split()) for line in checked.splitlines()]
    added = [line for line in lines if line.startswith("compatible AWS::SSM::Parameter Version")]
    assert [line.split()[-2:] for line in added] == [["is", "added"]]
    assert any(
        line.startswith("notice AWS::Lambda::Function Rollup")
        and line.endswith("MemorySize 512 → 1024")
        for line in lines
    )
    assert any(
        line.startswith("breaking Product gets generation 2; change (the earlier instance")
        and "search" in line
        for line in lines
    )
    assert "breaking query parameter live is removed" in " ".join(lines)
    assert any("new code: " in line and "AWS::Lambda::Function" in line for line in lines)


def test_nothing_is_replaced(checked: str) -> None:
    assert "Shop: daicho 0.1.0 → 0.2.0" in checked
    assert "replaced" not in checked.replace("layer versions are replaced by design", "")
    assert "data loss" not in checked


def test_the_check_prints_the_changelog(checked: str) -> None:
    assert "Changelog of 0.2.0" in checked
    assert "- Clients stop sending `live`" in checked


def test_the_check_names_the_option_that_accepts(checked: str) -> None:
    assert checked.rstrip().endswith(
        "2 changes are breaking: daicho upgrade --accept-breaking upgrades nevertheless"
    )


def test_the_upgrade_changes_pin_lock_files_and_installation(
    project: Path, upgraded: str, links: Path
) -> None:
    assert upgraded.splitlines()[-2] == (
        "pyproject.toml pins daicho 0.2.0; generations.json has the new generations; uv sync has "
        "installed it"
    )
    assert upgraded.splitlines()[-1] == "next: make test, then make up, then make deploy"
    assert "==0.2.0" in (project / "pyproject.toml").read_text("utf-8")
    generations = json.loads((project / "generations.json").read_text("utf-8"))
    assert [each["generation"] for each in generations["entities"]["Product"]] == [1, 2]
    assert generations["project"] == "Shop"
    python, daicho = project / ".venv/bin/python", project / ".venv/bin/daicho"
    assert run(python, "-c", "import daicho; print(daicho.__version__)") == "0.2.0\n"
    assert run(daicho, "generation", "--check", folder=project) == "no declaration changed\n"
    output = run(daicho, "upgrade", folder=project, links=links)
    assert output == "Shop has the newest version of daicho, 0.2.0\n"
