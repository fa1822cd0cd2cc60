"""Settings of tokens, CORS and the custom domain name."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit

from daicho.cdk.context_options import ContextReader
from daicho.runtime.token_claims import (
    GROUPS_CLAIM,
    MACHINE_ROLES_CLAIM,
    ROLE,
    TENANT,
    TENANT_CLAIM,
)

MAX_AUDIENCES = 50
"""API Gateway Developer Guide, "Quotas for configuring and running an HTTP API"."""
OWN_AUDIENCES = 2
"""Of those, the client of users' programs and that of the console."""
MAX_SCOPES = 100
"""Of one resource server. Source: "Quotas in Amazon Cognito", Amazon Cognito Developer Guide."""
CUSTOM_ATTRIBUTE_PREFIX = "custom:"
"""The beginning of the claims of a user pool's custom attributes."""
WRITABLE_CLAIMS = frozenset(
    {
        *("address", "birthdate", "email", "family_name", "gender", "given_name", "locale"),
        *("middle_name", "name", "nickname", "phone_number", "picture", "preferred_username"),
        *("profile", "updated_at", "website", "zoneinfo"),
    }
)
"""Standard attributes of a user pool, which an app client may allow its users to change.

Source: Amazon Cognito Developer Guide, "Working with user attributes".
"""

_CLAIM = re.compile(r"[\w.:/~-]{1,128}", re.ASCII)
_ATTRIBUTE = re.compile(r"custom:[A-Za-z0-9_]{1,20}", re.ASCII)
_MACHINE = re.compile(r"[a-z][a-z0-9]{0,31}", re.ASCII)
_HOST = re.compile(r"(?=.{4,253}$)([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z]{2,63}", re.ASCII)
_ORIGIN = re.compile(r"https?://[a-z0-9.-]+(:[1-9][0-9]{0,4})?", re.ASCII)
_CERTIFICATE = re.compile(r"arn:aws[a-z-]*:acm:([a-z0-9-]+):\d{12}:certificate/[\w-]+", re.ASCII)
_ZONE = re.compile(r"Z[A-Z0-9]{1,31}", re.ASCII)
_ENDPOINT = re.compile(r"https://[a-zA-Z0-9.-]+(:[1-9][0-9]{0,4})?(/[\w.~/-]*)?", re.ASCII)
_DISCOVERY = "/.well-known/"
CONSOLE_OPTIONS = ("console_client", "authorize_url", "token_url", "logout_url", "revoke_url")
_DEFAULT_PORTS = {"http": ":80", "https": ":443"}


@dataclass(frozen=True, kw_only=True)
class Machine:
    """A program that calls the API without a user: an app client with a secret of its own.

    ``name``: lower-case letters and digits. ``roles``: as the groups of a user.
    """

    name: str
    tenant: str
    roles: tuple[str, ...] = ()

    def list_problems(self) -> Iterator[str]:
        """What is wrong with it."""
        if not _MACHINE.fullmatch(self.name):
            yield f"a machine is called {self.name!r}, not 1 to 32 of a-z and 0-9, a letter first"
        if not TENANT.fullmatch(self.tenant):
            yield f"machine {self.name}: {self.tenant!r} is no name of a tenant"
        wrong = [role for role in self.roles if not ROLE.fullmatch(role)]
        yield from (f"machine {self.name}: {role!r} is no name of a role" for role in wrong)


@dataclass(frozen=True, kw_only=True)
class CognitoPool:
    """A user pool in the stack signs the tokens.

    ``tenant_claim``: an attribute of the pool, which cannot be renamed later. ``access_tokens``:
    access tokens of users contain the tenant too, and not ID tokens alone. ``machines``: programs
    that get access tokens with client credentials; with any, access tokens of users contain it too.
    """

    tenant_claim: str = TENANT_CLAIM
    groups_claim: str = GROUPS_CLAIM
    access_tokens: bool = False
    machines: tuple[Machine, ...] = ()

    @property
    def has_trigger(self) -> bool:
        """Whether a function adds claims to access tokens."""
        return self.access_tokens or bool(self.machines)

    @property
    def groups_claims(self) -> tuple[str, ...]:
        """The claims with the roles of users and of machines."""
        return (self.groups_claim, MACHINE_ROLES_CLAIM)

    def list_problems(self) -> Iterator[str]:
        """What is wrong with it."""
        if not _ATTRIBUTE.fullmatch(self.tenant_claim):
            yield (
                f"tenant_claim is {self.tenant_claim!r}; in a user pool it is custom: and up to 20 "
                "letters, digits and underscores"
            )
        yield from _list_wrong_claims(self, "groups_claim")
        yield from _find_shared_claim(self)
        if (name := self.groups_claim) in WRITABLE_CLAIMS:
            yield f"groups_claim is {name!r}, which users can change; choose another claim"
        names = [machine.name for machine in self.machines]
        for machine in self.machines:
            yield from machine.list_problems()
        yield from (f"machine {n} is given twice" for n in {n for n in names if names.count(n) > 1})
        if len(names) > MAX_AUDIENCES - OWN_AUDIENCES:
            yield f"there are {len(names)} machines; at most {MAX_AUDIENCES - OWN_AUDIENCES}"
        scopes = {("tenant", m.tenant) for m in self.machines}
        scopes |= {("role", role) for m in self.machines for role in m.roles}
        if len(scopes) > MAX_SCOPES:
            yield f"machines have {len(scopes)} tenants and roles; Cognito takes {MAX_SCOPES}"


