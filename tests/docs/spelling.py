"""The spelling check: codespell, with the committed list of words that it may not correct."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from tests.docs.pages import ROOT

HERE = Path(__file__).parent
CODESPELL = Path(sys.executable).parent / "codespell"


def find_misspellings(pages: Sequence[Path]) -> Iterator[str]:
    """The messages of codespell: file, line, word and correction."""
    if not pages:
        return  # codespell would check the working directory
    command = [CODESPELL, "--ignore-words", HERE / "spelling-exceptions.txt", *pages]
    done = subprocess.run(
        [str(part) for part in command], cwd=ROOT, capture_output=True, text=True, check=False
    )
    if done.returncode not in (0, 65):  # 65: misspellings were found
        raise RuntimeError(done.stderr)
    yield from done.stdout.splitlines()
