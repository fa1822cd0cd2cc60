"""The routes of operators are those of the reference page, and each has one answer."""

from __future__ import annotations

import re

from daicho.local.poison_routes import build_poison_routes
from daicho.operations.routes import build_operations
from daicho.web.http.operation import list_variables
from tests.support.repository import ROOT

PAGE = ROOT / "docs/reference/operations-routes.md"
ROW = re.compile(r"^\| `(\w+) (/ops/[^`]*)` \| (.+) \| (\d{3}) \|$", re.MULTILINE)


def test_the_page_lists_every_route_with_its_summary_and_status() -> None:
    routes = [
        (
            operation.method,
            operation.path + (str(variant) if variant.needed else ""),
            variant.summary,
            str(operation.status),
        )
        for operation in [*build_operations(), *build_poison_routes()]
        for variant in operation.variants
    ]
    assert ROW.findall(PAGE.read_text("utf-8")) == routes


def test_the_demonstration_has_routes_at_stage_local_alone() -> None:
    assert {operation.path for operation in build_poison_routes()} == {"/ops/demo/poison"}
    assert "/ops/demo/poison" not in {operation.path for operation in build_operations()}


def test_routes_are_under_ops_and_declare_their_variables() -> None:
    operations = [*build_operations(), *build_poison_routes()]
    assert len({operation.shape for operation in operations}) == len(operations)
    assert len({operation.id for operation in operations}) == len(operations)
    for operation in operations:
        assert operation.path.startswith("/ops/")
        names = tuple(parameter.name for parameter in operation.variables)
        assert names == list_variables(operation.path)
