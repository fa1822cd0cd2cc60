"""Whether the local stack is deployed as the project is now: then `make up` skips the deployment.

The local AWS stores the digest of what a complete deployment was made from, with its other state.
So a reset forgets it. A deployment removes it first: after one that was interrupted there is none.
"""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from botocore.exceptions import ClientError

import daicho
from daicho_cli.local.instance import LocalInstance
from daicho_cli.local.programs import PROGRAMS

NOT_READ = {"__pycache__", "node_modules", "cdk.out"}
NONE = "none"


def compute_digest(instance: LocalInstance, context: Mapping[str, object]) -> str:
    """The digest of everything that a deployment with these context options depends on.

    The app of a project may read any of its files. So all of them count, except hidden ones; and
    the library, the installed packages and the programs of the local AWS.
    """
    project = instance.project
    # Their names contain the versions of the packages.
    packages = sorted(at.name for place in sys.path for at in Path(place).glob("*.dist-info"))
    programs = [program.digest for program in PROGRAMS]
    content = (sys.version, packages, programs, sorted(context.items()))
    digest = hashlib.sha256(repr(content).encode())
    places = (project.root, project.source, project.lock_file, Path(daicho.__file__).parent)
    for file in sorted({file for place in places for file in _list_files(place)}):
        digest.update(f"{file} {hashlib.sha256(file.read_bytes()).hexdigest()}\n".encode())
    return digest.hexdigest()


def _list_files(place: Path) -> Iterator[Path]:
    if place.is_file():
        yield place
    for folder, folders, files in os.walk(place):
        folders[:] = [name for name in folders if name[0] != "." and name not in NOT_READ]
        yield from (Path(folder, name) for name in files if name[0] != ".")


def read_digest(instance: LocalInstance) -> str:
    """The digest of the last deployment; `NONE` or "" if none was completed."""
    try:
        answer = _open_client(instance).get_parameter(Name=_name(instance))
    except ClientError:
        return ""
    return str(answer["Parameter"]["Value"])


def write_digest(instance: LocalInstance, digest: str) -> None:
    """Store the digest of a deployment that was completed; `NONE` before it begins."""
    _open_client(instance).put_parameter(
        Name=_name(instance), Value=digest, Type="String", Overwrite=True
    )


def _name(instance: LocalInstance) -> str:
    return f"/daicho/local/{instance.stack_name}"


def _open_client(instance: LocalInstance) -> Any:
    return instance.session().client("ssm", endpoint_url=instance.endpoint)
