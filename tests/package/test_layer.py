"""The Lambda layer is the same wherever and by whatever it is built, or it is deployed anew."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from pathlib import Path

import pytest

from daicho.cdk.functions import assets as layer
from daicho.errors import SettingsError
from tests.support.trials import IS_TRIAL


def list_files(folder: Path) -> dict[str, tuple[int, str]]:
    """The mode and the hash of each file by its name."""
    return {
        str(path.relative_to(folder)): (
            path.stat().st_mode & 0o111,
            hashlib.sha256(path.read_bytes()).hexdigest(),
        )
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The layer, built by uv into an empty cache."""
    return layer.build_lambda_layer(tmp_path_factory.mktemp("one"))


def test_the_hash_does_not_depend_on_the_folder(built: Path, tmp_path: Path) -> None:
    another = layer.build_lambda_layer(tmp_path / "another/place")
    assert len(list(built.rglob("*.py"))) > 500
    assert built.name == another.name
    assert list_files(built) == list_files(another)


def test_no_file_names_the_folder(built: Path) -> None:
    place = os.fsencode(built.parent)
    files = [path for path in built.rglob("*") if path.is_file()]
    assert [path for path in files if place in path.read_bytes()] == []


@pytest.mark.skipif(not IS_TRIAL, reason="a trial: make trials")
def test_pip_builds_the_same_layer(built: Path, tmp_path: Path) -> None:
    """An environment without uv, which has pip: that of ``python -m venv``."""
    environment = tmp_path / "venv"
    subprocess.run([sys.executable, "-m", "venv", environment], check=True, capture_output=True)
    script = (
        "import sys; from pathlib import Path\n"
        "from daicho.cdk.functions import assets as layer\n"
        "layer._find_uv = lambda: None\n"
        "print(layer.build_lambda_layer(Path(sys.argv[1])))\n"
    )
    functions = Path(layer.__file__).parents[3]
    done = subprocess.run(
        [environment / "bin/python", "-c", script, tmp_path / "cache"],
        env={**os.environ, "PYTHONPATH": str(functions)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    by_pip = Path(done.stdout.strip())
    assert by_pip.name == built.name
    assert list_files(by_pip) == list_files(built)


def test_a_layer_is_built_once(built: Path) -> None:
    before = built.stat().st_mtime_ns
    assert layer.build_lambda_layer(built.parent) == built
    assert built.stat().st_mtime_ns == before


def test_a_failure_is_told_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wrong = tmp_path / "requirements.txt"
    wrong.write_text(f"pydantic==2.14.3 --hash=sha256:{'0' * 64}\n")
    monkeypatch.setattr(layer, "REQUIREMENTS", wrong)
    with pytest.raises(SettingsError, match=r"layer could not be built by uv:\n"):
        layer.build_lambda_layer(tmp_path / "cache")
    assert list((tmp_path / "cache").iterdir()) == []


def test_without_uv_and_pip_it_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(layer, "_find_uv", lambda: None)
    monkeypatch.setattr(layer, "find_spec", lambda _name: None)
    with pytest.raises(SettingsError, match="pip install uv"):
        layer.build_lambda_layer(tmp_path)
