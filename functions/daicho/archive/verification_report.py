"""What a verification says: plain data."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any, Literal

Kind = Literal[
    "gap", "overlap", "removed", "corrupt", "foreign", "misplaced", "doubled", "lost", "unseen"
]
KINDS: dict[Kind, str] = {
    "gap": "links are missing between two",
    "overlap": "a link begins before the one ahead of it ends",
    "removed": "the table says that there was more",
    "corrupt": "it cannot be read, or is not what was written",
    "foreign": "no archiver gave it this name",
    "misplaced": "a row of another chain, day or number",
    "doubled": "a row that stands in another object too",
    "lost": "deletions that were handed over and are in no object",
    "unseen": "rows of deletions that nobody was handed",
}


@dataclass(frozen=True)
class VerifyFinding:
    """One thing that is not as it should be. ``name`` is an object's, or a chain's prefix."""

    kind: Kind
    name: str
    detail: str = ""


@dataclass
class VerifyCounts:
    """What was counted. All but ``bytes`` and ``chains`` and ``objects`` are rows.

    ``deletions``: handed to the archive's consumer. ``rows``: in objects, side objects included;
    ``sides``: those of them; ``forgotten``: taken out since; ``redriven``: appended by a redrive;
    ``there``: that a redrive found archived already, whoever wrote them;
    ``raw``: that the model could not read. ``under_way``: handed over within the last hour, and
    not archived yet.
    """

    chains: int = 0
    objects: int = 0
    bytes: int = 0
    deletions: int = 0
    rows: int = 0
    sides: int = 0
    forgotten: int = 0
    redriven: int = 0
    there: int = 0
    raw: int = 0
    under_way: int = 0


@dataclass
class VerifyReport:
    """What a verification found, and what it counted."""

    findings: list[VerifyFinding] = field(default_factory=list)
    counts: VerifyCounts = field(default_factory=VerifyCounts)

    def find(self, kind: Kind, name: str, detail: str = "") -> None:
        """Note something."""
        self.findings.append(VerifyFinding(kind, name, detail))

    def add(self, other: VerifyReport) -> None:
        """Take in what another verification, of something else, has found."""
        self.findings += other.findings
        for name, count in vars(other.counts).items():
            setattr(self.counts, name, getattr(self.counts, name) + count)

    @property
    def is_sound(self) -> bool:
        """Whether all is as it should be."""
        return not self.findings

    @property
    def mismatches(self) -> int:
        """How many things are not: what an audit's metric shows."""
        return len(self.findings)

    def to_json(self) -> dict[str, Any]:
        """The report as plain JSON values."""
        kinds = Counter(each.kind for each in self.findings)
        return {
            "sound": self.is_sound,
            "mismatches": self.mismatches,
            "kinds": {kind: kinds[kind] for kind in KINDS if kinds[kind]},
            "counts": vars(self.counts),
            "findings": [vars(each) for each in self.findings],
        }
