"""The description of the demonstration."""

from __future__ import annotations

import json

from tests.support.project_routes import PROJECT_ROUTES

SPEC = PROJECT_ROUTES.description


def test_bodies_are_closed() -> None:
    assert SPEC["components"]["schemas"]["Vote"]["additionalProperties"] is False
    assert SPEC["components"]["schemas"]["NewSong"]["additionalProperties"] is False


def test_what_is_hidden_is_not_described() -> None:
    assert "salt" not in json.dumps(SPEC)


def test_parameters_say_what_must_be_given() -> None:
    songs = {p["name"]: p for p in SPEC["paths"]["/songs"]["get"]["parameters"]}
    assert not any(parameter["required"] for parameter in songs.values())
    assert songs["limit"]["schema"] == {
        "type": "integer", "minimum": 1, "maximum": 100, "default": 100,
    }  # fmt: skip
    artists = {p["name"]: p["required"] for p in SPEC["paths"]["/artists"]["get"]["parameters"]}
    assert artists == {"name": True, "limit": False, "cursor": False}
    votes = SPEC["paths"]["/polls/{poll}/votes"]["post"]["parameters"]
    assert {p["name"]: p["required"] for p in votes} == {"poll": True, "Idempotency-Key": False}


def test_a_model_that_is_written_in_another_way_has_two_names() -> None:
    schemas = SPEC["components"]["schemas"]
    assert {name for name in schemas if "Line" in name} == {"Line", "LineInput"}
    assert all(schema["title"] == name for name, schema in schemas.items() if "title" in schema)
    assert schemas["NewOrder"]["properties"]["lines"]["items"]["$ref"].endswith("/LineInput")
    assert schemas["Order"]["properties"]["lines"]["items"]["$ref"].endswith("/Line")


def test_a_decimal_in_an_answer_is_text() -> None:
    schemas = SPEC["components"]["schemas"]
    decimal = {"type": "string", "format": "decimal"}
    assert schemas["Product"]["properties"]["price"] == {**decimal, "title": "Price"}
    assert schemas["Sale"]["properties"]["price"]["anyOf"] == [decimal, {"type": "null"}]
    assert schemas["SaleRevenue"]["properties"]["total"] == {**decimal, "title": "Total"}
