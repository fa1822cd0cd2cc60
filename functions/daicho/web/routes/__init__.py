"""From declarations to operations: which paths a domain gets, and what each of them does.

Each name is loaded on its first access (`runtime.lazy_names`): most commands need no routes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from daicho.runtime.lazy_names import lazy_imports

if TYPE_CHECKING:
    from daicho.web.routes.builder import build_operations as build_operations
    from daicho.web.routes.tenant.operations import build_admin_operations as build_admin_operations

__getattr__ = lazy_imports(
    __name__,
    {"builder": ("build_operations",), "tenant.operations": ("build_admin_operations",)},
)
