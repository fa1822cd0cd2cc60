"""The result of a verification: plain data."""

from __future__ import annotations

from collections import Counter
from dataclasses import field
from typing import Any, Literal

from daicho.runtime.frozen_dataclasses import dataclass

Kind = Literal[
    "gap", "overlap", "removed", "corrupt", "foreign", "misplaced", "doubled", "lost", "unseen"
]
KINDS: dict[Kind, str] = {
    "gap": "links are missing between two others",
    "overlap": "a link begins before the previous one ends",
    "removed": "the table has counted more rows",
    "corrupt": "it cannot be read, or is not what was written",
    "foreign": "its name is not one that the archiver gives",
    "misplaced": "a row of another chain, day or number",
    "doubled": "a row that is in another object too",
    "lost": "deletions that the archiver received and that are in no object",
    "unseen": "rows of deletions that the archiver did not receive",
}


@dataclass(frozen=True)
class VerifyFinding:
    """One fault. ``name`` is the name of an object or the prefix of a chain."""

    kind: Kind
    name: str
    detail: str = ""


@dataclass
class VerifyCounts:
    """The counts. All but ``bytes``, ``chains`` and ``objects`` count rows.

    ``deletions``: handed to the archive's consumer. ``rows``: in objects, including side objects.
    ``sides``: in side objects. ``forgotten``: removed since. ``redriven``: appended by a redrive.
    ``already_archived``: a redrive found them in the archive, whoever wrote them. ``raw``: not
    readable by the model. ``under_way``: handed over within the last hour, and not archived yet.
    """

    chains: int = 0
    objects: int = 0
    bytes: int = 0
    deletions: int = 0
    rows: int = 0
    sides: int = 0
    forgotten: int = 0
    redriven: int = 0
    already_archived: int = 0
    raw: int = 0
    under_way: int = 0


@dataclass
class VerifyReport:
    """The findings and the counts of a verification."""

    findings: list[VerifyFinding] = field(default_factory=list)
    counts: VerifyCounts = field(default_factory=VerifyCounts)

    def add_finding(self, kind: Kind, name: str, detail: str = "") -> None:
        """Add one finding; ``name``: of an object, or the prefix of a chain."""
        self.findings.append(VerifyFinding(kind, name, detail))

    def add(self, other: VerifyReport) -> None:
        """Add the findings and counts of another verification, of other partitions."""
        self.findings += other.findings
        for name, count in vars(other.counts).items():
            setattr(self.counts, name, getattr(self.counts, name) + count)

    @property
    def is_sound(self) -> bool:
        """Whether there are no findings."""
        return not self.findings

    @property
    def mismatches(self) -> int:
        """The number of findings, which is the metric of an audit."""
        return len(self.findings)

    def to_json(self) -> dict[str, Any]:
        """The report as plain JSON values."""
        kinds = Counter(finding.kind for finding in self.findings)
        return {
            "sound": self.is_sound,
            "mismatches": self.mismatches,
            "kinds": {kind: kinds[kind] for kind in KINDS if kinds[kind]},
            "counts": vars(self.counts),
            "findings": [vars(finding) for finding in self.findings],
        }
