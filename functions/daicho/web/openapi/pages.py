"""The pages that describe the API: its OpenAPI document, a page to try it on, and the problems.

They need no token. The document is written when it is first asked for, and not at the start.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any

from aws_lambda_powertools.event_handler import Response

from daicho.web import openapi
from daicho.web.http import problem_types
from daicho.web.http.operation import Operation
from daicho.web.http.problems import HttpError

DOCS_PATH = "/docs"
DOCUMENT_PATH = "/openapi.json"
PUBLIC_PATHS = (DOCS_PATH, DOCUMENT_PATH, problem_types.PATH)
"""Paths that need no token: they describe the API. So do the paths below `PROBLEM_PAGES`."""
PROBLEM_PAGES = f"{problem_types.PATH}/"
HTML = "text/html; charset=utf-8"


class ApiPages:
    """The pages of one API. ``examples`` are those of the document, by entity."""

    def __init__(
        self, operations: Sequence[Operation], server: str, examples: Mapping[str, Any], title: str
    ) -> None:
        self._operations, self._server = operations, server
        self._examples, self._title = examples, title

    def list_routes(self) -> Mapping[str, Callable[..., Response[str]]]:
        """The functions that answer GET, by path."""
        return {
            DOCS_PATH: self.show_docs,
            DOCUMENT_PATH: self.show_document,
            problem_types.PATH: self.list_problems,
            f"{PROBLEM_PAGES}{{name}}": self.show_problem,
        }

    @cached_property
    def _document(self) -> str:
        return json.dumps(
            openapi.describe_operations(
                self._operations,
                server=self._server,
                examples=self._examples,
                title=self._title,
            )
        )

    def show_document(self) -> Response[str]:
        """The OpenAPI document."""
        return Response(200, "application/json", self._document, compress=True)

    def show_docs(self) -> Response[str]:
        """The page to read the document and to try the API."""
        return Response(200, HTML, openapi.render_page(self._document), compress=True)

    def list_problems(self) -> Response[str]:
        """The page of all problems."""
        return Response(200, HTML, problem_types.render_page() or "")

    def show_problem(self, name: str) -> Response[str]:
        """The page of one problem.

        Raises:
            HttpError: 404, there is no problem of that name.
        """
        page = problem_types.render_page(name)
        if page is None:
            raise HttpError(404, f"no problem is called {name}")
        return Response(200, HTML, page)
