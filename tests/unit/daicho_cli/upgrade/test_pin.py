"""The pin in pyproject.toml."""

from __future__ import annotations

import pytest
from packaging.version import Version

from daicho_cli.upgrade.errors import UpgradeError
from daicho_cli.upgrade.pin import Pin, find_pin, rewrite_pin

PROJECT = """# The shop.
[project]
name = "shop"
dependencies = [
    "daicho[cli,cdk] == 0.1.0",  # daicho upgrade
    "httpx>=0.28",
]

[project.optional-dependencies]
test = ["daicho[testing]==0.1.0; python_version >= '3.11'"]
docs = ["mkdocs"]

[dependency-groups]
dev = [{include-group = "lint"}, "Daicho[local]==0.1.0"]
lint = ["ruff==0.1.0"]
"""


def test_every_place_of_the_pin_is_found() -> None:
    assert find_pin(PROJECT) == Pin(Version("0.1.0"), ("test",), ("dev",))


def test_every_place_is_rewritten_and_nothing_else() -> None:
    expected = (
        PROJECT.replace("== 0.1.0", "== 0.2.0")
        .replace("testing]==0.1.0", "testing]==0.2.0")
        .replace("local]==0.1.0", "local]==0.2.0")
    )
    assert rewrite_pin(PROJECT, Version("0.2.0")) == expected
    assert "ruff==0.1.0" in expected


def test_the_same_version_changes_nothing() -> None:
    assert rewrite_pin(PROJECT, Version("0.1.0")) == PROJECT


@pytest.mark.parametrize(
    ("dependencies", "message"),
    [
        ("[]", "pins no version of daicho: write daicho==VERSION"),
        ('["daicho-plugin==0.1.0"]', "pins no version of daicho: write"),
        ('["daicho"]', r"no version of daicho \(it has daicho\)"),
        ('["daicho>=0.1"]', r"it has daicho>=0.1"),
        ('["daicho==0.1.*"]', r"it has daicho==0.1.\*"),
        ('["daicho @ file:///daicho.whl"]', "it has daicho @ file"),
        ('["daicho==0.1.0", "daicho[cli]==0.2.0"]', "pins daicho 0.1.0 and 0.2.0: pin one version"),
    ],
)
def test_without_one_pin_a_sentence_says_what_to_write(dependencies: str, message: str) -> None:
    with pytest.raises(UpgradeError, match=message):
        find_pin(f"[project]\ndependencies = {dependencies}\n")


def test_a_file_that_is_no_toml() -> None:
    with pytest.raises(UpgradeError, match=r"pyproject\.toml cannot be read"):
        find_pin("[project\n")
