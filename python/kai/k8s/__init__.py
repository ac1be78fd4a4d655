"""The client of a Kubernetes API server: the only package that does I/O with one."""
