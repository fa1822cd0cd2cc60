"""Stored objects as they are declared, and the values that they admit."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pytest

from daicho import Entity, Expires, Key, StoredObject, stored_object, uid
from daicho.declare.compiler import compile_entity
from daicho.errors import DeclarationError


@pytest.mark.parametrize(
    "given",
    [
        {"max_bytes": 0, "types": ("image/png",)},
        {"max_bytes": 6 * 1024**3, "types": ("image/png",)},
        {"max_bytes": 1, "types": ()},
        {"max_bytes": 1, "types": ("png",)},
    ],
)
def test_an_object_without_sense_is_refused(given: Any) -> None:
    with pytest.raises(DeclarationError, match="an object"):
        stored_object(**given)


def test_an_object_has_a_type_of_its_own_and_does_not_expire() -> None:
    with pytest.raises(DeclarationError, match="image: StoredObject"):

        class Wrong(Entity):
            id: str = uid()
            image: str = stored_object(max_bytes=1, types=("image/png",))

            key = Key(id)

    class Passing(Entity):
        id: str = uid()
        image: StoredObject = stored_object(max_bytes=1, types=("image/png",))

        key = Key(id)
        expires = Expires(dt.timedelta(days=1))

    with pytest.raises(DeclarationError, match=r"would leave Passing\.image behind in S3"):
        compile_entity(Passing)
