"""The API's description (OpenAPI 3.1): Powertools writes it; this module adds to it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

from aws_lambda_powertools.event_handler import APIGatewayHttpResolver
from pydantic import BaseModel

from daicho.declare.registry import Daicho
from daicho.plan import Ledger
from daicho.runtime.version import VERSION
from daicho.web.http import problems
from daicho.web.http.operation import Operation
from daicho.web.http.preconditions import IF_MATCH, IF_NONE_MATCH
from daicho.web.http.problem_types import get_phrase
from daicho.web.http.problems import Problem
from daicho.web.http.routing import PathPattern
from daicho.web.openapi import gateway_answers
from daicho.web.openapi.access import describe_access
from daicho.web.openapi.decimals import WRITTEN, mark_decimals
from daicho.web.openapi.examples import Examples
from daicho.web.openapi.links import add_links
from daicho.web.openapi.query_kinds import add_queries
from daicho.web.openapi.selections import SCHEMAS, describe_selections
from daicho.web.openapi.signature import make_endpoint
from daicho.web.routes.builder import build_operations
from daicho.web.routes.tenant.operations import build_admin_operations
from daicho.web.schema.wire_types import list_union_members, unite_types

TITLE = "Daicho"
ANYWHERE = (400, 403, 404, 409, 410, 422, 429, 503)
"""Problems that every operation may answer."""
NO_BODY = ("204", "304")
"""Statuses of answers without a body."""
SECURITY_SCHEME = "token"
"""The token. An operation that requires a role names it next to the scheme."""

ABOUT = """The entities and queries of this stack.

- **Token**: send a token that contains your tenant as `Authorization: Bearer …`, for example the
  ID token of a user; press *Authorize* to enter it. The token selects the tenant.
  Other tenants cannot be read or written.
- **Lists** answer `{"items": […], "cursor": …}`. Pass the cursor to read the next page; null marks
  the end. A page may contain fewer items than `limit`, or none, and still have a cursor.
- **Versions**: each item has an `ETag`. `If-Match` makes a change conditional, and
  `If-None-Match: *` restricts a PUT to new items. An operation that supports neither refuses both.
- **Repeats**: a change with an `Idempotency-Key` is applied once, however often it is sent.
- **Problems** are RFC 9457 documents. Their `type` is the address of a page that describes the
  problem and its remedy. `/problems` lists all of them. The gateway itself answers 401, and 429
  or 503 under load, with `{"message": …}`.
- **Integers** are written without a point and without an exponent. An id is part of a path: it
  contains no slash, question mark, percent sign or U+FFFD.
