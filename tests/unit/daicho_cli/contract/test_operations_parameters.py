"""Parameters: renamed ones, and queries whose parameters all remain."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from daicho import Domain, Entity, Key, Listing, Search, field, one_of, uid
from daicho.declare.registry import Daicho
from daicho.web.openapi.document import describe_operations
from daicho.web.routes.builder import build_operations
from daicho_cli.contract.changes import ContractChange
from daicho_cli.contract.operations import compare_descriptions


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
