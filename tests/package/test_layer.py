"""The Lambda layer is the same in whichever folder it is built, or each machine deploys it anew."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
INPUTS = ("Makefile", "pyproject.toml", "requirements-layer.txt", "requirements.txt")


def build_layer(folder: Path) -> Path:
    """Build the layer by the Makefile in a folder, with this project's environment."""
    folder.mkdir(parents=True)
    for name in INPUTS:
        shutil.copy2(ROOT / name, folder)
    (folder / ".venv").symlink_to(ROOT / ".venv")
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("MAKE", "MFLAGS"))}
    subprocess.run(
        ["make", "build/.layer"], cwd=folder, env=environment, check=True, capture_output=True
    )
    return folder / "build/layer"


def hash_folder(folder: Path) -> str:
    """A hash of the names, the modes and the contents of all files."""
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        content = path.read_bytes() if path.is_file() else b""
        mode = path.stat().st_mode & 0o111
        digest.update(f"{path.relative_to(folder)} {mode} {len(content)}\n".encode() + content)
    return digest.hexdigest()


@pytest.fixture(scope="module")
def layers(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The layer, built in two folders."""
    folder = tmp_path_factory.mktemp("layers")
    return build_layer(folder / "one"), build_layer(folder / "another/place")


def test_the_hash_does_not_depend_on_the_folder(layers: tuple[Path, Path]) -> None:
    one, another = layers
    assert len(list(one.rglob("*.py"))) > 500
    assert hash_folder(one) == hash_folder(another)


def test_no_file_names_the_folder(layers: tuple[Path, Path]) -> None:
    place = os.fsencode(layers[0].parents[1])
    assert [
        path for path in layers[0].rglob("*") if path.is_file() and place in path.read_bytes()
    ] == []
