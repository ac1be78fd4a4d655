"""The objects that the webhooks' program reads and writes."""

import base64
from typing import Any

from fakes.api_server import ApiServer, Object
from fakes.http_server import FakeApi
from kai.install import admission

REGISTRATIONS = ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration")


class KeptObjects(ApiServer):
    """The objects of this API."""

    def __init__(self, api: FakeApi) -> None:
        super().__init__()
        api.objects = self

    def register(self, **options: Any) -> None:
        """Creates the registrations as the chart does."""
        self.put(*admission.registrations("kai-scheduler", **options))

    @property
    def webhooks(self) -> list[Object]:
        found = [each for kind in REGISTRATIONS for each in self.list(kind)]
        return [webhook for each in found for webhook in each["webhooks"]]

    @property
    def calls(self) -> list[Object]:
        """What the registrations call."""
        return [each["clientConfig"] for each in self.webhooks]

    @property
    def bundles(self) -> set[bytes]:
        """What the registrations trust."""
        return {base64.b64decode(each.get("caBundle", "")) for each in self.calls}

    @property
    def policies(self) -> set[str]:
        return {each["failurePolicy"] for each in self.webhooks}
