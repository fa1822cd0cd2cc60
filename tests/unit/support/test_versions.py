"""The changes of the next version of the tests fit the code."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.repository import ROOT
from tests.support.versions import CannotChangeError, CodeChange, read_changes


@pytest.mark.parametrize("change", read_changes(), ids=lambda change: str(change.name))
def test_each_change_fits_the_code(change: CodeChange, tmp_path: Path) -> None:
    copy = tmp_path / change.file
    copy.parent.mkdir(parents=True, exist_ok=True)
    copy.write_text((ROOT / change.file).read_text("utf-8"), "utf-8")
    change.apply(tmp_path)
    assert change.after in copy.read_text("utf-8")


def test_a_change_whose_text_is_gone_is_reported(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("x = 1\nx = 1\n")
    with pytest.raises(CannotChangeError, match=r"a\.py has 'x = 1' 2 times, not 1"):
        CodeChange("c", "a.py", "x = 1", "x = 2").apply(tmp_path)
    with pytest.raises(CannotChangeError, match=r"b\.py has 'x = 1' 0 times"):
        CodeChange("c", "b.py", "x = 1", "x = 2").apply(tmp_path)
