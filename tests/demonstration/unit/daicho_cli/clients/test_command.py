"""The programs that use clients of the demonstration pass the type checkers."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.typed_clients import (
    ROOT,
    check_python,
    check_typescript,
    copy_examples,
    generate,
)

EXAMPLES = ROOT / "examples/clients"


@pytest.fixture(autouse=True)
def in_an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_a_program_with_the_python_client_passes_mypy(tmp_path: Path) -> None:
    document = ROOT / "docs/reference/openapi.json"
    output = generate(
        "--document", document, "--name", "daicho-client", "--python", "clients/python"
    )
    assert output == "clients/python written\n"
    assert not Path("clients/typescript").exists()
    copy_examples(tmp_path, EXAMPLES / "contacts.py")
    program = Path("examples/clients/contacts.py")
    wrong = program.with_name("wrong.py")
    wrong.write_text(program.read_text("utf-8").replace("seconds=seconds", "secs=1"), "utf-8")
    with pytest.raises(AssertionError, match='Unexpected keyword argument "secs"') as failure:
        check_python(tmp_path, program, wrong, "clients/python/daicho_client/client.py")
    assert str(failure.value).count(": error:") == 1


def test_a_program_with_the_typescript_types_passes_tsc(tmp_path: Path) -> None:
    document = ROOT / "docs/reference/openapi.json"
    output = generate("--document", document, "--typescript", "clients/typescript/api.d.ts")
    assert output == "clients/typescript/api.d.ts written\n"
    assert not Path("clients/python").exists()
    copy_examples(tmp_path, EXAMPLES / "contacts.mts")
    program = Path("examples/clients/contacts.mts")
    wrong = program.with_name("wrong.mts")
    wrong.write_text(program.read_text("utf-8").replace("seconds }", "secs: seconds }"), "utf-8")
    with pytest.raises(AssertionError, match=r"'secs' does not exist") as failure:
        check_typescript(tmp_path, program, wrong)
    assert str(failure.value).count("error TS") == 1
