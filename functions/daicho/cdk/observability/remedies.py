"""What to do about each alarm, in a sentence or two, by the section of the how-to page.

The descriptions of the alarms contain them, and so do the sections of
docs/how-to/respond-to-alarms.md, which a test compares.
"""

from __future__ import annotations

from collections.abc import Mapping

REMEDIES: Mapping[str, str] = {
    "project is late, archive is late": (
        "Read the log of the function. Act within 22 hours: then records are discarded."
    ),
    "records quarantined": "Fix the cause, deploy, then redrive the records.",
    "claims wait": "Fix the cause, deploy, then redrive the records.",
    "too many claims": "Deploy a fix or the previous code at once, then redrive the records.",
    "failure bucket": "Fix the cause, deploy, then redrive the records within 24 hours.",
    "redrive fails": "Read the log of redrive, then start the redrive again.",
    "project lost a payload, archive lost a payload": (
        "Restore the policy of the failure bucket, its key and the permissions of the function. "
        "Then rebuild, or verify the archive."
    ),
    "rollup does not run, rollup lags, rollup fails": (
        "Read the log of rollup for the tally. If it does not run, check its schedule and the "
        "concurrency of the account."
    ),
    "archive does not add up": "Handle the findings of the audit, then start another audit.",
    "archive is not audited": (
        "Read the log of audit. If a day is too large for one run, give the function more memory."
    ),
    "audit fails": "Wait for the run of the next hour. If it fails too, read the log of audit.",
    "a forgetting fails": "Read the log of forget: it names the objects and the tenants.",
    "a forgetting is overdue": "Read the log of forget, and check that its schedule is enabled.",
    "sweep does not run, sweep leaves marks": (
        "Check the schedule of sweep, and read its log for the items."
    ),
    "the table or an index is throttled": (
        "Find the hot key in the log of the function that is refused, then tune the throughput."
    ),
    "a function is throttled, concurrency is low": (
        "Request a higher quota of concurrent executions for the account."
    ),
    "a function fails": "Read the log of the function.",
    "a job failed": "Read the reason in the log of jobs, fix the cause, then start the job again.",
    "a rebuild is blocked": "Read the reason of the rebuild, and remove the cause.",
    "older generation written": (
        "Find out which code writes the older generation and end it. Check that a rebuild runs."
    ),
    "api answers 5xx": "Find the request in the access log, and its id in the log of the function.",
    "api answers 429": (
        "Read in the log of api whether the table refused requests. Otherwise raise the rate."
    ),
    "api is slow": "Look for throttling of the table and of api, then read the traces.",
}
