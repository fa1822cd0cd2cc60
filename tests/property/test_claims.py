"""A caller has exactly the roles that its token names as groups, in every form of the claim.

Broken on purpose before it was trusted; each of these is found: a list of the token that the
gateway's text contradicts; words of any kind divided at spaces; text divided at commas; text in
brackets read as a list although the token has it as text.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from hypothesis import example, given
from hypothesis import strategies as st

from daicho.runtime.token_claims import ClaimNames
from daicho.web.http.request import HttpRequest
from tests.support.api_client import flatten_claim, write_token

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


FORMS: dict[str, Callable[[list[str]], Any]] = {
    "list": lambda groups: groups,
    "JSON text": json.dumps,
    "compact JSON text": lambda groups: json.dumps(groups, separators=(",", ":")),
    "brackets": flatten_claim,
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
        event["headers"] = {"authorization": f"Bearer {write_token({'g': token})}"}
    return HttpRequest(event, ClaimNames("t", ("g",))).roles


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
    roles = read_roles(flatten_claim(value), value)
    assert roles <= list_named(value)
    if form == "list":
        assert roles == frozenset(groups)


@given(GROUPS, st.sampled_from(sorted(FORMS)), GROUPS)
def test_a_token_that_contradicts_the_gateway_gives_no_role_of_its_own(
    groups: list[str], form: str, others: list[str]
) -> None:
    value = FORMS[form](groups)
    roles = read_roles(flatten_claim(value), others)
    assert roles <= set(others)
    assert not roles or flatten_claim(value) == flatten_claim(others)