@dataclass(frozen=True, kw_only=True)
class OwnIssuer:
    """An OpenID Connect issuer of the team signs the tokens; the stack has no user pool.

    ``issuer``: exactly as the claim ``iss`` of its tokens. ``audience``: a token is accepted if its
    ``aud`` (or its ``client_id`` if it has no ``aud``) is one of these. ``console_client``: the
    public client with which the console signs people in by the authorization code flow with PKCE,
    and one of ``audience``; ``authorize_url``, ``token_url``, ``logout_url`` and ``revoke_url``
    (RFC 7009): the endpoints that it calls. Without the first two, the console has no login.
    """

    issuer: str
    audience: tuple[str, ...]
    tenant_claim: str
    groups_claim: str
    console_client: str | None = None
    authorize_url: str | None = None
    token_url: str | None = None
    logout_url: str | None = None
    revoke_url: str | None = None

    @property
    def groups_claims(self) -> tuple[str, ...]:
        """The claims with the roles of a caller."""
        return (self.groups_claim,)

    @property
    def console_environment(self) -> dict[str, str]:
        """How the console signs in, for the function that serves it."""
        given = {
            "CONSOLE_CLIENT": self.console_client,
            "CONSOLE_AUTHORIZE": self.authorize_url,
            "CONSOLE_TOKEN": self.token_url,
            "CONSOLE_LOGOUT": self.logout_url,
            "CONSOLE_REVOKE": self.revoke_url,
        }
        values = {name: value for name, value in given.items() if value}
        return {"CONSOLE_ISSUER": self.issuer, **values}

    def list_problems(self) -> Iterator[str]:
        """What is wrong with it."""
        yield from self._list_console_problems()
        if problem := _find_issuer_problem(self.issuer):
            yield f"issuer is {self.issuer!r}; {problem}"
        if not self.audience or not all(each.strip() for each in self.audience):
            yield "audience is empty: name what the tokens for this API have as aud or client_id"
        if len(self.audience) > MAX_AUDIENCES:
            yield f"audience has {len(self.audience)} entries; API Gateway takes {MAX_AUDIENCES}"
        yield from _list_wrong_claims(self, "tenant_claim", "groups_claim")
        yield from _find_shared_claim(self)

    def _list_console_problems(self) -> Iterator[str]:
        needed = [getattr(self, name) for name in CONSOLE_OPTIONS[:3]]
        if any((*needed, self.logout_url, self.revoke_url)) and not all(needed):
            yield (
                f"{', '.join(CONSOLE_OPTIONS[:3])} go together; logout_url and revoke_url need them"
            )
        if self.console_client and self.console_client not in self.audience:
            yield f"console_client is {self.console_client!r}, which is not in audience"
        for name in CONSOLE_OPTIONS[1:]:
            url = getattr(self, name)
            if url and not _ENDPOINT.fullmatch(url):
                yield f"{name} is {url!r}; it is an https URL without query and fragment"


Identity = CognitoPool | OwnIssuer
COGNITO = CognitoPool()


def name_claims(identity: Identity) -> dict[str, str]:
    """The environment variables with the names of the claims, for the functions that read them."""
    return {
        "TENANT_CLAIM": identity.tenant_claim,
        "GROUPS_CLAIMS": " ".join(identity.groups_claims),
    }


def _list_wrong_claims(identity: Identity, *fields: str) -> Iterator[str]:
    for field in fields:
        name = getattr(identity, field)
        if not isinstance(name, str) or not _CLAIM.fullmatch(name):
            yield f"{field} is {name!r}, which is not a valid claim name"


