"""What a domain file writes: entities, fields and declarations, and the compiler of their plan."""
