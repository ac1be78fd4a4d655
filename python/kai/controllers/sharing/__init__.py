"""Parts of GPUs: what a pod that shares a device needs in a cluster (spec 6 C53-C57)."""
