"""Articles (by copy) and manuals (by pointer) on the deployed stack: seed 002's version control."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest

from tests.demonstration.e2e.delivery import delivered
from tests.e2e.api import client, everything

MOST = 12
EDITORS = 4


@pytest.mark.parametrize("path", ["/articles", "/manuals"])
def test_versions_of_both_kinds(stack: dict[str, Any], path: str) -> None:
    with client(stack, "acme") as api, client(stack, "globex") as other:
        url = f"{path}/e2e%23%20{path[1:]}"
        made = api.put(url, json={"title": "Draft", "text": "1"}, headers={"If-None-Match": "*"})
        assert (made.status_code, made.headers["etag"]) == (201, '"1"'), made.text
        for number in range(2, MOST + 1):
            body = {"title": f"Title {number}", "text": str(number)}
            etag = {"If-Match": f'"{number - 1}"'}
            answer = api.put(url, json=body, headers=etag | {"Idempotency-Key": f"{url}{number}"})
            assert (answer.status_code, answer.headers["etag"]) == (200, f'"{number}"'), answer.text
        again = api.put(url, json=body, headers=etag | {"Idempotency-Key": f"{url}{MOST}"})
        assert (again.status_code, again.json()) == (200, answer.json())
        assert api.put(url, json=body, headers={"If-Match": '"1"'}).status_code == 412
        assert api.get(url).json() == answer.json()

        versions = everything(api, f"{url}/versions", limit=5)
        assert [each["version"] for each in versions] == list(range(MOST, 0, -1))
        assert [each["text"] for each in versions] == [str(n) for n in range(MOST, 0, -1)]
        assert {each["created_at"] for each in versions} == {made.json()["created_at"]}
        first = api.get(f"{url}/versions/1")
        assert (first.json(), first.headers["etag"]) == (made.json(), '"1"')
        assert api.get(f"{url}/versions/{MOST + 1}").status_code == 404
        assert api.get(f"{url}/versions/0").status_code == 422
        for reading in ("", "/versions", "/versions/1"):
            assert other.get(url + reading).status_code == 404

        _editors_at_once(api, url)

        back = api.post(f"{url}/versions/1/restore", headers={"If-Match": f'"{MOST + EDITORS}"'})
        assert (back.status_code, back.json()["text"]) == (200, "1"), back.text
        assert back.json()["version"] == MOST + EDITORS + 1
        assert api.delete(url).status_code == 204
        assert api.get(url).status_code == 404
        assert len(everything(api, f"{url}/versions")) == MOST + EDITORS + 1
        back = api.post(f"{url}/versions/{MOST}/restore")
        assert back.json()["version"] == MOST + EDITORS + 3
        listed = {"title": f"title {MOST}"} if path == "/articles" else {}
        delivered(api)
        assert everything(api, path, **listed) == [back.json()]

        forgotten = api.delete(f"{url}/versions").json()
        assert forgotten == {"removed": MOST + EDITORS + 2, "done": True}
        assert [each["version"] for each in everything(api, f"{url}/versions")] == [
            MOST + EDITORS + 3
        ]
        assert api.delete(url).status_code == 204


def _editors_at_once(api: httpx.Client, url: str) -> None:
    """Of those who name the same version one writes; those who name none all do."""

    def patch(editor: int, **headers: str) -> int:
        answer = api.patch(url, json={"text": f"editor {editor}"}, headers=headers)
        assert answer.status_code in (200, 412), answer.text
        return answer.status_code

    with ThreadPoolExecutor(EDITORS) as pool:
        known = {"If-Match": f'"{MOST}"'}
        answers = list(pool.map(lambda editor: patch(editor, **known), range(EDITORS)))
        assert sorted(answers) == [200] + [412] * (EDITORS - 1)
        assert list(pool.map(patch, range(EDITORS - 1))) == [200] * (EDITORS - 1)
    newest = everything(api, f"{url}/versions", limit=100)[:EDITORS]
    assert [each["version"] for each in newest] == list(range(MOST + EDITORS, MOST, -1))
    assert {each["text"] for each in newest[:-1]} == {f"editor {n}" for n in range(EDITORS - 1)}
