"""Example items as the library stores them."""

from __future__ import annotations

import pytest

from daicho_cli.cost.examples import ExampleError, build_image
from tests.unit.daicho_cli.cost.plans import generation


def test_a_key_that_is_too_long_is_refused() -> None:
    with pytest.raises(ExampleError, match="an example of Song cannot be stored"):
        build_image(generation(), {"id": "x" * 3_000})
