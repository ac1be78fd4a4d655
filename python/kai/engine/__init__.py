"""The Python face of a scheduling cycle: Cluster in, Scheduler, Plan out."""
