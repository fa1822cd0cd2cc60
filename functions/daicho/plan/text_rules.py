"""How texts are read by searches, unique values and folded parts: the kind and the fold's version.

Each generation records the version by which it folds texts, so that its items are derived alike
for ever (EXACTNESS rule 3). A new version of the fold is a change of the declaration: the entity
gets a new generation, and a rebuild (ADR 0178).
"""

from __future__ import annotations

from typing import Literal

from daicho.runtime.frozen_dataclasses import dataclass

TextKind = Literal["text", "company", "phone"]
FIRST_FOLD, NEWEST_FOLD = 1, 2
"""The versions of the fold. Lock files without a version are of the first one."""


@dataclass(frozen=True)
class TextRules:
    """How the values of a field are read, and the keywords that search them.

    ``fold``: the version of the fold. ``region``: of phone numbers that are written without the
    code of a country, as an ISO code such as ``JP``. The first fold knows only Japan.
    """

    kind: TextKind = "text"
    fold: int = NEWEST_FOLD
    region: str = ""
