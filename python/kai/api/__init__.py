"""The data of Kubernetes and KAI: keys, defaults, times, documents. No I/O."""
