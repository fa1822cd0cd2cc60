"""What the generators read of the document."""

from __future__ import annotations

import json

from daicho.declare.registry import Daicho
from daicho.web.openapi.document import describe_operations
from daicho.web.routes.builder import build_operations
from daicho_cli.clients.document import prepare_document
from tests.support.sample_domain import TOYS


def test_the_generators_read_neither_fields_nor_examples_of_bodies() -> None:
    document = describe_operations(build_operations(Daicho(*TOYS)))
    path = document["paths"]["/contacts/{id}"]
    own = {"name": "fields", "in": "query", "schema": {"type": "string"}}
    path["get"]["parameters"].append(own)
    prepared = prepare_document(document)
    get = prepared["paths"]["/contacts/{id}"]["get"]
    assert [p["name"] for p in get["parameters"]] == ["id", "If-None-Match", "fields"]
    assert get["parameters"][-1] == own
    assert [p["name"] for p in path["get"]["parameters"]].count("fields") == 2
    post = prepared["paths"]["/contacts"]["post"]
    assert '"example"' not in json.dumps([get["responses"], post["requestBody"]])
    assert prepared["components"]["schemas"] == document["components"]["schemas"]


def test_an_answer_of_two_media_types_has_both_types_in_each() -> None:
    document = describe_operations(build_operations(Daicho(*TOYS)))
    contents = prepare_document(document)["components"]["responses"]["429"]["content"]
    both = {
        "anyOf": [
            {"$ref": f"#/components/schemas/{name}"} for name in ("Problem", "GatewayMessage")
        ]
    }
    assert [content["schema"] for content in contents.values()] == [both, both]
