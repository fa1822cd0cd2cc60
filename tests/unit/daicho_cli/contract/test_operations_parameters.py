"""Parameters: renamed ones, and queries whose parameters all remain."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest

from daicho import Domain, Entity, Key, Listing, Search, field, one_of, uid
from daicho.declare.registry import Daicho
from daicho.declare.searches import RESERVED_PARAMETERS
from daicho.web.openapi.document import describe_operations
from daicho.web.routes.builder import build_operations
from daicho_cli.contract.changes import ContractChange
from daicho_cli.contract.operations import compare_descriptions
from tests.support.sample_project import SAMPLE_ROUTES
from tests.support.small_api import build_document, users

Declare = Callable[[str, str, str], list[tuple[str, Any]]]


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


def test_a_field_added_to_a_search_renames_its_parameter() -> None:
    before = describe(search=lambda name, *_: Search(name))
    after = describe(search=lambda name, email, _: Search(name, email))
    (change,) = compare_descriptions(before, after)
    assert change.is_breaking
    assert change.sentence == "query parameter name is renamed to q (GET /people)"
    assert change.way == 'Search(..., param="name")'
    kept = describe(search=lambda name, email, _: Search(name, email, param="name"))
    assert compare_descriptions(before, kept) == []


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


def test_a_parameter_of_another_type_is_not_the_same() -> None:
    before, after = build_document(), build_document()
    users(after)["parameters"][0] = {
        "in": "query",
        "name": "age",
        "schema": {"type": "integer"},
    }
    rules = {change.rule for change in compare_descriptions(before, after)}
    assert rules == {"removed-parameter", "added-parameter"}


@pytest.mark.parametrize("name", ["cursor", "fields", "include", "live"])
def test_parameters_of_the_library_are_never_renamed(name: str) -> None:
    before, after = build_document(), build_document()
    users(after)["parameters"][0]["name"] = name
    rules = {change.rule for change in compare_descriptions(before, after)}
    assert rules == {"removed-parameter", "added-parameter"}


def test_a_renamed_parameter_is_compared_as_well() -> None:
    before, after = build_document(), build_document()
    users(after)["parameters"][0] |= {
        "name": "of",
        "schema": {"type": "string", "maxLength": 9},
    }
    changes = list_lines(compare_descriptions(before, after))
    assert changes == [
        (
            "renamed-parameter",
            "query parameter name is renamed to of",
            "name the field, or the function's argument, name",
        ),
        (
            "narrowed-bound",
            "query parameter name: maxLength none → 9 in requests",
            "declare no maxLength",
        ),
    ]


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


def test_what_follows_from_a_required_parameter_is_not_repeated() -> None:
    before = describe(
        by_name=lambda name, *_: Listing(name),
        by_both=lambda name, _email, town: Listing(name, town),
    )
    after = describe(by_both=lambda name, _email, town: Listing(name, town))
    (change,) = compare_descriptions(before, after)
    assert change.sentence == "query parameter town is required (GET /people)"


def test_two_renamed_parameters_have_two_successors() -> None:
    before, after = build_document(), build_document()
    for document, names in ((before, ("a", "b")), (after, ("c", "d"))):
        users(document)["parameters"] = [
            {"in": "query", "name": name, "schema": {"type": "string"}} for name in names
        ]
    texts = [change.text for change in compare_descriptions(before, after)]
    assert texts == [
        "query parameter a is renamed to c",
        "query parameter b is renamed to d",
    ]


def test_the_order_of_parameters_in_a_query_has_no_meaning() -> None:
    before, after = build_document(), build_document()
    users(before)["description"] = "Queries by parameters:\n\n- `?name=&limit=`: List."
    users(after)["description"] = "Queries by parameters:\n\n- `?limit=&name=`: List all."
    assert compare_descriptions(before, after) == []
    users(after)["description"] = "Queries by parameters:\n\n- `?limit=`: List all."
    rules = [change.rule for change in compare_descriptions(before, after)]
    assert rules == ["removed-query", "added-query"]


def test_a_removed_combination_is_found_next_to_a_renamed_parameter() -> None:
    listings: dict[str, Callable[[Any, Any, Any], Any]] = {
        "by_town": lambda _name, _email, town: Listing(town),
        "by_email": lambda _name, email, _town: Listing(email),
    }
    before = describe(
        search=lambda name, *_: Search(name),
        by_both=lambda _name, email, town: Listing(email, town),
        **listings,
    )
    after = describe(search=lambda name, *_: Search(name, param="q"), **listings)
    texts = [text for _, text, _ in list_lines(compare_descriptions(before, after))]
    assert texts == [
        "query parameter name is renamed to q",
        "query ?email=&town= is removed",
    ]


def test_every_parameter_of_a_whole_description_is_missed() -> None:
    before = SAMPLE_ROUTES.description
    after = copy.deepcopy(before)
    expected: dict[str, list[str]] = {"renamed-parameter": [], "removed-parameter": []}
    for path, item in after["paths"].items():
        for method, operation in item.items():
            for parameter in operation.get("parameters", ()):
                if parameter["in"] == "path":
                    continue
                is_reserved = parameter["name"] in RESERVED_PARAMETERS
                rule = "removed-parameter" if is_reserved else "renamed-parameter"
                subject = f"{parameter['in']} parameter {parameter['name']}"
                expected[rule].append(f"{method.upper()} {path} {subject}")
                parameter["name"] += "_2"
    found: dict[str, list[str]] = {rule: [] for rule in expected}
    for change in compare_descriptions(before, after):
        if change.rule in found:
            found[change.rule] += [f"{name} {change.subject}" for name in change.operations]
    assert len(expected["renamed-parameter"]) > 50
    assert {rule: sorted(names) for rule, names in found.items()} == {
        rule: sorted(names) for rule, names in expected.items()
    }


def test_a_parameter_of_the_path_has_no_name_on_the_wire() -> None:
    before = build_document()
    after = copy.deepcopy(before)
    after["paths"]["/users/{key}"] = after["paths"].pop("/users/{id}")
    after["paths"]["/users/{key}"]["parameters"][0]["name"] = "key"
    assert compare_descriptions(before, after) == []