- **Booleans** in a query are `true` or `false`, also written `1` or `0`.
- **Keywords** have at most 5 words. **Instants** are in the years 1 to 9999 in UTC.
- **HEAD** is answered wherever GET is: with the same status and headers, and no body.
"""

NO_EXAMPLES: Mapping[str, Mapping[str, Any]] = {}

_OTHERS = ("HTTPValidationError", "ValidationError", "ResponseValidationError")


class _Resolver(APIGatewayHttpResolver):
    """Powertools' resolver, with the patterns of this API's paths. It answers no requests."""

    @staticmethod
    def _compile_regex(rule: str, base_regex: str = "") -> re.Pattern[str]:
        return cast("re.Pattern[str]", PathPattern(rule))


def describe_api(daicho: Daicho, ledger: Ledger, *, server: str = "") -> dict[str, Any]:
    """The description of all operations that ``daicho`` serves.

    Raises:
        DeclarationError: the declarations differ from the ledger.
    """
    daicho.check_locked(ledger)
    served = [*build_operations(daicho), *build_admin_operations(daicho)]
    title = ledger.project or TITLE
    return describe_operations(served, server=server, examples=daicho.examples, title=title)


def describe_operations(
    served: Sequence[Operation],
    *,
    server: str = "",
    examples: Mapping[str, Mapping[str, Any]] = NO_EXAMPLES,
    title: str = TITLE,
) -> dict[str, Any]:
    """The description of operations; ``examples`` by domain and name."""
    resolver = _Resolver(enable_validation=True)
    for operation in served:
        resolver.route(
            operation.path,
            operation.method,
            operation_id=operation.id,
            tags=[operation.tag],
            summary=" · ".join(dict.fromkeys(variant.summary for variant in operation.variants)),
            description=_describe_variants(operation),
            responses=_describe_responses(operation),
        )(make_endpoint(operation))
    text = resolver.get_openapi_json_schema(title=title, version=VERSION)
    document = _name_schemas(json.loads(text))
    for operation in served:
        _complete(document["paths"][operation.path][operation.method.lower()], operation)
    schemas = document["components"]["schemas"]
    for name in _OTHERS:
        schemas.pop(name, None)
    if "JsonValue" in schemas:
        schemas["JsonValue"] = {
            "description": "Any JSON value.",
            "examples": [{"text": "A good year"}],
        }
    for body in {route.body.__name__ for route in served if route.body}:
        _close(schemas, schemas.get(f"{body}{WRITTEN}", schemas[body]))
    schemas[gateway_answers.SCHEMA_NAME] = dict(gateway_answers.SCHEMA)
    mark_decimals(schemas, (model for route in served for model in _list_all_models(route)))
    describe_selections(document, served)
    Examples(examples).add(document)
    document["info"]["description"] = ABOUT
    document["servers"] = [{"url": server or "/"}]
    document["tags"] = [{"name": tag} for tag in dict.fromkeys(route.tag for route in served)]
    add_links(document, served)
    add_queries(document, served)
    document["components"]["responses"] = {"401": gateway_answers.describe_unauthorized()} | {
        str(status): _describe_problem(status)
        for status in sorted({status for route in served for status in _list_problems(route)})
    }
    document["components"]["securitySchemes"] = {
        SECURITY_SCHEME: {"type": "http", "scheme": "bearer", "bearerFormat": "JWT"}
    }
    document["security"] = [{SECURITY_SCHEME: []}]
    return document


def _close(schemas: dict[str, Any], value: Any) -> None:
    """Let the schema of a body, and those of its members, admit no other properties."""
    match value:
        case {"$ref": str(reference)} if reference.startswith(SCHEMAS):
            target = schemas[reference.removeprefix(SCHEMAS)]
            if target.get("additionalProperties") is None:
                _close(schemas, target)
        case dict():
            if "properties" in value:
                value.setdefault("additionalProperties", False)
            for member in [*value.values()]:
                _close(schemas, member)
        case list():
            for member in value:
                _close(schemas, member)


def _list_all_models(operation: Operation) -> list[Any]:
    """The models of an operation's body and answers."""
    found = [operation.body, *operation.returns]
    return [each for each in found if isinstance(each, type) and issubclass(each, BaseModel)]


def _describe_variants(operation: Operation) -> str | None:
    """The parameters that distinguish the queries of a path."""
    lines = [f"`{variant}`: {variant.summary}." for variant in operation.variants if variant.needed]
    return (
        "\n".join(["Queries by parameters:", "", *(f"- {line}" for line in lines)])
        if lines
        else None
    )


def _list_problems(operation: Operation) -> set[int]:
    """The statuses of an operation's refusals. One with a body may refuse its size and its type."""
    of_body = (413, 415) if operation.body is not None else ()
    is_conditional = IF_MATCH.name in {header.name for header in operation.headers}
    return {*ANYWHERE, *of_body, *((412,) if is_conditional else ())}


