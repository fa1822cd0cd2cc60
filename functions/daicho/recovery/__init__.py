"""Recovery from a gap in the stream: what was lost is void, and derived state is made right."""
