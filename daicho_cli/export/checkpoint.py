"""The progress of an export, in a file next to its output."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from daicho.storage.parallel_scan import ScanSegments
from daicho_cli.checkpoint import CheckpointError, CheckpointFile, Progress


@dataclass
class ExportProgress(Progress):
    """The progress of an export. ``end``: the length of the complete part of the output, in bytes.

    ``scanned``: the items that the scan has read, exported or not. ``units``: read units.
    """

    segments: ScanSegments
    end: int = 0
    items: int = 0
    scanned: int = 0
    units: float = 0.0
    finished: bool = False

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Self:
        """As in `Progress`."""
        return cls(**{**values, "segments": ScanSegments.from_json(values["segments"])})

    def to_json(self) -> dict[str, Any]:
        """As in `Progress`."""
        return {**super().to_json(), "segments": self.segments.to_json()}


def render_checkpoint_path(output: Path) -> Path:
    """The file with the progress of the export into ``output``."""
    return output.with_name(f"{output.name}.export.json")


def open_checkpoint(
    output: Path, request: Mapping[str, Any], segments: int, *, restart: bool = False
) -> CheckpointFile[ExportProgress]:
    """The checkpoint of an earlier export into ``output``, or a new one.

    ``restart`` ignores the existing files.

    Raises:
        CheckpointError: ``output`` is no output of this request, or has become shorter.
    """
    path, identity = render_checkpoint_path(output), {"asked": request}
    start = ExportProgress(ScanSegments.start(segments))
    if restart:
        return CheckpointFile(path, identity, start)
    if output.exists() and not path.exists():
        raise CheckpointError(f"{output} exists already, and is not the output of an export")
    mismatch = f"{output} is the output of an export of something else"
    checkpoint = CheckpointFile.open(path, identity, start, mismatch=mismatch)
    if (output.stat().st_size if output.exists() else 0) < checkpoint.progress.end:
        raise CheckpointError(f"{output} has become shorter since its export was interrupted")
    return checkpoint