def _find_shared_claim(identity: Identity) -> Iterator[str]:
    """The value of a claim for both would give the users of tenant ``admin`` that role."""
    if identity.tenant_claim in identity.groups_claims:
        yield f"tenant_claim is {identity.tenant_claim!r}, which contains roles"


def _find_issuer_problem(issuer: str) -> str | None:
    """Why no token can have this issuer; None if one can."""
    try:
        parts = urlsplit(issuer)
        parts.port  # noqa: B018  # it is parsed here
    except ValueError:
        return "it is not a URL"
    if parts.scheme != "https" or not parts.hostname or issuer != issuer.strip():
        return "it is the https URL in the claim iss of a token"
    if parts.query or parts.fragment or parts.username or "?" in issuer or "#" in issuer:
        return "it has neither a query, a fragment nor a user"
    if _DISCOVERY in issuer:
        return f"leave {_DISCOVERY}… out: API Gateway appends it"
    return None


def get_origin(url: str) -> str:
    """The scheme, host and port of a URL."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}"


def list_origin_problems(origins: Sequence[str]) -> Iterator[str]:
    """Which origins no browser sends, or that mean every page."""
    for origin in origins:
        scheme, _, host = origin.partition("://")
        if "*" in origin:
            yield f"cors_origins has {origin!r}: list each origin, no pattern"
        elif not _ORIGIN.fullmatch(origin):
            yield f"cors_origins has {origin!r}; an origin is https://host, in lower case, no path"
        elif host.endswith(_DEFAULT_PORTS[scheme]):
            yield f"cors_origins has {origin!r}: a browser leaves the default port out"


def list_custom_domain_problems(
    domain: str | None, certificate: str | None, zone: str | None, region: str | None
) -> Iterator[str]:
    """What is wrong with a custom domain."""
    if bool(domain) != bool(certificate):
        yield "domain_name and certificate_arn go together"
    if zone and not domain:
        yield "hosted_zone_id needs domain_name"
    if domain and not _HOST.fullmatch(domain):
        yield f"domain_name is {domain!r}, no host name in lower case"
    found = _CERTIFICATE.fullmatch(certificate or "")
    if certificate and not found:
        yield f"certificate_arn is {certificate!r}, no ARN of an ACM certificate"
    if found and region and found[1] != region:
        yield f"the certificate is in {found[1]}; a Regional API needs one in {region}"
    if zone and not _ZONE.fullmatch(zone):
        yield f"hosted_zone_id is {zone!r}, which is not a hosted zone ID"


CLAIM_OPTIONS = ("tenant_claim", "groups_claim")
ISSUER_OPTIONS = ("issuer", "audience")
POOL_OPTIONS = ("access_tokens", "machines")


def read_identity(context: ContextReader) -> Identity:
    """Read who signs the tokens from the context options."""
    options = (*ISSUER_OPTIONS, *CLAIM_OPTIONS, *POOL_OPTIONS, *CONSOLE_OPTIONS)
    given = {name: value for name in options if (value := context(name))}
    claims = {name: str(given[name]) for name in CLAIM_OPTIONS if name in given}
    console = {name: str(given[name]) for name in CONSOLE_OPTIONS if name in given}
    if not given.keys() & set(ISSUER_OPTIONS):
        context.wrong += [f"{name} is for an issuer of your own" for name in console]
        access_tokens = context.read_boolean("access_tokens")
        machines = tuple(_read_machine(text, context) for text in context.read_list("machines"))
        return CognitoPool(**claims, access_tokens=access_tokens, machines=machines)
    needed = ("issuer", "audience", "tenant_claim", "groups_claim")
    context.wrong += [f"an issuer of your own needs {name}" for name in needed if name not in given]
    context.wrong += [
        f"{name} is for a user pool, not for an issuer" for name in POOL_OPTIONS if name in given
    ]
    if not set(needed) <= given.keys():
        return COGNITO
    return OwnIssuer(
        issuer=str(given["issuer"]), audience=context.read_list("audience"), **claims, **console
    )


def _read_machine(text: str, context: ContextReader) -> Machine:
    """A machine as ``name:tenant`` or ``name:tenant:role+role``."""
    name, tenant, roles = (*text.split(":", 2), "", "")[:3]
    if not tenant:
        context.wrong.append(
            f"machines has {text!r}; a machine is name:tenant or name:tenant:role+role"
        )
    return Machine(name=name, tenant=tenant, roles=tuple(filter(None, roles.split("+"))))
