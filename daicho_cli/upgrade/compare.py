"""Compare the descriptions that two versions made of a project.

``python -m daicho_cli.upgrade.compare OLD.json NEW.json OUT.json --programs FOLDER`` runs under
the newer version: it knows what both versions mean. It writes the changes and the sections of the
changelog. The arguments and the output are an interface between versions.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from daicho_cli.upgrade.api import compare_apis
from daicho_cli.upgrade.change import Change, sort_changes
from daicho_cli.upgrade.changelog import read_changelog, select_sections
from daicho_cli.upgrade.errors import UpgradeError
from daicho_cli.upgrade.generations import compare_generations
from daicho_cli.upgrade.resources import compare_resources
from daicho_cli.upgrade.template_diff import TemplateDiff, diff_templates

NO_TEMPLATE: Mapping[str, Any] = {"Resources": {}}


def compare_descriptions(
    before: Mapping[str, Any], after: Mapping[str, Any], programs: Path
) -> list[Change]:
    """All changes between two descriptions of one project, by area, the worst first.

    Raises:
        UpgradeError: the templates cannot be compared.
    """
    return sort_changes(
        [
            *compare_resources(dict(_diff_stacks(before, after, programs))),
            *compare_generations(before["ledger"], after["ledger"]),
            *compare_apis(before["api"], after["api"]),
        ]
    )


def _diff_stacks(
    before: Mapping[str, Any], after: Mapping[str, Any], programs: Path
) -> Iterator[tuple[str, TemplateDiff]]:
    for stage in after["templates"]:
        old, new = before["templates"].get(stage, {}), after["templates"][stage]
        for name in dict.fromkeys((*old, *new)):
            yield (
                name,
                diff_templates(old.get(name, NO_TEMPLATE), new.get(name, NO_TEMPLATE), programs),
            )


def main(arguments: Sequence[str] | None = None) -> int:
    """Write what differs; gives the exit status."""
    parser = argparse.ArgumentParser(prog="daicho_cli.upgrade.compare")
    parser.add_argument("before", type=Path)
    parser.add_argument("after", type=Path)
    parser.add_argument("file", type=Path)
    parser.add_argument("--programs", type=Path, required=True)
    options = parser.parse_args(arguments)
    before, after = (
        json.loads(file.read_text(encoding="utf-8")) for file in (options.before, options.after)
    )
    try:
        changes = compare_descriptions(before, after, options.programs)
    except UpgradeError as error:
        print(error, file=sys.stderr)  # noqa: T201  # the caller's only channel
        return 1
    sections = select_sections(read_changelog(), before["version"], after["version"])
    result = {
        "changes": [change.to_json() for change in changes],
        "changelog": [
            {"version": str(section.version), "text": section.text} for section in sections
        ],
    }
    options.file.write_text(json.dumps(result), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
