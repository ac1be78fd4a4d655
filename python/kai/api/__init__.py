"""Kubernetes and KAI as data: keys, defaults, times, documents. No I/O."""
