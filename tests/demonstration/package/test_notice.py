"""The notice names the third-party data of the demonstration."""

from __future__ import annotations

from demonstration.remove import NOTICE_SECTION
from tests.package.test_repository import list_named_files
from tests.support.repository import ROOT


def test_the_section_of_the_demonstration_names_its_data() -> None:
    section = NOTICE_SECTION.search((ROOT / "NOTICE").read_text("utf-8"))
    assert section is not None
    named = list_named_files(section[0])
    assert len(named) == 3
    assert [pattern for pattern in named if not list(ROOT.glob(pattern))] == []
