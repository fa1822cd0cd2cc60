"""Changes planted into an OpenAPI document, each of which must be found and judged."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from daicho import Domain, Entity, Key, Listing, Search, field, one_of, uid
from daicho.declare.registry import Daicho
from daicho.web.openapi.document import describe_operations
from daicho.web.routes.builder import build_operations
from daicho_cli.contract.changes import ContractChange, Severity
from daicho_cli.contract.operations import compare_descriptions
from tests.support.small_api import Document, build_document, set_value, user, users

Plant = Callable[[Document], object]
GIVE_DEFAULT = (
    "give the function's argument a default, or leave the declaration without the parameter next "
    "to the new one"
)
# A change, its rule and sentence, and what would keep the contract.
BREAKING: list[tuple[Plant, str, str]] = [
    (
        lambda d: d["paths"].pop("/users"),
        "removed-operation: GET /users is removed",
        'domain.mount("/users", ...), or domain.route("GET", "/users")',
    ),
    (
        lambda d: d["paths"]["/users/{id}"].pop("put"),
        "removed-operation: PUT /users/{id} is removed",
        'domain.resource(...) with PUT, or domain.route("PUT", "/users/{id}")',
    ),
    (
        lambda d: users(d)["parameters"].pop(0),
        "removed-parameter: query parameter name is removed (GET /users)",
        "leave the declaration, or the function's argument, that takes it",
    ),
    (
        lambda d: set_value(users(d)["parameters"][0], "required", True),
        "newly-required-parameter: query parameter name is required (GET /users)",
        GIVE_DEFAULT,
    ),
    (
        lambda d: users(d)["parameters"].append({"in": "query", "name": "of", "required": True}),
        "added-required-parameter: query parameter of is new and required (GET /users)",
        GIVE_DEFAULT,
    ),
    (
        lambda d: set_value(d["components"]["schemas"]["Limit"], "maximum", 50),
        "narrowed-bound: Limit: maximum 100 → 50 in requests (GET /users)",
        "declare maximum 100",
    ),
    (
        lambda d: set_value(users(d)["parameters"][0], "explode", False),
        "changed-encoding: query parameter name: explode None → False (GET /users)",
        "leave explode None",
    ),
    (
        lambda d: set_value(user(d, "put")["requestBody"], "required", True),
        "newly-required-body: request body is required (PUT /users/{id})",
        "accept a request without a body",
    ),
    (
        lambda d: user(d, "put").pop("requestBody"),
        "removed-body: request body is not accepted any more (PUT /users/{id})",
        "leave the body of the function",
    ),
    (
        lambda d: user(d, "put")["requestBody"]["content"].clear(),
        "removed-media-type: request body: application/json is removed (PUT /users/{id})",
        "leave application/json",
    ),
    (
        lambda d: users(d)["responses"].pop("200"),
        "removed-answer: answer 200 is removed (GET /users)",
        "answer 200 still",
    ),
    (
        lambda d: user(d)["responses"]["200"]["headers"].clear(),
        "removed-header: header ETag of answer 200 is removed (GET /users/{id})",
        "leave the header in the answers",
    ),
    (
        lambda d: d["components"]["schemas"]["User"]["properties"].pop("name"),
        "removed-field: User.name is removed from answers (GET /users, GET /users/{id}, PUT "
        "/users/{id})",
        "leave the field in place; a migration may fill it from its successor",
    ),
    (
        lambda d: d["components"]["schemas"]["UserWrite"]["required"].append("age"),
        "newly-required-field: UserWrite.age is required in requests (PUT /users/{id})",
        "give the field a default: field(default=...)",
    ),
    (
        lambda d: set_value(users(d), "security", [{"token": [], "signature": []}]),
        "changed-security: authorization by token is not enough any more (GET /users)",
        "accept authorization by token",
    ),
]
# A change, its severity, rule and sentence.
OTHERS: list[tuple[Plant, str]] = [
    (
        lambda d: set_value(d["paths"]["/users/{id}"], "delete", {"responses": {}}),
        "compatible added-operation: DELETE /users/{id} is added",
    ),
    (
        lambda d: users(d)["parameters"].append({"in": "query", "name": "of"}),
        "compatible added-parameter: query parameter of is added (GET /users)",
    ),
    (
        lambda d: set_value(d["components"]["schemas"]["Limit"], "default", 10),
        "notice changed-default: query parameter limit: default 20 → 10 (GET /users)",
    ),
    (
        lambda d: set_value(users(d)["responses"], "202", {}),
        "notice added-answer: answer 202 is added (GET /users)",
    ),
    (
        lambda d: user(d)["responses"].pop("404"),
        "compatible removed-problem: answer 404 does not occur (GET /users/{id})",
    ),
    (
        lambda d: set_value(users(d), "operationId", "list_users"),
        "notice changed-operation-id: GET /users: operationId get_users → list_users, so "
        "generated clients have another function",
    ),
    (
        lambda d: set_value(users(d), "deprecated", True),
        "notice deprecated: GET /users is deprecated",
    ),
]


def compare_planted(plant: Plant) -> ContractChange:
    """The only change between a document and the one with what was planted."""
    before, after = build_document(), build_document()
    plant(after)
    (change,) = compare_descriptions(before, after)
    return change


@pytest.mark.parametrize(("plant", "judged", "way"), BREAKING)
def test_a_breaking_change_is_judged_and_says_what_would_keep_the_contract(
    plant: Plant, judged: str, way: str
) -> None:
    change = compare_planted(plant)
    assert (f"{change.rule}: {change.sentence}", change.way) == (judged, way)
    assert change.severity is Severity.BREAKING


@pytest.mark.parametrize(("plant", "judged"), OTHERS)
def test_another_change_is_judged_and_needs_no_way_back(plant: Plant, judged: str) -> None:
    change = compare_planted(plant)
    assert f"{change.severity} {change.rule}: {change.sentence}" == judged
    assert change.way == ""


def test_a_role_is_breaking_only_for_those_without_it() -> None:
    plain, admin = build_document(), build_document()
    users(admin)["security"] = [{"token": ["admin"]}]
    (change,) = compare_descriptions(plain, admin)
    assert (change.rule, change.sentence) == (
        "changed-role",
        "the role admin is required (GET /users)",
    )
    assert change.way == "declare the route without role=admin"
    (change,) = compare_descriptions(admin, plain)
    assert (change.severity, change.rule) == (Severity.COMPATIBLE, "relaxed-security")
    either = build_document()
    users(either)["security"] = [{"token": ["admin"]}, {"token": ["owner"]}]
    (change,) = compare_descriptions(admin, either)
    assert change.rule == "relaxed-security"
    (change,) = compare_descriptions(either, admin)
    assert (change.rule, change.is_breaking) == ("changed-role", True)


def describe(**declarations: Callable[[Any, Any, Any], Any]) -> dict[str, Any]:
    """The description of people, with declarations over their name, e-mail address and town."""

    class Person(Entity):
        id: str = uid()
        name: str = field()
        email: str = field()
        town: str = field()

        key = Key(id)
        for declared, make in declarations.items():
            locals()[declared] = make(name, email, town)
        del declared, make

    domain = Domain("people", Person)
    domain.resource("/people/{id}", Person, "GET")
    return describe_operations(build_operations(Daicho(domain)))


def list_lines(changes: list[ContractChange]) -> list[tuple[str, str, str]]:
    return [(change.rule, change.text, change.way) for change in changes if change.is_breaking]


def test_a_search_is_renamed_and_not_the_listing_beside_it() -> None:
    before = describe(search=lambda name, *_: Search(name))
    after = describe(
        search=lambda name, email, _: Search(name, email),
        of_town=lambda _name, _email, town: Listing(town),
    )
    changes = compare_descriptions(before, after)
    text = "query parameter name is renamed to q"
    assert list_lines(changes) == [("renamed-parameter", text, 'Search(..., param="name")')]
    others = {change.rule for change in changes if not change.is_breaking}
    assert others == {"newly-optional-parameter", "added-parameter"}
    kept = describe(search=lambda name, email, _: Search(name, email, param="name"))
    assert compare_descriptions(before, kept) == []


def test_a_removed_search_is_kept_by_its_parameter() -> None:
    before = describe(
        search=lambda name, *_: Search(name), found=lambda _name, email, _town: Search(email)
    )
    after = describe(search=lambda name, *_: Search(name))
    lines = list_lines(compare_descriptions(before, after))
    text = "query parameter email is removed"
    assert ("removed-parameter", text, 'Search(..., param="email")') in lines
    assert [rule for rule, *_ in lines] == ["newly-required-parameter", "removed-parameter"]


def test_a_listing_with_a_condition_is_kept_by_its_name() -> None:
    def condition(_name: str, _email: str, town: str) -> Any:
        return Listing(where=one_of(town, "Tokyo"))

    changes = compare_descriptions(describe(local=condition), describe(near=condition))
    text = "query parameter local is renamed to near"
    assert list_lines(changes) == [("renamed-parameter", text, "name the listing local")]


def test_a_combination_of_parameters_that_all_remain_is_missed() -> None:
    before = describe(
        by_name=lambda name, *_: Listing(name),
        by_town=lambda _name, _email, town: Listing(town),
        by_both=lambda name, _email, town: Listing(name, town),
    )
    after = describe(
        by_name=lambda name, *_: Listing(name), by_town=lambda _name, _email, town: Listing(town)
    )
    (change,) = compare_descriptions(before, after)
    assert change.sentence == "query ?name=&town= is removed (GET /people)"
    assert "until no client uses it" in change.way
    (change,) = compare_descriptions(after, before)
    assert (change.rule, change.is_breaking) == ("added-query", False)
