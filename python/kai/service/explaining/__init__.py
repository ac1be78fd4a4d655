"""/explain/NAMESPACE/POD of a running scheduler: what a pod waits for, for those who may see it."""

from kai.service.explaining.server import ExplainServer

__all__ = ["ExplainServer"]
