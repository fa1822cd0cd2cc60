"""Compiled declarations as plain data: every generation of them, and the lock file."""

from daicho.plan.decisions import NO_DECISIONS as NO_DECISIONS
from daicho.plan.decisions import Decisions as Decisions
from daicho.plan.ledger import FieldPlan as FieldPlan
from daicho.plan.ledger import Generation as Generation
from daicho.plan.ledger import Ledger as Ledger
from daicho.plan.ledger import NewerGenerationError as NewerGenerationError
from daicho.plan.ledger import UnknownEntityError as UnknownEntityError
from daicho.plan.lockfile import append_generations as append_generations
from daicho.plan.lockfile import check_locked as check_locked
from daicho.plan.model import AggregatePlan as AggregatePlan
from daicho.plan.model import Condition as Condition
from daicho.plan.model import CounterPlan as CounterPlan
from daicho.plan.model import EntityPlan as EntityPlan
from daicho.plan.model import ExpiryPlan as ExpiryPlan
from daicho.plan.model import KeyPlan as KeyPlan
from daicho.plan.model import ListingPlan as ListingPlan
from daicho.plan.model import Part as Part
from daicho.plan.model import RetiringPlan as RetiringPlan
from daicho.plan.model import RollupMode as RollupMode
from daicho.plan.model import SearchPlan as SearchPlan
from daicho.plan.model import ThroughPlan as ThroughPlan
from daicho.plan.model import TimeBucket as TimeBucket
from daicho.plan.model import VersionMode as VersionMode
from daicho.runtime.settings import LOCK_FILE as LOCK_FILE
from daicho.runtime.settings import LOCK_FILE_NAME as LOCK_FILE_NAME
