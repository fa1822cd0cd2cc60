"""A value that does not match a declared pattern is refused with an example."""

from __future__ import annotations

import re

from pydantic import BaseModel, Field

from daicho import Domain, Entity, Key, field, uid
from tests.support.sample_domain import serve

CODE, SHELF, PLAIN = "^[A-Z]{3}-[0-9]+$", re.compile("^[a-z][0-9]$"), "^[0-9]{4}$"


class Ticket(Entity):
    """Something to do."""

    id: str = uid()
    code: str = field(pattern=CODE, examples=["OPS-7"])
    year: str = field(pattern=PLAIN)

    key = Key(id)


class Move(BaseModel):
    """Another shelf."""

    shelf: str = Field(pattern=SHELF, examples=["b4"])


def build_domain() -> Domain:
    domain = Domain("desk", Ticket)
    domain.resource("/tickets/{id}", Ticket, "POST")

    @domain.route("POST", "/moves")
    def move(book: object, move: Move) -> None:
        """Move."""

    return domain


def test_a_problem_shows_the_example_or_where_the_form_is() -> None:
    client = serve(build_domain())
    ticket = {"code": "ops7", "year": "x"}
    messages = {
        each["field"]: each["message"] for each in client("POST", "/tickets", ticket).json["errors"]
    }
    assert messages == {
        "code": 'Input should have the form of OPS-7; it is "ops7"',
        "year": 'Input should have the form that /openapi.json describes; it is "x"',
    }
    refused = client("POST", "/moves", {"shelf": "4b"})
    assert (refused.status, refused.fields) == (422, {"shelf"})
    assert "form of b4" in refused.json["detail"]
