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
    - {"id", "key", "other"}  # those of the texts below
)
BREAKING = {
    *(name for name in dir(BaseModel) if not name.startswith("_")),
    *(name for name in dir(Entity) if not name.startswith("_")),
    *RESERVED,
    "keys",
}
CHUNK = 20
"""Fields of one entity: it is served once for all of them."""
SOURCE = """
import daicho

class Thing(daicho.Entity):
    id: str = daicho.uid()
    other: str = daicho.field(default="x")
{fields}

    key = daicho.Key(id)
{lists}
"""
FIELD = "    {name}: str = daicho.field()\n"
LISTS = """    listed_{place} = daicho.Listing({name}, order=other)
    search_{place} = daicho.Search({name}, param="q")
"""
AS_KEY = """
import daicho

class Thing(daicho.Entity):
    {name}: str = daicho.field()
    other: str = daicho.field(default="x")

    key = daicho.Key({name})
"""


def define(text: str) -> Any:
    """The entity of a module of this text."""
    module = ModuleType(f"named_{next(_numbers)}")
    sys.modules[module.__name__] = module
    linecache.cache[module.__name__] = (len(text), None, text.splitlines(True), module.__name__)
    exec(compile(text, module.__name__, "exec"), vars(module))  # noqa: S102  # a text of this file
    return module.Thing


def write_source(*names: str) -> str:
    """The text of an entity with fields of these names, each of them listed and searched."""
    fields = "".join(FIELD.format(name=name) for name in names)
    lists = (LISTS.format(place=place, name=name) for place, name in enumerate(names))
    return SOURCE.format(fields=fields, lists="".join(lists))


def is_refused(name: str) -> bool:
    """Whether a field may not have this name. The refusal names it and what to do."""
    try:
        define(write_source(name))
    except SyntaxError:
        return True  # Python itself refuses it
    except DeclarationError as error:
        assert f"Thing.{name}" in str(error)
        assert re.search("choose another one|remove|has two", str(error)), error
        return True
    return False


def test_a_name_is_refused_at_import_or_works() -> None:
    allowed = [name for name in NAMES if not is_refused(name)]
    assert len(allowed) > 150
    assert not BREAKING & {*allowed}
    for first in range(0, len(allowed), CHUNK):
        check_names(allowed[first : first + CHUNK])


def check_names(names: list[str]) -> None:
    """Fields of these names are written, read, listed and found."""
    thing = define(write_source(*names))
    domain = Domain("things", thing)
    domain.resource("/things/{id}", thing, "POST PUT GET PATCH DELETE")
    for place, name in enumerate(names):
        domain.mount(f"/listed-{place}/{{{name}}}", getattr(thing, f"listed_{place}"))
        domain.mount(f"/found-{place}", getattr(thing, f"search_{place}"))
    served = serve_in_memory(domain)
    good = served.client.good
    made = good("POST", "/things", dict.fromkeys(names, "first"))
    address = f"/things/{made['id']}"

    def read(item: dict[str, Any]) -> set[str]:
        return {item[name] for name in names}

    assert read(good("GET", address)) == {"first"}
    assert read(good("PATCH", address, dict.fromkeys(names, "second"))) == {"second"}
    assert read(good("PUT", address, dict.fromkeys(names, "third"))) == {"third"}
    served.deployment.catch_up()
    for place, name in enumerate(names):
        for path in (f"/listed-{place}/third", f"/found-{place}?q=third"):
            assert [item[name] for item in good("GET", path)["items"]] == ["third"]
    item = served.deployment.open_book("acme").get(thing.key(made["id"]))
    assert {getattr(item, name) for name in names} == {"third"}


def test_a_name_of_a_key_is_refused_at_import_or_works() -> None:
    for name in NAMES:
        try:
            thing = define(AS_KEY.format(name=name))
        except (SyntaxError, DeclarationError):
            continue
        domain = Domain("things", thing)
        domain.resource(f"/things/{{{name}}}", thing, "PUT GET DELETE")
        client = serve_in_memory(domain).client
        assert client.good("PUT", "/things/a", {})[name] == "a"
        assert client.good("GET", "/things/a")[name] == "a"
        assert client("DELETE", "/things/a").status == 204


def test_each_breaking_name_is_refused() -> None:
    for name in sorted(BREAKING):
        with pytest.raises(DeclarationError, match=f"Thing.{name}.*choose another one"):
            define(write_source(name))
