"""Code of the demonstration that the documentation quotes is quoted exactly."""

from __future__ import annotations

import pytest

from tests.support.quotations import Quotation, list_quotations

QUOTATIONS = list(list_quotations(demonstration=True))


@pytest.mark.parametrize("quotation", QUOTATIONS, ids=lambda each: f"{each.page} {each.file}")
def test_the_quoted_file_contains_the_code(quotation: Quotation) -> None:
    assert quotation.is_exact, f"{quotation.page} quotes {quotation.file} wrongly"


def test_the_reference_quotes_code() -> None:
    assert len(QUOTATIONS) > 15
