"""Other code for functions that are deployed: what a deploy does, without the rest of it."""

from __future__ import annotations

import io
import zipfile
from typing import Any

from local.instance import ROOT

CODE = ROOT / "functions"


def package(added: dict[str, str]) -> bytes:
    """The code of all functions, with text ``added`` to the end of some files."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as whole:
        for path in sorted(CODE.rglob("*")):
            name = str(path.relative_to(CODE))
            if path.is_file() and "__pycache__" not in path.parts:
                whole.writestr(name, path.read_bytes() + added.get(name, "").encode())
    assert set(added) <= set(whole.namelist())
    return packed.getvalue()


def redeploy(functions: Any, names: list[str], added: dict[str, str]) -> None:
    """Give functions the code of `package`; ``functions`` is a client of Lambda."""
    code = package(added)
    for name in names:
        functions.update_function_code(FunctionName=name, ZipFile=code)
