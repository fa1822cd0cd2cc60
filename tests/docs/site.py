"""The built site, and its search."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from tests.docs.pages import ROOT

PYTHON = ROOT / ".local/docs/bin/python"
NODE = Path(sys.executable).parent / "node"
SEARCH = Path(__file__).parent / "site_search.js"


def build_site(folder: Path, configuration: Path = ROOT / "mkdocs.yml") -> str:
    """Build the site strictly; the warnings of the generator, and its exit status if not 0.

    Not with ``--quiet``: then warnings are neither printed nor counted.
    """
    done = subprocess.run(
        [str(part) for part in (
            *(PYTHON, "-m", "mkdocs", "build", "--strict"),
            *("--config-file", configuration, "--site-dir", folder),
        )],
        cwd=ROOT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )  # fmt: skip
    printed = [line for line in done.stdout.splitlines() if line and not line.startswith("INFO")]
    return "".join(f"{line}\n" for line in printed) + (
        f"exit {done.returncode}\n" if done.returncode else ""
    )


def search_site(site: Path, questions: list[str]) -> list[list[str]]:
    """The pages that the site's search finds for each question, best first, as paths in docs/."""
    done = subprocess.run(
        [str(NODE), str(SEARCH), str(site)],
        input=json.dumps(questions),
        capture_output=True,
        text=True,
        check=True,
    )
    results: list[list[str]] = json.loads(done.stdout)
    return [[page.removesuffix(".html") + ".md" for page in pages] for pages in results]
