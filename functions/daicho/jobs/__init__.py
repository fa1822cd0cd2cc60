"""Jobs: work that takes longer than a request, and is done in steps by a state machine.

What all kinds have in common: their record, the lease by which one process at a time works on it,
the steps, and the state machine. Each kind is in its own package: deletions and restores of tenants
in ``daicho.tenants``, rebuilds and purges in ``daicho.rebuild``, redrives in ``daicho.redrive``.
"""
