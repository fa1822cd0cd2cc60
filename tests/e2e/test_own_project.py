"""A project of one's own from the wheel: made, run, extended, tested, upgraded with live data."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import boto3
import httpx
import pytest

from daicho.runtime.version import VERSION
from tests.e2e.api import client, eventually, everything
from tests.support.dynoxide import free_port
from tests.support.own_project import OwnProject
from tests.support.trials import IS_TRIAL
from tests.support.versions import build_wheel, copy_repository, read_changes

PRODUCTS = 40
CATEGORIES = ("drinks", "sweets", "tools")
REPLACED_BY_DESIGN = "AWS::Lambda::LayerVersion"


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the wheel of this version; for the long test of the next one too."""
    folder = tmp_path_factory.mktemp("wheels")
    build_wheel(copy_repository(tmp_path_factory.mktemp("old")), folder)
    return folder


@pytest.fixture
def project(wheels: Path, tmp_path: Path) -> Iterator[OwnProject]:
    """A new project; its local stack ends with the test."""
    created = OwnProject.create("shop", tmp_path, wheels, PORT=str(free_port()))
    yield created
    if (created.folder / ".local").is_dir():
        created.make("reset")


def check_printed_calls(project: OwnProject, printed: str) -> None:
    """Paste each call that `make up` has printed: none is refused, and the lists have an item."""
    lines = [line.strip() for line in printed.replace(" \\\n", "").splitlines()]
    assert any(line.startswith("POST /products → 201 ") for line in lines)
    calls = [line for line in lines if line.startswith("curl")]
    assert len(calls) >= 3
    settings = [line for line in lines if line.startswith("source ")]
    fail = 'curl() { command curl --fail-with-body "$@"; }'
    for call in calls:
        output = eventually(
            partial(project.run, "bash", "-euc", "\n".join([*settings, fail, call])),
            lambda text: "Green tea" in text or '"category":"drinks"' in text,
            seconds=90,
        )
        assert "drinks" in output, call


@pytest.mark.skipif(not IS_TRIAL, reason="takes minutes: make trials")
def test_a_new_project_answers_its_first_calls(project: OwnProject) -> None:
    printed = project.make("up")
    check_printed_calls(project, printed)
    url = project.stack["url"]
    assert f"{url}/docs" in printed
    assert httpx.get(f"{url}/openapi.json").json()["info"]["title"] == "Shop"


def list_resources(project: OwnProject) -> dict[str, tuple[str, str]]:
    """The type and the physical name of each resource of the deployed stack."""
    session = boto3.Session("test", "test", region_name=project.stack["region"])
    cloud = session.client("cloudformation", endpoint_url=project.stack["endpoint"])
    pages = cloud.get_paginator("list_stack_resources").paginate(StackName="Shop-local")
    return {
        each["LogicalResourceId"]: (each["ResourceType"], each["PhysicalResourceId"])
        for page in pages
        for each in page["StackResourceSummaries"]
    }


def count_categories(api: httpx.Client) -> dict[str, int]:
    """The total of each category, as the API says."""
    return {row["category"]: row["count"] for row in everything(api, "/categories")}


def read_state(api: httpx.Client, products: list[dict[str, Any]]) -> dict[str, Any]:
    """All that is stored and derived of the products, but their search."""
    return {
        "items": [api.get(f"/products/{product['id']}").json() for product in products],
        "listed": {
            category: everything(api, "/products", category=category) for category in CATEGORIES
        },
        "totals": count_categories(api),
    }


@pytest.mark.skipif(not IS_TRIAL, reason="takes minutes: make trials")
def test_it_is_extended_tested_and_upgraded_with_live_data(
    project: OwnProject, wheels: Path, tmp_path: Path
) -> None:
    project.make("up")
    project.add_entity()
    assert "Supplier 1" in project.make("generate")
    project.make("up")
    assert "3 passed" in project.make("test")
    with client(project.stack, "acme") as api:
        api.post("/suppliers", json={"name": "Tea & Sons", "country": "jp"}).raise_for_status()
        found = partial(everything, api, "/suppliers", name="sons")
        assert [each["name"] for each in eventually(found, bool)] == ["Tea & Sons"]

        products = []
        for number in range(PRODUCTS):
            category = CATEGORIES[number % len(CATEGORIES)]
            body = {"name": f"Oolong {number}", "category": category, "price": "1.50"}
            products.append(api.post("/products", json=body).raise_for_status().json())
        (first,) = eventually(partial(everything, api, "/products", name="tea"), bool)
        everything_there = partial(lambda: sum(count_categories(api).values()))
        assert eventually(everything_there, lambda total: total == PRODUCTS + 1) == PRODUCTS + 1
        before = read_state(api, [first, *products])
    resources = list_resources(project)

    changed = copy_repository(tmp_path / "new")
    for change in read_changes():
        change.apply(changed)
    build_wheel(changed, wheels)
    configuration = project.folder / "pyproject.toml"
    pinned = configuration.read_text("utf-8")
    assert f"=={VERSION}" in pinned
    configuration.write_text(pinned.replace(f"=={VERSION}", "==0.2.0"), "utf-8")
    assert "Product.search" in project.make("generate")
    project.make("up")

    # Nothing is replaced: each resource that there was is the same one.
    after = list_resources(project)
    lost = {name: each for name, each in resources.items() if after.get(name) != each}
    assert {kind for kind, _ in lost.values()} <= {REPLACED_BY_DESIGN}
    assert {kind for name, (kind, _) in after.items() if name not in resources} == {
        "AWS::SSM::Parameter"
    }
    with client(project.stack, "acme") as api:
        # Also the first call of make up, which is repeated, has changed nothing.
        assert read_state(api, [first, *products]) == before
        # The new generation of the search finds an item from its next write on.
        one = products[0]
        renaming = {"name": "Oolong again"}
        api.patch(f"/products/{one['id']}", json=renaming).raise_for_status()
        found = partial(everything, api, "/products", name="again")
        assert [each["id"] for each in eventually(found, bool)] == [one["id"]]
    assert project.run(".venv/bin/daicho", "generation", "--check") == "no declaration changed\n"
