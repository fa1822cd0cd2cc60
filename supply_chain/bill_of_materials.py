"""Bills of materials in CycloneDX: `make sbom`.

``deployed.cdx.json`` lists the packages of the Lambda layer and the scripts that the console has of
npm: all code of others that a stack runs or serves.
``development.cdx.json`` lists what builds, tests and deploys it, from all other lock files. The
same lock files give the same bytes.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from importlib import metadata
from uuid import NAMESPACE_URL, uuid5

from cyclonedx.contrib.license.factories import LicenseFactory
from cyclonedx.model import HashAlgorithm, HashType
from cyclonedx.model.bom import Bom
from cyclonedx.model.component import Component, ComponentType
from cyclonedx.output.json import JsonV1Dot6
from cyclonedx.spdx import fixup_id, is_expression
from packageurl import PackageURL

from daicho.runtime.version import VERSION
from supply_chain.locks import DEPLOYED, LAYER, NODE_LOCKS, PYTHON_LOCKS, ROOT, Pin, merge_pins

FOLDER = ROOT / "build/sbom"
BILLS: dict[str, tuple[str, ...]] = {
    "deployed": DEPLOYED,
    "development": tuple(lock for lock in (*PYTHON_LOCKS, *NODE_LOCKS) if lock != LAYER),
}
"""The lock files of each bill, by its name."""
_ALGORITHMS = {"sha256": HashAlgorithm.SHA_256, "sha512": HashAlgorithm.SHA_512}
_CLASSIFIER = "License :: OSI Approved :: "

FindLicences = Callable[[Pin], Sequence[str]]


def find_licences(pin: Pin) -> Sequence[str]:
    """The licences of a package: one SPDX expression or name, or all names that it states.

    A lock file of npm contains it. A package of PyPI states it in its metadata, which is read if
    this version is installed; otherwise nothing is found.
    """
    if pin.licence:
        return (pin.licence,)
    try:
        installed = metadata.distribution(pin.name)
    except metadata.PackageNotFoundError:
        return ()
    if installed.version != pin.version:
        return ()
    stated = installed.metadata
    for value in (stated["License-Expression"], stated["License"]):
        if value and (fixup_id(value) or is_expression(value)):
            return (value,)
    classified = [c for c in stated.get_all("Classifier", []) if c.startswith(_CLASSIFIER)]
    return [name.removeprefix(_CLASSIFIER) for name in classified] or [stated["License"] or ""]


def build_bill(name: str, pins: Sequence[Pin], find: FindLicences = find_licences) -> str:
    """The bill of materials of some packages as CycloneDX 1.6 in JSON."""
    licences = LicenseFactory()
    components: dict[str, Component] = {}
    for pin in pins:
        group, _, short = pin.name.rpartition("/")
        url = PackageURL(pin.registry, group or None, short, pin.version)
        components[url.to_string()] = Component(
            type=ComponentType.LIBRARY,
            group=group or None,
            name=short,
            version=pin.version,
            purl=url,
            bom_ref=url.to_string(),
            hashes=[HashType(alg=_ALGORITHMS[kind], content=value) for kind, value in pin.hashes],
            licenses=[licences.make_from_string(name) for name in find(pin) if name],
        )
    described = Component(
        type=ComponentType.APPLICATION, name=f"daicho-{name}", version=VERSION, bom_ref="daicho"
    )
    bill = Bom(
        components=components.values(), serial_number=uuid5(NAMESPACE_URL, repr((name, pins)))
    )
    bill.metadata.timestamp = datetime(1980, 1, 1, tzinfo=UTC)
    bill.metadata.component = described
    by_name: dict[str, list[Component]] = {}
    for pin, component in zip(pins, components.values(), strict=True):
        by_name.setdefault(pin.name, []).append(component)
        if any(user.startswith("-r ") for user in pin.required_by):
            bill.register_dependency(described, [component])
    for pin, component in zip(pins, components.values(), strict=True):
        for user in pin.required_by:
            for dependent in by_name.get(user, ()):
                bill.register_dependency(dependent, [component])
    text = JsonV1Dot6(bill).output_as_string(indent=2)
    content = json.loads(text)
    del content["metadata"]["timestamp"]
    return json.dumps(content, indent=2, ensure_ascii=False) + "\n"


def main() -> int:
    """Write all bills; print where they are."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name, locks in BILLS.items():
        pins = merge_pins(locks)
        file = FOLDER / f"{name}.cdx.json"
        file.write_text(build_bill(name, pins), "utf-8")
        sys.stdout.write(f"{file.relative_to(ROOT)}: {len(pins)} packages\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
