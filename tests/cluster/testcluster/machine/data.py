"""ConfigMaps, Secrets and tokens that the containers of a pod use."""

import base64
from collections.abc import Mapping

from ..client import ApiError, Client, Object, path_of
from .errors import NotYetError


class Data:
    def __init__(self, api: Client, namespace: str) -> None:
        self._api, self._namespace = api, namespace

    async def of(self, kind: str, reference: Object) -> Mapping[str, bytes]:
        """The values of a ConfigMap or Secret by key. {}: it is optional and does not exist.

        Raises:
            NotYetError: it does not exist.
        """
        name = reference["name"]
        try:
            found = await self._api.get(path_of(kind, self._namespace, name))
        except ApiError as error:
            if error.status != 404:
                raise
            if reference.get("optional"):
                return {}
            raise NotYetError(f'{kind.lower()} "{name}" not found') from None
        if kind == "Secret":
            return {key: base64.b64decode(value) for key, value in found.get("data", {}).items()}
        return {key: value.encode() for key, value in found.get("data", {}).items()}

    async def value(self, kind: str, reference: Object) -> bytes | None:
        """The value of a key. None: it is optional and does not exist.

        Raises:
            NotYetError: it does not exist.
        """
        key, name = reference["key"], reference["name"]
        found = (await self.of(kind, reference)).get(key)
        if found is None and not reference.get("optional"):
            raise NotYetError(f"couldn't find key {key} in {kind} {self._namespace}/{name}")
        return found

    async def token(self, pod: Object, wanted: Object) -> str:
        """A token of the pod's service account, which ends with the pod. `wanted`: the source of a
        projected volume.

        Raises:
            NotYetError: the account does not exist, or the pod has just been deleted.
        """
        bound_to = {
            "apiVersion": "v1",
            "kind": "Pod",
            "name": pod["metadata"]["name"],
            "uid": pod["metadata"]["uid"],
        }
        spec = {
            "audiences": [wanted["audience"]] if "audience" in wanted else [],
            "expirationSeconds": wanted.get("expirationSeconds", 3600),
            "boundObjectRef": bound_to,
        }
        account = pod["spec"].get("serviceAccountName", "default")
        request = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": spec}
        path = path_of("ServiceAccount", self._namespace, account, "token")
        try:
            made = await self._api.post(path, request)
        except ApiError as error:
            if error.status != 404:
                raise
            raise NotYetError(error.message) from None
        return str(made["status"]["token"])
