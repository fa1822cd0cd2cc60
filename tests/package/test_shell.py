"""Make 3.81 and bash 3.2, which macOS brings, suffice for the Makefile and the scripts."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
AFTER_MAKE_3_81 = (
    r"^\.ONESHELL",
    r"^\.RECIPEPREFIX",
    r"^undefine ",
    r"^private ",
    r"^[\w.]+\s*(?:!|::+)=",
    r"\$\(file ",
    r"\$\(guile ",
    r"\$\(let ",
    r"\$\(intcmp ",
)
AFTER_BASH_3_2 = (
    r"\b(?:mapfile|readarray|coproc)\b",
    r"\b(?:declare|local|typeset) -[a-z]*[Agn]",
    r"\$\{\w+(?:,,?|\^\^?)",
    r"&>>|\|&",
    r"\[\[ -v ",
    r"\bEPOCH(?:SECONDS|REALTIME)\b",
    r"\$\{\w+@[A-Z]\}",
    r"\bshopt -s globstar",
    r"\bwait -n\b",
)
ONLY_ON_LINUX = (
    r"\breadlink -f\b",
    r"\brealpath\b",
    r"\bsed -i\b",
    r"\bgrep -[a-zA-Z]*P",
    r"\bdate -d\b",
    r"\bxargs -r\b",
    r"\bnproc\b",
    r"\btimeout \d",
    r"\bcp --",
    r"\bsha256sum\b",
)


def list_scripts() -> list[Path]:
    """The Makefile, and every tracked file that a shell runs."""
    names = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.split()
    files = [ROOT / name for name in names if (ROOT / name).is_file()]
    shell = [path for path in files if re.match(rb"#!.*\b(?:ba)?sh\b", path.read_bytes()[:40])]
    return [ROOT / "Makefile", *shell]


SCRIPTS = list_scripts()


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.name)
def test_nothing_newer_is_used(path: Path) -> None:
    patterns = [*AFTER_BASH_3_2, *ONLY_ON_LINUX]
    patterns += AFTER_MAKE_3_81 if path.name == "Makefile" else ()
    text = path.read_text("utf-8")
    assert [each for each in patterns if re.search(each, text, re.MULTILINE)] == []


def test_what_is_newer_is_found() -> None:
    newer = 'x ::= 1\nnames=("${word,,}")\nmapfile -t lines\nsed -i s/a/b/ file\n'
    patterns = (*AFTER_MAKE_3_81, *AFTER_BASH_3_2, *ONLY_ON_LINUX)
    assert len([each for each in patterns if re.search(each, newer, re.MULTILINE)]) == 4


def test_there_is_a_script_besides_the_makefile() -> None:
    assert ROOT / ".ci/run" in SCRIPTS


@pytest.mark.parametrize("path", SCRIPTS[1:], ids=lambda path: path.name)
def test_bash_reads_it(path: Path) -> None:
    subprocess.run(["bash", "-n", path], check=True)
