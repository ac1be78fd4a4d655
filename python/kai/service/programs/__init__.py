"""The small programs of one pod each: they hold no lease and plan nothing."""
