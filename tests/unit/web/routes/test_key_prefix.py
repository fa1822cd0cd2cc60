"""``under=``: what it is mounted on, and how the beginning of a key is written."""

from __future__ import annotations

import pytest

from daicho.errors import DeclarationError, Refusal
from daicho.web.routes import key_prefix
from tests.support.shelves_and_events import Shelf, served


@pytest.mark.parametrize(
    "path",
    [
        "/shelves?under=",
        "/halls/{hall}?under=",
        "/halls/{hall}/rows/{row}?",
        "/halls/{hall}?row=",
        "/halls/{hall}?row=&under=",
        "/halls/{hall}?",
        "/halls?hall=",
    ],
)
def test_a_key_is_asked_by_its_first_fields(path: str) -> None:
    (choice,) = served(path, Shelf.key.under)
    assert choice == path


@pytest.mark.parametrize("path", ["/shelves", "/rows/{row}?under=", "/halls/{hall}?place="])
def test_not_by_others(path: str) -> None:
    with pytest.raises(DeclarationError, match=r"Shelf\.key"):
        served(path, Shelf.key.under)


def test_components_are_encoded_inside() -> None:
    assert key_prefix.split_components("a") == ["a"]
    assert key_prefix.split_components("a/b%2Fc/%25") == ["a", "b/c", "%"]
    assert key_prefix.split_components("関東/a+b/#") == ["関東", "a+b", "#"]
    for wrong in ("", "a/", "/a", "a//b", "%", "%2", "a/%zz", "%ff"):
        with pytest.raises(Refusal) as refused:
            key_prefix.split_components(wrong)
        assert (refused.value.status, refused.value.field) == (422, "under")
