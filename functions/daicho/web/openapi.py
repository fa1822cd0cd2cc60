"""The API's description (OpenAPI 3.1): Powertools writes it, and what it cannot know is added."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from functools import reduce
from importlib.resources import files
from typing import Any, get_args

from aws_lambda_powertools.event_handler.openapi.swagger_ui import generate_swagger_html

from daicho.domain import Daicho
from daicho.plan import Ledger
from daicho.web import problems
from daicho.web.endpoint import Endpoint
from daicho.web.mounting import operations
from daicho.web.operations import Operation
from daicho.web.problem_types import phrase, type_of
from daicho.web.problems import Problem
from daicho.web.resolver import Resolver
from daicho.web.tenancy import administration

TITLE = "Daicho"
VERSION = "0.1.0"
ANYWHERE = (400, 403, 404, 422, 429)
"""Problems that every operation may answer."""

_OTHERS = ("HTTPValidationError", "ValidationError", "ResponseValidationError")
_SAMPLES = {"integer": 1, "number": 1, "boolean": True, "array": [], "object": {}, "null": None}


def openapi(daicho: Daicho, ledger: Ledger, *, server: str = "") -> dict[str, Any]:
    """The description of all that ``daicho`` serves.

    Raises:
        DeclarationError: the declarations are not those of the ledger.
    """
    daicho.locked(ledger)
    return described([*operations(daicho), *administration()], server=server)


def described(served: Sequence[Operation], *, server: str = "") -> dict[str, Any]:
    """The description of operations."""
    resolver = Resolver()
    for operation in served:
        resolver.route(
            operation.path,
            operation.method,
            operation_id=operation.id,
            tags=[operation.tag],
            summary=" · ".join(dict.fromkeys(each.said for each in operation.choices)),
            description=_description(operation),
            responses=_responses(operation),
        )(Endpoint(operation, _no_book, _no_request))
    text = resolver.get_openapi_json_schema(title=TITLE, version=VERSION)
    document: dict[str, Any] = json.loads(text)
    for operation in served:
        _complete(document["paths"][operation.path][operation.method.lower()], operation)
    schemas = document["components"]["schemas"]
    for name in _OTHERS:
        schemas.pop(name, None)
    if "JsonValue" in schemas:
        schemas["JsonValue"] = {"description": "Any JSON value.", "examples": ["…"]}
    for body in {each.body.__name__ for each in served if each.body}:
        if "properties" in schemas[body]:
            schemas[body]["additionalProperties"] = False
    for schema in schemas.values():
        if "properties" in schema or "$ref" in schema:
            schema.setdefault("examples", [_sample(schema, schemas)])
    document["servers"] = [{"url": server or "/"}]
    document["tags"] = [{"name": tag} for tag in dict.fromkeys(each.tag for each in served)]
    document["components"]["responses"] = {
        str(status): _problem(status)
        for status in sorted({*ANYWHERE, *(error for each in served for error in each.errors)})
    }
    document["components"]["securitySchemes"] = {
        "token": {"type": "http", "scheme": "bearer", "bearerFormat": "JWT"}
    }
    document["security"] = [{"token": []}]
    return document


def page(text: str) -> str:
    """Swagger UI with a description in it; script and style come with Powertools."""
    assets = files("aws_lambda_powertools.event_handler.openapi.swagger_ui")
    script, style = (
        assets.joinpath(name).read_text("utf-8")
        for name in ("swagger-ui-bundle.min.js", "swagger-ui.min.css")
    )
    return generate_swagger_html(
        text.replace("</", "<\\/"), script, style, "", None, persist_authorization=True
    )


def _description(operation: Operation) -> str | None:
    """What tells the queries of a path apart."""
    asked = [f"`{each}`: {each.said}." for each in operation.choices if each.needed]
    return "\n".join(["Ask with one of these:", "", *(f"- {a}" for a in asked)]) if asked else None


def _responses(operation: Operation) -> dict[int, Any]:
    returns = operation.returns
    content = {"content": {"application/json": {"model": _either(returns)}}} if returns else {}
    found: dict[int, Any] = {
        status: {"description": phrase(status), **({} if status == 304 else content)}
        for status in (operation.status, *operation.also)
    }
    problem = {problems.CONTENT_TYPE: {"model": Problem}}
    for status in sorted({*ANYWHERE, *operation.errors}):
        found[status] = {"description": phrase(status), "content": problem}
    return found


def _problem(status: int) -> dict[str, Any]:
    schema = {"$ref": "#/components/schemas/Problem"}
    example = json.loads(problems.body(type_of(status), "what is wrong, in words"))
    if status == 422:
        example["errors"] = [{"field": "name", "message": "Field required"}]
    content = {problems.CONTENT_TYPE: {"schema": schema, "example": example}}
    found: dict[str, Any] = {"description": phrase(status), "content": content}
    if status == 429:
        wait = {"description": "Seconds to wait.", "schema": {"type": "string"}}
        found["headers"] = {"Retry-After": wait}
    return found


def _either(models: Sequence[Any]) -> Any:
    return reduce(lambda one, other: one | other, models)


def _complete(described: dict[str, Any], operation: Operation) -> None:
    """What Powertools has no word for: parameters that all queries need, answers' headers."""
    needed = frozenset.intersection(*(each.needed for each in operation.choices))
    names = {each.name.lower(): each.name for each in operation.headers}
    for parameter in described.get("parameters", ()):
        parameter["name"] = names.get(parameter["name"], parameter["name"])
        parameter["required"] = parameter["required"] or parameter["name"] in needed
        schema = parameter["schema"]
        for redundant in ("title", "description"):
            schema.pop(redundant, None)
        if schema.get("default", 0) is None:
            del schema["default"]
    for status, response in sorted(described["responses"].items()):
        if int(status) >= 400:
            described["responses"][status] = {"$ref": f"#/components/responses/{status}"}
        elif headers := dict(_headers(operation, int(status))):
            response["headers"] = headers


def _headers(operation: Operation, status: int) -> Iterator[tuple[str, Mapping[str, Any]]]:
    text = {"schema": {"type": "string"}}
    models = (kind for each in operation.returns for kind in get_args(each) or (each,))
    one = any("version" in getattr(each, "model_fields", {}) for each in models)
    if one:
        yield "ETag", {"description": "The item's version.", **text}
    if status == 201 and one:
        yield "Location", {"description": "Where the item is.", **text}


def _sample(schema: Mapping[str, Any], schemas: Mapping[str, Any]) -> Any:
    """A value that a schema admits, by its own example where it has one."""
    if "$ref" in schema:
        return _sample(schemas[schema["$ref"].rsplit("/", 1)[1]], schemas)
    for named in ("examples", "enum"):
        if schema.get(named):
            return schema[named][0]
    for given in ("const", "default"):
        if given in schema:
            return schema[given]
    if "anyOf" in schema:
        return _sample(schema["anyOf"][0], schemas)
    if "properties" in schema:
        return {n: _sample(each, schemas) for n, each in schema["properties"].items()}
    if schema.get("additionalProperties"):
        return {"name": _sample(schema["additionalProperties"], schemas)}
    if schema.get("type") == "array" and "items" in schema:
        return [_sample(schema["items"], schemas)] * schema.get("minItems", 1)
    if schema.get("type") == "string":
        moment = schema.get("format") == "date-time"
        return "2026-11-21T01:05:40.123456Z" if moment else "…"
    return _SAMPLES.get(str(schema.get("type")), {})


def _no_book(_tenant: str) -> Any:
    raise NotImplementedError("a description answers no requests")


def _no_request() -> Any:
    raise NotImplementedError("a description answers no requests")
