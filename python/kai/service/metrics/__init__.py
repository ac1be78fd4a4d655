"""The metrics of `kai run`, and the numbers of the planning thread."""

from kai.service.metrics.metrics import Metrics

__all__ = ["Metrics"]
