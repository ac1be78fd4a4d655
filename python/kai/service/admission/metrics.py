"""The metrics of `kai run admission`.

Every combination of labels exists from the start, so another thread may read them.
"""

from __future__ import annotations

from collections.abc import Iterator

import kai
from kai.api.webhooks import WEBHOOKS
from kai.service.metrics.metrics import of_process
from kai.service.metrics.series import Counter, Gauge, Histogram, Series, snapshots, text_of

_BOUNDS = tuple(0.0001 * 2**k for k in range(14))


class AdmissionMetrics:
    def __init__(self, namespace: str = "kai") -> None:
        prefix = f"{namespace}_"
        self._build = Gauge(f"{prefix}build_info", "1", ("version",))
        self._build.set(1, kai.__version__)
        self._reviews = Counter(
            f"{prefix}admission_reviews_total",
            "Reviewed objects, by kind and answer",
            ("kind", "webhook", "allowed"),
        )
        self._seconds = Histogram(
            f"{prefix}admission_review_seconds",
            "Time from a review that was read to its answer",
            ("kind", "webhook"),
            bounds=_BOUNDS,
        )
        self.ends = Gauge(
            f"{prefix}admission_certificate_end_timestamp_seconds",
            "When the certificate in use ends, in seconds since 1970; 0: there is none",
        )
        self.ends.set(0)
        for each in WEBHOOKS:
            webhook = _name_of(mutates=each.mutates)
            self._seconds.of(each.kind, webhook)
            for allowed in (True, False):
                self._reviews.add(each.kind, webhook, str(allowed).lower(), by=0.0)
        self._process = of_process()

    def __iter__(self) -> Iterator[Series]:
        """The families without those of the process."""
        return iter((self._build, *self.of_reviews()))

    def of_reviews(self) -> tuple[Series, ...]:
        """The families that only this program has."""
        return self._reviews, self._seconds, self.ends

    def reviewed(self, kind: str, *, mutates: bool, allowed: bool, took: float) -> None:
        webhook = _name_of(mutates=mutates)
        self._reviews.add(kind, webhook, str(allowed).lower())
        self._seconds.observe(took, kind, webhook)

    async def page(self) -> bytes:
        return text_of([*snapshots(self), *self._process()])


def _name_of(*, mutates: bool) -> str:
    return "mutating" if mutates else "validating"
