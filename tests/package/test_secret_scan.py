"""The secrets scan finds planted secrets, and passes over what the baseline lists."""

from __future__ import annotations

import subprocess
from base64 import b64encode
from collections.abc import Iterable
from hashlib import sha512
from pathlib import Path

import pytest
from detect_secrets.core.plugins.util import get_mapping_from_secret_type_to_class

from supply_chain import secret_scan
from supply_chain.secret_scan import LEFT_OUT, find_secrets, list_files, list_plugins

# Written in parts, or the scan would find them here.
AWS_KEY = "AKIA" + "Z7QKD3NM5XWLRT2V"
PRIVATE_KEY = "-----BEGIN RSA " + "PRIVATE KEY-----\nMIIEow\n-----END RSA PRIVATE KEY-----"
GITHUB_TOKEN = "ghp_" + "wWPw5k4aXcaT4fNP0UcnZwJUVFk6LO0pINUx"
PYPI_TOKEN = "pypi-" + "AgEIcHlwaS5vcmc" + "A" * 72
JWT = ".".join(
    (
        b64encode(b'{"alg":"HS256","typ":"JWT"}').decode(),
        b64encode(b'{"sub":"1234567890"}').decode().rstrip("="),
        "SflKxwRJSMeKKF2QT4fwpMeJf36POk6yJVadQssw5c",
    )
)
PLANTED = {
    "an AWS access key": (f"key = {AWS_KEY}", "AWS Access Key"),
    "a private key": (PRIVATE_KEY, "Private Key"),
    "a GitHub token": (f"token: {GITHUB_TOKEN}", "GitHub Token"),
    "a PyPI token": (f"password = {PYPI_TOKEN}", "PyPI Token"),
    "a JSON web token": (f"TOKEN={JWT}", "JSON Web Token"),
    "a password in a URL": ("https://" + "mika:hunter22@example.org/", "Basic Auth Credentials"),
    "a random string": (
        f'KEY = "{b64encode(sha512(b"seed").digest()).decode()}"', "Base64 High Entropy String",
    ),
}  # fmt: skip


def plant(folder: Path, text: str, name: str = "settings.py") -> list[str]:
    """The kinds of secrets that are found in a file with ``text`` on its third line."""
    file = folder / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(f"import os\n\n{text}\n", "utf-8")
    return sorted({finding.kind for finding in find_secrets([name], folder)})


@pytest.mark.parametrize("kind", PLANTED)
def test_a_planted_secret_is_found(tmp_path: Path, kind: str) -> None:
    text, expected = PLANTED[kind]
    assert expected in plant(tmp_path, text)
    assert {finding.line for finding in find_secrets(["settings.py"], tmp_path)} == {3}


def test_keys_are_found_in_generated_files_too(tmp_path: Path) -> None:
    name = "tests/infra/snapshots/Daicho-dev.json"
    assert plant(tmp_path, f'"Key": "{AWS_KEY}"', name) == ["AWS Access Key"]
    assert plant(tmp_path, PLANTED["a random string"][0], name) == []


def test_names_without_a_secret_are_not_found(tmp_path: Path) -> None:
    assert plant(tmp_path, 'key = "AKIA" + suffix; url = "https://example.org/a@b"') == []


def test_every_detector_is_used_but_those_that_are_left_out() -> None:
    names = {plugin.__name__ for plugin in list_plugins()}
    assert len(names) > 20
    assert {"AWSKeyDetector", "PrivateKeyDetector", "JwtTokenDetector"} <= names
    assert not names & set(LEFT_OUT)
    plugins: Iterable[type] = get_mapping_from_secret_type_to_class().values()
    known = {plugin.__name__ for plugin in plugins}
    assert names | set(LEFT_OUT) == known


def test_a_finding_fails_until_it_is_in_the_baseline(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    subprocess.run(["git", "init", "--quiet", tmp_path], check=True)
    plant(tmp_path, PLANTED["an AWS access key"][0])
    secret_scan.write_baseline((), tmp_path)

    assert secret_scan.main((), tmp_path) == 1
    assert capsys.readouterr().out == (
        "settings.py:3: AWS Access Key: remove it, and revoke it if it is real\n"
    )
    assert secret_scan.main(("--write",), tmp_path) == 0
    assert AWS_KEY not in (tmp_path / secret_scan.BASELINE).read_text("utf-8")
    plant(tmp_path, "# A line above it.\n" + PLANTED["an AWS access key"][0])
    assert secret_scan.main((), tmp_path) == 0
    plant(tmp_path, "")
    assert secret_scan.main((), tmp_path) == 1
    assert "not there any more" in capsys.readouterr().out


def test_the_baseline_is_short_and_names_files_of_the_repository() -> None:
    entries = secret_scan.read_baseline()
    assert 0 < len(entries) < 10
    assert {file for file, _, _ in entries} <= set(list_files())
