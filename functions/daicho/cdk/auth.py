"""Authentication: a user pool whose ID tokens carry the tenant."""

from __future__ import annotations

from aws_cdk import Duration
from aws_cdk import aws_cognito as cognito
from constructs import Construct

from daicho.cdk.nag_suppressions import suppress_finding
from daicho.cdk.settings import Settings

ADMIN = "admin"


class Auth(Construct):
    """Only an administrator creates users and sets their tenant."""

    def __init__(self, scope: Construct, id: str, *, settings: Settings) -> None:
        """Create the pool and its one client."""
        super().__init__(scope, id)
        self.pool = cognito.UserPool(
            self,
            "Users",
            self_sign_up_enabled=False,
            sign_in_aliases=cognito.SignInAliases(username=True, email=True),
            account_recovery=cognito.AccountRecovery.EMAIL_ONLY,
            custom_attributes={
                "tenant": cognito.StringAttribute(min_len=1, max_len=64, mutable=False)
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
            deletion_protection=settings.deletion_protection,
            removal_policy=settings.removal_policy,
        )
        # Its members may delete their tenant. Tokens carry their groups as cognito:groups.
        cognito.CfnUserPoolGroup(
            self,
            "Admin",
            user_pool_id=self.pool.user_pool_id,
            group_name=ADMIN,
            description="Administrators of their tenant",
        )
        # The tenant can be read and not written with a user's own token. (By default a client
        # may write every attribute, and anyone could move to another tenant.)
        self.client = self.pool.add_client(
            "Client",
            auth_flows=cognito.AuthFlow(user_password=True, user_srp=True),
            generate_secret=False,
            disable_o_auth=True,
            id_token_validity=Duration.hours(settings.id_token_hours),
            access_token_validity=Duration.hours(settings.id_token_hours),
            refresh_token_validity=Duration.days(30),
            prevent_user_existence_errors=True,
            enable_token_revocation=True,
            read_attributes=cognito.ClientAttributes()
            .with_standard_attributes(email=True)
            .with_custom_attributes("tenant"),
            write_attributes=cognito.ClientAttributes().with_standard_attributes(email=True),
        )
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
