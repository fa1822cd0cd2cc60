"""The components of keys: a field that is part of a key must hold a value."""

from __future__ import annotations

import pytest

from daicho.layout import item_keys
from tests.support.item_images import THING


def test_a_key_part_must_be_there() -> None:
    with pytest.raises(item_keys.UnderivableError, match=r"Thing\.owner"):
        item_keys.build_base_key("acme", THING.plan, {"owner": {"S": ""}, "id": {"S": "t"}})
