"""Authentication: a user pool whose tokens carry the tenant, and the app clients of machines."""

from __future__ import annotations

import hashlib
from typing import Any

from aws_cdk import Aws, Duration, Stack
from aws_cdk import aws_cognito as cognito
from aws_cdk import aws_lambda as lambda_
from constructs import Construct

from daicho.cdk.api_access import CUSTOM_ATTRIBUTE_PREFIX, CognitoPool, Machine, get_origin
from daicho.cdk.conventions import suppress_finding
from daicho.cdk.settings import Settings
from daicho.runtime.token_claims import OPERATOR, RESOURCE_SERVER, list_machine_scopes

ADMIN = "admin"
CONSOLE_HOURS = 12
"""How long a session of the console is renewed: a working day. Its tokens are in memory only."""
TENANT_LENGTH = 63
"""A pool cannot check the characters of an attribute, only its length."""


class Auth(Construct):
    """Only an administrator creates users and sets their tenant."""

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        settings: Settings,
        identity: CognitoPool,
        trigger: lambda_.Function | None,
    ) -> None:
        """Create the pool, its client for users, and one for each machine.

        ``trigger``: the function that adds claims to access tokens.
        """
        super().__init__(scope, id)
        self._settings = settings
        self._login_url: str | None = None
        tenant = identity.tenant_claim.removeprefix(CUSTOM_ATTRIBUTE_PREFIX)
        self.pool = self._create_pool(tenant, has_trigger=trigger is not None)
        # Its members may delete their tenant. Tokens carry their groups as cognito:groups.
        self._add_group("Admin", ADMIN, "Administrators of their tenant")
        # Its members may call the routes under /ops, about all tenants.
        self._add_group("Operator", OPERATOR, "Operators of the whole stack")
        # The tenant can be read and not written with a user's own token. (By default a client
        # may write every attribute, and anyone could move to another tenant.)
        email = cognito.ClientAttributes().with_standard_attributes(email=True)
        self._of_users: dict[str, Any] = {
            "id_token_validity": Duration.hours(settings.token_hours),
            "read_attributes": email.with_custom_attributes(tenant),
        }
        self._of_clients: dict[str, Any] = {
            "access_token_validity": Duration.hours(settings.token_hours),
            "prevent_user_existence_errors": True,
            "enable_token_revocation": True,
            "write_attributes": email,
        }
        self.client = self._add_client()
        if trigger:
            self.pool.add_trigger(
                cognito.UserPoolOperation.PRE_TOKEN_GENERATION_CONFIG,
                trigger,
                cognito.LambdaVersion.V3_0,
            )
        self.machines: dict[str, cognito.UserPoolClient] = {}
        self.token_url: str | None = None
        if identity.machines:
            self._add_machines(identity.machines)
        self._accept_findings()

    def _accept_findings(self) -> None:
        suppress_finding(
            self.pool,
            rule="COG2",
            reason="Programs sign in too, and have no second factor; people may set up one.",
        )
        suppress_finding(
            self.pool,
            rule="COG8",
            reason="The plan with threat protection is paid for each user; a choice of the "
            "operator, not of the example.",
        )

    def _create_pool(self, tenant: str, *, has_trigger: bool) -> cognito.UserPool:
        """The pool. ``tenant``: the name of the attribute with a user's tenant."""
        return cognito.UserPool(
            self,
            "Users",
            self_sign_up_enabled=False,
            sign_in_aliases=cognito.SignInAliases(username=True, email=True),
            account_recovery=cognito.AccountRecovery.EMAIL_ONLY,
            custom_attributes={
                tenant: cognito.StringAttribute(min_len=1, max_len=TENANT_LENGTH, mutable=False)
            },
            password_policy=cognito.PasswordPolicy(
                min_length=12,
                require_digits=True,
                require_lowercase=True,
                require_symbols=True,
                require_uppercase=True,
                temp_password_validity=Duration.days(3),
            ),
            mfa=cognito.Mfa.OPTIONAL,
            mfa_second_factor=cognito.MfaSecondFactor(otp=True, sms=False),
            # Claims of access tokens need this plan or the next one.
            feature_plan=cognito.FeaturePlan.ESSENTIALS if has_trigger else None,
            deletion_protection=self._settings.retain,
            removal_policy=self._settings.removal_policy,
        )

    def _add_group(self, id: str, name: str, description: str) -> None:
        cognito.CfnUserPoolGroup(
            self,
            id,
            user_pool_id=self.pool.user_pool_id,
            group_name=name,
            description=description,
        )

    def _add_client(self) -> cognito.UserPoolClient:
        """The client with which users sign in by their password."""
        settings = self._settings
        return self.pool.add_client(
            "Client",
            # USER_PASSWORD_AUTH is enabled at stage local only. ADMIN_USER_PASSWORD_AUTH requires
            # AWS credentials.
            auth_flows=cognito.AuthFlow(
                user_password=settings.stage == "local",
                admin_user_password=settings.stage != "local",
                user_srp=True,
            ),
            generate_secret=False,
            disable_o_auth=True,
            refresh_token_validity=Duration.days(30),
            **self._of_users,
            **self._of_clients,
        )

    @property
    def outputs(self) -> dict[str, str]:
        """What a client needs to sign in."""
        machines = {
            f"Machine{name.capitalize()}ClientId": client.user_pool_client_id
            for name, client in self.machines.items()
        }
        return {
            "UserPoolId": self.pool.user_pool_id,
            "UserPoolClientId": self.client.user_pool_client_id,
            **({"TokenUrl": self.token_url} if self.token_url else {}),
            **machines,
        }

    def add_console(self, url: str) -> tuple[cognito.UserPoolClient, dict[str, str]]:
        """Create the client of the console, whose address is ``url``, and its login pages.

        Returns:
            the client, and the variables of the function that serves the console.
        """
        client = self.pool.add_client(
            "Console",
            generate_secret=False,  # a page keeps no secret: the code has a proof key instead
            o_auth=cognito.OAuthSettings(
                flows=cognito.OAuthFlows(authorization_code_grant=True),
                scopes=[cognito.OAuthScope.OPENID],
                callback_urls=[url],
                logout_urls=[url],
            ),
            # Cognito refuses less than the validity of the ID token.
            refresh_token_validity=Duration.hours(max(CONSOLE_HOURS, self._settings.token_hours)),
            **self._of_users,
            **self._of_clients,
        )
        _refuse_passwords(client)
        login = self._get_login_url()
        region, pool_id = Stack.of(self).region, self.pool.user_pool_id
        if self._settings.stage != "local":  # the local AWS has no branding
            # Without a style of its own, the client's login pages are "unavailable".
            cognito.CfnManagedLoginBranding(
                self,
                "Branding",
                user_pool_id=self.pool.user_pool_id,
                client_id=client.user_pool_client_id,
                use_cognito_provided_values=True,
            )
        return client, {
            "CONSOLE_CLIENT": client.user_pool_client_id,
            # As the authorizer builds it; the local AWS has no attribute ProviderURL.
            "CONSOLE_ISSUER": f"https://cognito-idp.{region}.amazonaws.com/{pool_id}",
            "CONSOLE_AUTHORIZE": f"{login}/oauth2/authorize",
            "CONSOLE_TOKEN": f"{login}/oauth2/token",
            "CONSOLE_LOGOUT": f"{login}/logout",
            "CONSOLE_REVOKE": f"{login}/oauth2/revoke",
        }

    def _get_login_url(self) -> str:
        """The address of the pool's endpoints for tokens and of its login pages.

        It is a domain of the pool, which is created when it is first asked for. The local AWS
        needs none: it has them at its own address.
        """
        if self._login_url is None:
            prefix = _name_domain_prefix(self._settings.full_name)
            self._login_url = (
                get_origin(self._settings.address)
                if self._settings.stage == "local"
                else self.pool.add_domain(
                    "Domain",
                    cognito_domain=cognito.CognitoDomainOptions(domain_prefix=prefix),
                    managed_login_version=cognito.ManagedLoginVersion.NEWER_MANAGED_LOGIN,
                ).base_url()
            )
        return self._login_url

    def _add_machines(self, machines: tuple[Machine, ...]) -> None:
        """Create the scopes, and a client for each machine."""
        self.token_url = f"{self._get_login_url()}/oauth2/token"
        names = {name: None for m in machines for name in list_machine_scopes(m.tenant, m.roles)}
        scopes = {
            name: cognito.ResourceServerScope(scope_name=name, scope_description=name)
            for name in names
        }
        server = self.pool.add_resource_server(
            "Machines", identifier=RESOURCE_SERVER, scopes=[*scopes.values()]
        )
        for machine in machines:
            allowed = list_machine_scopes(machine.tenant, machine.roles)
            self.machines[machine.name] = self._add_machine(
                machine.name,
                [cognito.OAuthScope.resource_server(server, scopes[name]) for name in allowed],
            )

    def _add_machine(self, name: str, scopes: list[cognito.OAuthScope]) -> cognito.UserPoolClient:
        client = self.pool.add_client(
            f"Machine{name.capitalize()}",
            user_pool_client_name=f"{self._settings.full_name}-{name}",
            generate_secret=True,
            o_auth=cognito.OAuthSettings(
                flows=cognito.OAuthFlows(client_credentials=True), scopes=scopes
            ),
            **self._of_clients,
        )
        _refuse_passwords(client)
        return client


def _refuse_passwords(client: cognito.UserPoolClient) -> None:
    """Let no program sign users in through a client: without a list, Cognito lets each do so."""
    resource = client.node.default_child
    if not isinstance(resource, cognito.CfnUserPoolClient):
        raise TypeError(f"{client.node.path} is no client of a user pool")
    resource.explicit_auth_flows = ["ALLOW_REFRESH_TOKEN_AUTH"]


def _name_domain_prefix(full_name: str) -> str:
    """The domain prefix of the pool: unique among all accounts of a Region, as Cognito requires.

    It begins with ``machines``, the first that used it: another prefix would replace the domain.
    It does not contain the name of the project, because Cognito refuses a prefix that contains
    ``aws``, ``amazon`` or ``cognito`` ("Domain cannot contain reserved word",
    https://github.com/aws-solutions/content-analysis-on-aws/issues/8).
    """
    digest = hashlib.sha256(full_name.encode()).hexdigest()[:12]
    return f"machines-{Aws.ACCOUNT_ID}-{digest}"
