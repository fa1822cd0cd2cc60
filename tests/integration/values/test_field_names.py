"""A name of a field is refused when its class is defined, or it works on every way.

The names are found: all attributes of the classes that entities and their models are made of, of
mappings, of what is stored, and the words of Python.
"""

from __future__ import annotations

import builtins
import inspect
import itertools
import keyword
import linecache
import re
import sys
from types import ModuleType
from typing import Any

import pytest
from pydantic import BaseModel, RootModel

from daicho import Domain, Entity
from daicho.declare.entity import RESERVED, EntityMeta
from daicho.errors import DeclarationError
from daicho.web.http.endpoint import Endpoint
from daicho.web.http.operation import QueryVariant
from tests.support.memory_served import serve_in_memory

_numbers = itertools.count(1)
MADE_OF = (Entity, EntityMeta, BaseModel, RootModel, dict, list, type, QueryVariant, Endpoint)
ARGUMENTS = {
    name
    for function in (Entity.__init__, BaseModel.__init__, Endpoint.__call__)
    for name in inspect.signature(function).parameters
}
PROTECTED = {
    f"{prefix}_x" for prefix in BaseModel.model_config.get("protected_namespaces", ("model_dump",))
}
NAMES = sorted(
    (
        {name for owner in MADE_OF for name in dir(owner)}
        | set(vars(builtins))
        | {*keyword.softkwlist, *keyword.kwlist, "model_", "model_x", "model_dump_x"}
        | {"model_validate_x", "field", "uid", "dt", "cls", "args", "kwargs", "body", "ref"}
        | ARGUMENTS
        | PROTECTED
        | RESERVED
    )
    - {"id", "key"}  # those of the texts below
)
BREAKING = {
    *(name for name in dir(BaseModel) if not name.startswith("_")),
    *(name for name in dir(Entity) if not name.startswith("_")),
    *RESERVED,
    "keys",
}
SOURCE = """
import daicho

class Thing(daicho.Entity):
    id: str = daicho.uid()
    {name}: str = daicho.field()
    other: str = daicho.field(default="x")

    key = daicho.Key(id)
    listed = daicho.Listing({name}, order=other)
    search = daicho.Search({name}, param="q")
"""
AS_KEY = """
import daicho

class Thing(daicho.Entity):
    {name}: str = daicho.field()
    other: str = daicho.field(default="x")

    key = daicho.Key({name})
"""


def define(source: str, name: str) -> Any:
    """The entity of a module with a field of this name."""
    module = ModuleType(f"named_{next(_numbers)}")
    sys.modules[module.__name__] = module
    text = source.format(name=name)
    linecache.cache[module.__name__] = (len(text), None, text.splitlines(True), module.__name__)
    exec(compile(text, module.__name__, "exec"), vars(module))  # noqa: S102  # a text of this file
    return module.Thing


@pytest.mark.parametrize("name", NAMES)
def test_a_name_is_refused_at_import_or_works(name: str) -> None:
    try:
        thing = define(SOURCE, name)
    except SyntaxError:
        return  # Python itself refuses it
    except DeclarationError as error:
        assert f"Thing.{name}" in str(error)
        assert re.search("choose another one|remove|has two", str(error)), error
        return
    assert name not in BREAKING
    domain = Domain("things", thing)
    domain.resource("/things/{id}", thing, "POST PUT GET PATCH DELETE")
    domain.mount(f"/listed/{{{name}}}", thing.listed)
    domain.mount("/found", thing.search)
    served = serve_in_memory(domain)
    made = served.client.good("POST", "/things", {name: "first"})
    place = f"/things/{made['id']}"
    assert served.client.good("GET", place)[name] == "first"
    assert served.client.good("PATCH", place, {name: "second"})[name] == "second"
    assert served.client.good("PUT", place, {name: "third"})[name] == "third"
    served.deployment.catch_up()
    for path in ("/listed/third", "/found?q=third"):
        assert [item[name] for item in served.client.good("GET", path)["items"]] == ["third"]
    book = served.deployment.open_book("acme")
    assert getattr(book.get(thing.key(made["id"])), name) == "third"


@pytest.mark.parametrize("name", NAMES)
def test_a_name_of_a_key_is_refused_at_import_or_works(name: str) -> None:
    try:
        thing = define(AS_KEY, name)
    except (SyntaxError, DeclarationError):
        return
    domain = Domain("things", thing)
    domain.resource(f"/things/{{{name}}}", thing, "PUT GET DELETE")
    client = serve_in_memory(domain).client
    assert client.good("PUT", "/things/a", {})[name] == "a"
    assert client.good("GET", "/things/a")[name] == "a"
    assert client("DELETE", "/things/a").status == 204


@pytest.mark.parametrize("name", sorted(BREAKING))
def test_each_breaking_name_is_refused(name: str) -> None:
    with pytest.raises(DeclarationError, match=f"Thing.{name}.*choose another one"):
        define(SOURCE, name)
