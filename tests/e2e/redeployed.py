"""Other code for functions that are deployed: what a deploy does, without the rest of it."""

from __future__ import annotations

import io
import tempfile
import zipfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from daicho.cdk.functions.assets import copy_code
from daicho.project import Project
from tests.support.repository import PROJECT


def package(added: Mapping[str, str], project: Project = PROJECT) -> bytes:
    """The code of a project's functions, with text ``added`` to the end of some files."""
    packed = io.BytesIO()
    with tempfile.TemporaryDirectory() as folder:
        code = Path(folder)
        copy_code(project, code, is_local=True)
        with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as whole:
            for path in sorted(code.rglob("*")):
                name = str(path.relative_to(code))
                if path.is_file():
                    whole.writestr(name, path.read_bytes() + added.get(name, "").encode())
            assert set(added) <= set(whole.namelist())
    return packed.getvalue()


def redeploy(
    functions: Any, names: Iterable[str], added: Mapping[str, str], project: Project = PROJECT
) -> None:
    """Give functions the code of `package`; ``functions`` is a client of Lambda."""
    code = package(added, project)
    for name in names:
        functions.update_function_code(FunctionName=name, ZipFile=code)
