"""The version that a caller expects, of an item and of a section."""

from __future__ import annotations

import pytest

from daicho.errors import PreconditionFailed
from daicho.write.refusals import check_version


def test_only_the_expected_version_is_accepted() -> None:
    check_version(None, None)
    check_version(3, None)
    check_version(3, 3)
    with pytest.raises(PreconditionFailed, match="the item is of version 3"):
        check_version(3, 2)
    with pytest.raises(PreconditionFailed, match="the section is of version 3"):
        check_version(3, 2, "section")
    with pytest.raises(PreconditionFailed, match="there is no such section"):
        check_version(None, 2, "section")
