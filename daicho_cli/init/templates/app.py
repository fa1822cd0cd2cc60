"""The CDK app: one stack, for the stage in the context (``-c stage=prod``)."""

import sys
from pathlib import Path

import aws_cdk as cdk

from daicho.cdk import (
    DaichoStack,
    DeclarationError,
    Project,
    ProjectError,
    Settings,
    SettingsError,
)

app = cdk.App(analytics_reporting=False)
try:
    DaichoStack(
        app,
        project=Project.find(Path(__file__).parent),
        settings=Settings.from_context(app.node.try_get_context),
    )
except (DeclarationError, ProjectError, SettingsError) as error:
    sys.exit(f"not deployed: {error}")
app.synth()
