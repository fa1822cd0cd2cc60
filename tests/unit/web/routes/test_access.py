"""Roles and owners of routes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from daicho import (
    Aggregate,
    Book,
    Count,
    Domain,
    Entity,
    Key,
    Listing,
    Search,
    field,
    folded,
    owned_by_caller,
    uid,
)
from daicho.declare.registry import Daicho
from daicho.errors import DeclarationError
from daicho.web.openapi.document import describe_operations
from daicho.web.routes.builder import build_operations
from tests.support.owned_domain import DAICHO
from tests.support.sample_domain import serve


class Note(Entity):
    """A note of its creator."""

    id: str = uid()
    owner: str = owned_by_caller()
    text: str = field()

    key = Key(id)
    mine = Listing(owner)


class Searched(Entity):
    """A note that is searched too."""

    id: str = uid()
    owner: str = owned_by_caller()
    text: str = field()

    key = Key(id)
    search = Search(text)
    by_name = Listing(folded(owner))
    count = Aggregate(Count(), owner, ranked=True)


class Chosen(Entity):
    """A note whose key its creator chooses."""

    id: str = field()
    owner: str = owned_by_caller()

    key = Key(id)


def build(entity: type[Entity], verbs: str, read: Any, role: Any = None, **mounts: Any) -> Any:
    domain = Domain("d", entity)
    domain.access(entity, read=read, write="owner")
    domain.resource("/notes/{id}", entity, verbs, role=role)
    for path, (query, needed) in mounts.items():
        domain.mount(f"/{path}", query, role=needed)
    return {
        (each.method, each.path, str(variant)): variant.roles
        for each in build_operations(Daicho(domain))
        for variant in each.variants
    }


def test_lists_of_an_owner_need_no_role() -> None:
    assert build(Note, "POST GET", "owner") == {
        ("GET", "/notes", "?"): (),
        ("POST", "/notes", "?"): (),
        ("GET", "/notes/{id}", "?"): (),
    }


def test_other_lists_need_a_role_that_reads() -> None:
    read = ("owner", "staff", "eye")
    roles = build(Searched, "GET", read, top=(Searched.count.top, "eye"))
    assert roles["GET", "/notes", "?text="] == ("staff", "eye")
    assert roles["GET", "/notes", "?owner="] == ("staff", "eye")  # a folded owner is no owner
    assert roles["GET", "/top", "?"] == ("eye",)
    assert build(Note, "GET", ("owner", "eye"), "eye")["GET", "/notes", "?"] == ("eye",)


@pytest.mark.parametrize(
    ("entity", "verbs", "read", "role", "message"),
    [
        (Searched, "GET", "owner", None, r"domain\.access\(Searched, read=\('owner', 'staff'\)"),
        (Searched, "GET", ("owner", "eye"), "x", r"role 'x', which may not read all items"),
        (Note, "GET LIST", "owner", None, "Note.key.all reads items of all owners"),
        (Chosen, "PUT", "owner", None, r"key = Key\(owner, id\)"),
        (Chosen, "POST", "owner", None, r"key = Key\(owner, id\)"),
        (Note, "PUT", "owner", None, "would learn which keys of Note others have"),
    ],
)
def test_what_would_show_items_of_others_is_refused(
    entity: type[Entity], verbs: str, read: Any, role: Any, message: str
) -> None:
    with pytest.raises(DeclarationError, match=message):
        build(entity, verbs, read, role)


def test_everybody_may_choose_keys_of_what_everybody_reads() -> None:
    domain = Domain("d", Chosen)
    domain.access(Chosen, write="owner")
    domain.resource("/notes/{id}", Chosen, "PUT POST GET")
    assert build_operations(Daicho(domain))


def test_the_description_names_roles_and_owners() -> None:
    paths = describe_operations(build_operations(DAICHO))["paths"]
    delete = paths["/bills/{id}"]["delete"]
    assert delete["x-daicho-roles"] == ["cashier", "staff"]
    assert delete["security"] == [{"token": ["cashier"]}, {"token": ["staff"]}]
    assert "Requires one of the roles `cashier`, `staff`." in delete["description"]
    assert delete["x-daicho-access"] == ["owner", "staff"]
    written = "Items are written only by their owners or the role `staff`."
    assert written in delete["description"]
    lists = paths["/bills"]["get"]
    assert lists["x-daicho-roles"] == {"?customer=": ["auditor", "staff"]}
    assert "`?customer=`: Requires one of the roles `auditor`, `staff`." in lists["description"]
    assert "security" not in lists
    assert lists["x-daicho-access"] == ["owner", "auditor", "staff"]
    (owner,) = [each for each in lists["parameters"] if each["name"] == "owner"]
    assert not owner["required"]
    assert "by default" in owner["description"]
    assert "x-daicho-roles" not in paths["/labels/{id}"]["get"]
    assert paths["/labels"]["post"]["x-daicho-access"] == ["staff"]


def test_a_role_is_of_one_query_of_a_path() -> None:
    domain = Domain("d")

    @domain.route("GET", "/things")
    def list_things(book: Book) -> None:
        """List things."""

    @domain.route("GET", "/things?secret=", role=("staff", "eye"))
    def list_secrets(book: Book, secret: str) -> None:
        """List secrets."""

    client = replace(serve(domain), claims={"cognito:groups": ["nobody"]})
    assert client("GET", "/things").status == 204
    refused = client("GET", "/things?secret=x")
    assert refused.status == 403
    assert "the role 'staff' or the role 'eye'" in refused.json["detail"]
    for role in ("staff", "eye"):
        admitted = replace(client, claims={"cognito:groups": [role]})
        assert admitted("GET", "/things?secret=x").status == 204
