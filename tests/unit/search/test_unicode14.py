"""The table of the code points that Unicode 14 assigns."""

import sys
import unicodedata

import pytest

from daicho.search.unicode14 import is_assigned


@pytest.mark.skipif(sys.version_info[:2] != (3, 11), reason="Python 3.11 carries Unicode 14")
def test_the_table_of_assigned_code_points_is_unicode_14() -> None:
    assert unicodedata.unidata_version == "14.0.0"
    wrong = [
        c for c in map(chr, range(0x110000)) if is_assigned(c) != (unicodedata.category(c) != "Cn")
    ]
    assert wrong == []
