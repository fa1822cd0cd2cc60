"""A caller has exactly the roles that its token names as groups, in every form of the claim.

Broken on purpose before it was trusted; each of these is found: a list of the token that the
gateway's text contradicts; words of any kind divided at spaces; text divided at commas; text in
brackets read as a list although the token has it as text.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable
from typing import Any

from hypothesis import example, given
from hypothesis import strategies as st

from daicho.web.http.claims import ClaimNames
from daicho.web.http.request import HttpRequest

ROLES = ("admin", "operator", "staff")
GLUE = st.sampled_from([" ", ",", ", ", "  ", "\t", ";", "] [", '","', '", "', "'", '"', "\u00a0"])
WORDS = st.one_of(st.sampled_from(ROLES), st.text("ab[]\"', \\", max_size=4))
GROUPS = st.lists(
    st.one_of(
        WORDS,
        st.builds(lambda one, glue, other: f"{one}{glue}{other}", WORDS, GLUE, WORDS),
        st.builds(lambda glue, word: f"{glue}{word}", GLUE, WORDS),
    ),
    max_size=4,
)
"""Names of groups that contain the names of roles, and what lists are written with."""


def flatten(value: Any) -> str:
    """A claim as an HTTP API passes it on."""
    if isinstance(value, list):
        return f"[{' '.join(map(flatten, value))}]"
    return value if isinstance(value, str) else json.dumps(value)


PLAIN_WORDS = re.compile(r"[\w.:@/+-]+( [\w.:@/+-]+)*")

FORMS: dict[str, Callable[[list[str]], Any]] = {
    "list": lambda groups: groups,
    "JSON text": json.dumps,
    "compact JSON text": lambda groups: json.dumps(groups, separators=(",", ":")),
    "brackets": flatten,
    "commas": ",".join,
    "commas and spaces": ", ".join,
    "brackets and commas": lambda groups: f"[{','.join(groups)}]",
    "spaces": " ".join,
    "nested": lambda groups: [groups],
    "repr": repr,
}


def read_roles(claim: object, token: object = None) -> frozenset[str]:
    """The roles by an event with ``claim``, with a token that has ``token`` if it is not None."""
    event: dict[str, Any] = {"requestContext": {"authorizer": {"jwt": {"claims": {"g": claim}}}}}
    if token is not None:
        part = base64.urlsafe_b64encode(json.dumps({"g": token}).encode()).decode().rstrip("=")
        event["headers"] = {"authorization": f"Bearer e30.{part}.e30"}
    return HttpRequest(event, ClaimNames("t", ("g",), "s")).roles


def list_named(value: object) -> set[str]:
    """The groups that a claim of a token names: the texts of a list, or one text as a whole."""
    if isinstance(value, list):
        return {each for each in value if isinstance(each, str)}
    return {value} if isinstance(value, str) else set()


@given(GROUPS, st.sampled_from(sorted(FORMS)))
@example(["not admin"], "list")
@example(["x,operator"], "brackets")
def test_roles_of_a_token_are_exactly_the_groups_that_it_names(
    groups: list[str], form: str
) -> None:
    value = FORMS[form](groups)
    roles = read_roles(flatten(value), value)
    assert roles <= list_named(value)
    if form == "list":
        assert roles == frozenset(groups)


@given(GROUPS, st.sampled_from(sorted(FORMS)), GROUPS)
def test_a_token_that_contradicts_the_gateway_gives_no_role_of_its_own(
    groups: list[str], form: str, others: list[str]
) -> None:
    value = FORMS[form](groups)
    roles = read_roles(flatten(value), others)
    assert roles <= set(others)
    assert not roles or flatten(value) == flatten(others)


@given(GROUPS, st.sampled_from(sorted(FORMS)))
@example(["x, operator"], "brackets")
@example(["x", "operator"], "JSON text")
def test_text_without_a_token_is_divided_only_into_plain_words(
    groups: list[str], form: str
) -> None:
    """No gateway sends such an event: every request through one has its token."""
    text = flatten(FORMS[form](groups))
    roles = read_roles(text)
    is_list = text.startswith("[") and text.endswith("]")
    inner = text[1:-1] if is_list else text
    if is_list and PLAIN_WORDS.fullmatch(inner):
        assert roles == frozenset(inner.split(" "))
    else:
        assert roles <= {inner}
        assert " " not in inner or not is_list or not roles