def _describe_responses(operation: Operation) -> dict[int, Any]:
    responses: dict[int, Any] = {401: {"description": get_phrase(401)}}
    unchanged = (304,) if IF_NONE_MATCH in operation.headers else ()
    for status in (operation.status, *operation.also, *unchanged):
        responses[status] = {"description": get_phrase(status)}
        if (models := _list_models(operation, status)) and status != 304:
            content = {"application/json": {"model": unite_types(*models)}}
            responses[status]["content"] = content
    problem = {problems.CONTENT_TYPE: {"model": Problem}}
    for status in sorted(_list_problems(operation)):
        responses[status] = {"description": get_phrase(status), "content": problem}
    return responses


def _list_models(operation: Operation, status: int) -> tuple[Any, ...]:
    """The models of the answers with a status, of those that the operation returns.

    201 is answered with an item that was created, 202 with the result of a vote.
    """
    members = [kind for result in operation.returns for kind in list_union_members(result)]
    items = [kind for kind in members if _is_item(kind)]
    if not items or len(items) == len(members) or status not in (201, 202):
        return operation.returns
    return tuple(kind for kind in members if _is_item(kind) == (status == 201))


def _is_item(model: Any) -> bool:
    return "version" in getattr(model, "model_fields", {})


def _describe_problem(status: int) -> dict[str, Any]:
    schema = {"$ref": "#/components/schemas/Problem"}
    problem = {"schema": schema, "example": problems.build_example(status)}
    content = {problems.CONTENT_TYPE: problem}
    content |= gateway_answers.describe_content(status)
    response: dict[str, Any] = {"description": get_phrase(status), "content": content}
    if status in gateway_answers.MESSAGES:
        wait = {
            "description": "The number of seconds to wait before a repeat. Not in the gateway's "
            "own answers.",
            "schema": {"type": "string"},
        }
        response["headers"] = {"Retry-After": wait}
    return response


def _name_schemas(document: dict[str, Any]) -> dict[str, Any]:
    """Name a model that is read and written ``Line`` in answers and ``LineInput`` in bodies.

    Pydantic appends -Output and -Input to the names if the two schemas differ. It gives both the
    title of the model, of which generators of clients make the name of a class: so each schema
    gets its own name as its title.
    """
    schemas = document["components"]["schemas"]
    names = {name: name for name in schemas}
    for name in schemas:
        shown, written = name.removesuffix("-Output"), f"{name.removesuffix('-Input')}{WRITTEN}"
        if shown != name and shown not in schemas:
            names[name] = shown
        elif name.endswith("-Input") and written not in schemas:
            names[name] = written
    document["components"]["schemas"] = {
        names[name]: schema | {"title": names[name]} for name, schema in schemas.items()
    }

    def rename(value: Any) -> Any:
        match value:
            case {"$ref": str(reference)} if reference.startswith(SCHEMAS):
                name = reference.removeprefix(SCHEMAS)
                return value | {"$ref": SCHEMAS + names.get(name, name)}
            case dict():
                return {key: rename(member) for key, member in value.items()}
            case list():
                return [rename(member) for member in value]
        return value

    renamed: dict[str, Any] = rename(document)
    return renamed


def _complete(described: dict[str, Any], operation: Operation) -> None:
    """Add what Powertools cannot describe: required parameters, headers of answers, the role."""
    describe_access(described, operation, SECURITY_SCHEME)
    needed = frozenset.intersection(*(variant.needed for variant in operation.variants))
    names = {header.name.lower(): header.name for header in operation.headers}
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
            continue
        if headers := dict(_describe_headers(operation, int(status))):
            response["headers"] = headers
        if status in NO_BODY:
            response.pop("content", None)


def _describe_headers(operation: Operation, status: int) -> Iterator[tuple[str, Mapping[str, Any]]]:
    text = {"schema": {"type": "string"}}
    models = _list_models(operation, status)
    members = [kind for result in models for kind in list_union_members(result)]
    has_version = any(map(_is_item, members)) or (operation.has_etag and status < 300)
    if has_version:
        yield "ETag", {"description": "The item's version.", **text}
    if status == 201 and has_version:
        yield "Location", {"description": "The address of the item.", **text}
