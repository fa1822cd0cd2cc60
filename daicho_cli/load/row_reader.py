"""Rows of a file: a JSON array, or NDJSON, which is read as a stream. Each row has its line."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from daicho.runtime.exact_json import build_object, find_inexact, mark_number, refuse_constant

ARRAY = b"["
_BYTE_ORDER_MARK = "\ufeff"
HOOKS: dict[str, Any] = {
    "object_pairs_hook": build_object,
    "parse_constant": refuse_constant,
    "parse_float": mark_number,
}
"""How the parser reads what it would change in silence."""
_BLANK = re.compile(r"[ \t\r\n]*")


@dataclass(frozen=True)
class NumberedRow:
    """One row: its line, its values or its problem, and the position after it in the file.

    ``field``: the one that the problem is about.
    """

    line: int
    end: int
    end_line: int
    values: dict[str, Any] | None
    raw: str = ""
    problem: str = ""
    field: str | None = None


def read_rows(path: Path, start: int = 0, line: int = 1) -> Iterator[NumberedRow]:
    """The rows of a file from a position, the ``end`` of an earlier row.

    Positions are bytes in NDJSON, and characters in a JSON array.
    """
    return _read_array(path, start, line) if is_array(path) else _read_lines(path, start, line)


def is_array(path: Path) -> bool:
    """Whether the file holds one JSON array."""
    with path.open("rb") as file:
        return file.read(64).lstrip(b"\xef\xbb\xbf \t\r\n").startswith(ARRAY)


def _read_lines(path: Path, start: int, line: int) -> Iterator[NumberedRow]:
    with path.open("rb") as file:
        file.seek(start)
        for number, content in enumerate(file, line):
            start += len(content)
            text = content.decode("utf-8", "backslashreplace").strip()
            text = text.removeprefix(_BYTE_ORDER_MARK)
            if text:
                yield _parse_row(number, start, text, valid=_is_utf8(content))


def _read_array(path: Path, start: int, line: int) -> Iterator[NumberedRow]:
    # Only a whole array is valid JSON, so it is read whole: NDJSON is the format for big files.
    text = path.read_text(encoding="utf-8", errors="surrogateescape")
    decoder = json.JSONDecoder(**HOOKS)
    position, separator = (start, ",") if start else (text.index("["), "[")
    line = line if start else text.count("\n", 0, position) + 1
    while True:
        sign = _skip_blanks(text, position)
        if text[sign : sign + 1] == "]" and not text[sign + 1 :].strip():
            return
        begin = _skip_blanks(text, sign + 1)
        if separator == "[" and text[begin : begin + 1] == "]" and not text[begin + 1 :].strip():
            return
        line += text.count("\n", position, begin)
        try:
            if text[sign : sign + 1] != separator:
                raise ValueError(f"no {separator!r} between rows")
            values, position = decoder.raw_decode(text, begin)
        except (ValueError, RecursionError) as error:
            # The start of the next row is unknown, so the rest of the file is one rejected row.
            problem = f"not JSON, and the rest of the file cannot be read: {error}"
            yield NumberedRow(line, len(text), line, None, text[begin : begin + 1000], problem)
            return
        end_line = line + text.count("\n", begin, position)
        yield _check_row(line, position, end_line, values, text[begin:position])
        line, separator = end_line, ","


def _skip_blanks(text: str, position: int) -> int:
    match = _BLANK.match(text, position)
    return match.end() if match else position


def _parse_row(line: int, end: int, text: str, *, valid: bool) -> NumberedRow:
    if not valid:
        return NumberedRow(line, end, line + 1, None, text, "not UTF-8")
    try:
        values = json.loads(text, **HOOKS)
    except (ValueError, RecursionError) as error:
        return NumberedRow(line, end, line + 1, None, text, f"not JSON: {error}")
    return _check_row(line, end, line + 1, values, text)


def _check_row(line: int, end: int, end_line: int, values: Any, text: str) -> NumberedRow:
    if not isinstance(values, dict):
        return NumberedRow(line, end, end_line, None, text, "no JSON object")
    inexact = find_inexact(values)
    if inexact is not None:
        path = ".".join(map(str, inexact.path))
        return NumberedRow(line, end, end_line, None, text, str(inexact), path)
    return NumberedRow(line, end, end_line, values, text)


def _is_utf8(content: bytes) -> bool:
    try:
        content.decode()
    except UnicodeDecodeError:
        return False
    return True
