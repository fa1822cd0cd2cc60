"""The infrastructure as CDK constructs, for a project's own app or for one that exists already.

It needs the extra ``cdk``: ``pip install 'daicho[cdk]'``. ::

    from daicho.cdk import STAGES, DaichoStack, Project

    DaichoStack(app, project=Project.find(Path(__file__).parent), settings=STAGES["dev"])
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from daicho.runtime.lazy_names import lazy_imports

if TYPE_CHECKING:
    from daicho.cdk.api_access import CognitoPool as CognitoPool
    from daicho.cdk.api_access import Machine as Machine
    from daicho.cdk.api_access import OwnIssuer as OwnIssuer
    from daicho.cdk.daicho_stack import Daicho as Daicho
    from daicho.cdk.daicho_stack import DaichoStack as DaichoStack
    from daicho.cdk.settings import STAGES as STAGES
    from daicho.cdk.settings import Settings as Settings
    from daicho.errors import DeclarationError as DeclarationError
    from daicho.errors import ProjectError as ProjectError
    from daicho.errors import SettingsError as SettingsError
    from daicho.project import Project as Project
    from daicho.runtime.tenant_limits import Limits as Limits

_NAMES = {
    "cdk.api_access": ("CognitoPool", "Machine", "OwnIssuer"),
    "cdk.daicho_stack": ("Daicho", "DaichoStack"),
    "cdk.settings": ("STAGES", "Settings"),
    "errors": ("DeclarationError", "ProjectError", "SettingsError"),
    "project": ("Project",),
    "runtime.tenant_limits": ("Limits",),
}
__all__ = sorted(name for names in _NAMES.values() for name in names)  # noqa: PLE0605
__getattr__ = lazy_imports("daicho", _NAMES)
