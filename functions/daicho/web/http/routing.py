"""Routes: which function answers a method and a path.

A path's variables match anything but a slash. They are not percent-decoded: an HTTP API has done it
(ADR 0043).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import cached_property

from daicho.web.http.operation import VARIABLE, Reply

RouteAnswerer = Callable[..., Reply]
"""Takes the request, and the path's variables by name."""


class PathPattern:
    """The pattern of a route's path, compiled for the first request that may match it.

    An instance of the API answers requests to some of its routes only.
    """

    def __init__(self, rule: str) -> None:
        self._rule = rule
        self.groups = len(VARIABLE.findall(rule))
        self._head = rule.partition("{")[0]
        self._slashes = rule.count("/")

    def match(self, path: str) -> re.Match[str] | None:
        """The match of a whole path, with the values of its variables; or None."""
        # A variable has no slash, so most paths differ in their beginning or their slashes.
        if not path.startswith(self._head) or path.count("/") != self._slashes:
            return None
        return self._pattern.match(path)

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        pattern, at = "", 0
        for variable in VARIABLE.finditer(self._rule):
            pattern += re.escape(self._rule[at : variable.start()]) + f"(?P<{variable[1]}>[^/]+)"
            at = variable.end()
        return re.compile(rf"{pattern}{re.escape(self._rule[at:])}\Z", re.DOTALL)


class Routes:
    """The routes of one API.

    A path without variables is found first; then the first that matches, one that begins with a
    variable last.

    No variable has a slash, so only the routes of as many slashes are tried, and of those only the
    routes that begin with the same word.
    """

    def __init__(self) -> None:
        self._fixed: dict[tuple[str, str], RouteAnswerer] = {}
        self._patterns: dict[tuple[str, int, str], list[tuple[PathPattern, RouteAnswerer]]] = {}

    def add(self, method: str, path: str, answer: RouteAnswerer) -> None:
        """Let a function answer the requests of a method to the paths of a pattern."""
        if "{" not in path:
            self._fixed.setdefault((method, path), answer)
            return
        word = _get_first_word(path)
        place = (method, path.count("/"), "" if word.startswith("{") else word)
        self._patterns.setdefault(place, []).append((PathPattern(path), answer))

    def find(self, method: str, path: str) -> tuple[RouteAnswerer, Mapping[str, str]] | None:
        """What answers a request, and the values of the path's variables."""
        fixed = self._fixed.get((method, path))
        if fixed is not None:
            return fixed, {}
        for word in (_get_first_word(path), ""):
            for pattern, answer in self._patterns.get((method, path.count("/"), word), ()):
                match = pattern.match(path)
                if match is not None:
                    return answer, match.groupdict()
        return None

    def list_methods(self, path: str) -> list[str]:
        """The methods that a path has. A HEAD request is answered wherever GET is."""
        methods = {method for method, fixed in self._fixed if fixed == path}
        for (method, *_), routes in self._patterns.items():
            if any(pattern.match(path) for pattern, _ in routes):
                methods.add(method)
        return sorted({*methods, "HEAD"} if "GET" in methods else methods)


def _get_first_word(path: str) -> str:
    return path.partition("/")[2].partition("/")[0]
