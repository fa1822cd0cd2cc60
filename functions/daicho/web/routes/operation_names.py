"""Names of operations for programs, as generated clients show them: ``list_contact_calls``.

A name is made of the path: a verb, the singular of each word that a variable follows, and the last
word. An operation whose method does not describe it has a `verb` of its own (``forget``).
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from itertools import count
from typing import Any

from pydantic import BaseModel

from daicho.web.http.operation import VARIABLE, Operation, list_variables
from daicho.web.schema.model_refs import ModelRef

VERBS = {"PUT": "put", "PATCH": "change", "DELETE": "delete", "POST": "create"}
_ENDINGS = (
    ("ies", "y"),
    ("sses", "ss"),
    ("xes", "x"),
    ("ches", "ch"),
    ("shes", "sh"),
    *((ending, ending) for ending in ("ss", "us", "is")),
    ("s", ""),
)
"""How English words end in the plural and in the singular; the first that fits counts."""
_WORD_START = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


def name_operations(
    operations: Iterable[Operation], entity_names: Iterable[str], taken: Collection[str] = ()
) -> None:
    """Give each operation a name that no other has, in the order of the declarations.

    The first operation gets the short name: one that is declared later renames no other.
    ``taken``: names of other operations.
    """
    nouns = [_WORD_START.sub("_", name).lower() for name in entity_names]
    singulars = {f"{noun}{ending}": noun for noun in nouns for ending in ("s", "es")}
    used = set(taken)
    for operation in operations:
        candidates = _list_candidates(operation, singulars)
        operation.name = next(name for name in candidates if name not in used)
        used.add(operation.name)


def _list_candidates(operation: Operation, singulars: Mapping[str, str]) -> Iterator[str]:
    """Names of an operation, best first, without end."""
    words, variables = operation.path.strip("/").split("/"), list_variables(operation.path)
    literals = [
        (re.sub(r"\W", "_", word), VARIABLE.fullmatch(following))
        for word, following in zip(words, [*words[1:], ""], strict=True)
        if not VARIABLE.fullmatch(word)
    ]
    if any(word for word, _ in literals):
        *parents, last = [
            (word, _make_singular(word, singulars, variable[1] if variable else ""))
            for word, variable in literals
        ]
        above = [singular for _, singular in parents]
        verb, noun = _choose_words(operation, above, last, followed=literals[-1][1] is not None)
        short = "_".join(filter(None, (verb, *above, noun)))
        yield short
        # An item below another: /documents/{id}/{section} beside /documents/{id}.
        if len(variables) == 2 and operation.path.endswith(f"}}/{{{variables[-1]}}}"):
            yield f"{short}_{variables[-1]}"
        yield f"{short}_by_{'_and_'.join(variables)}" if variables else f"{verb}_{last[0]}"
    yield operation.id
    yield from (f"{operation.id}_{number}" for number in count(2))


def _choose_words(
    operation: Operation, above: list[str], last: tuple[str, str], *, followed: bool
) -> tuple[str, str]:
    """The verb, and the last noun; ``followed``: by a variable."""
    word, singular = last
    if operation.verb:
        return operation.verb, singular if followed else word
    if operation.method == "GET":
        lists = [_is_page(variant.returns) for variant in operation.variants if variant.returns]
        verb = "list" if lists and all(lists) else "get"
        return verb, singular if followed and not any(lists) else word
    if operation.method == "POST" and above and not followed and singular == word:
        return word, ""  # an action: /carts/{user}/checkout
    return VERBS.get(operation.method, operation.method.lower()), singular


def _is_page(model: Any) -> bool:
    if isinstance(model, ModelRef):
        return model.is_page
    is_model = isinstance(model, type) and issubclass(model, BaseModel)
    return is_model and {"items", "cursor"} <= model.model_fields.keys()


def _make_singular(word: str, singulars: Mapping[str, str], variable: str) -> str:
    """The singular of a word: the name of its variable or of an entity, or by English rules."""
    if variable and word in (f"{variable}s", f"{variable}es"):
        return variable
    if word in singulars:
        return singulars[word]
    for plural, singular in _ENDINGS:
        if word.endswith(plural) and len(word) > len(plural):
            return word.removesuffix(plural) + singular
    return word
