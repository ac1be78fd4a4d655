"""/explain/NAMESPACE/NAME: what a pod or a pod group waits for, for callers who may see it.

    server = ExplainServer(client, options, questions)
    await server.start(":8082")                # only these pages: it has a port of its own

A caller needs a token of the cluster, and the right to get the pod (of a group: to get the group,
or to list the pods of its namespace). Names of other groups appear only if the caller may list the
pods of their namespaces. The text is for people; ?format=json, or the header Accept, gives JSON.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from aiohttp import web

from kai.api import times
from kai.errors import InvalidInputError, RefusedError, UnreachableError
from kai.live.explaining import pod_layers
from kai.live.explaining.pod_layers import Layer, PodReport
from kai.service.callers import Caller, Callers
from kai.service.explaining.questions import NotNowError
from kai.service.explaining.reading import GroupFacts, MayList, Reader
from kai.service.pages import addresses_in, listen_on

if TYPE_CHECKING:
    from kai.k8s.client import Client
    from kai.service.explaining.questions import Questions
    from kai.service.options import Options

OPTION = "--explain-address"
USAGE = "ask for /explain/NAMESPACE/POD or /explain/NAMESPACE/GROUP, with a bearer token\n"
_NO_TOKEN = "a valid bearer token of the cluster is needed, as that of kubectl create token\n"


class ExplainServer:
    """Lives on the event loop of the service."""

    def __init__(self, client: Client, options: Options, questions: Questions) -> None:
        self._callers = Callers(client)
        self._reader = Reader(client, options, questions)
        self._reserving = options.resource_reservation_namespace
        self._runner: web.AppRunner | None = None
        self.port = 0

    async def start(self, listen: str) -> None:
        """Serves at "host:port,...". Raises InvalidInputError if that is not possible."""
        addresses = addresses_in(OPTION, listen)
        app = web.Application()
        app.router.add_get("/explain/{namespace}/{name}", self._page)
        app.router.add_get("/", self._usage)
        self._runner = web.AppRunner(app, access_log=None)
        await self._runner.setup()
        try:
            self.port = await listen_on(self._runner, OPTION, addresses)
        except InvalidInputError:
            await self.stop()
            raise

    async def stop(self) -> None:
        if self._runner is not None:
            await self._runner.cleanup()
            self._runner = None

    async def _usage(self, _: web.Request) -> web.Response:
        return web.Response(text=USAGE)

    async def _page(self, request: web.Request) -> web.Response:
        as_json = _wants_json(request)
        if as_json is None:
            return web.Response(status=400, text="format must be text or json\n")
        namespace, name = request.match_info["namespace"], request.match_info["name"]
        try:
            caller = await self._callers.of(request.headers)
            if caller is None:
                headers = {"WWW-Authenticate": "Bearer"}
                return web.Response(status=401, text=_NO_TOKEN, headers=headers)
            found, is_allowed = await self._find(caller, namespace, name)
        except NotNowError as error:
            return web.Response(status=503, text=f"{error}\n", headers={"Retry-After": "1"})
        except (RefusedError, UnreachableError) as error:
            text = f"the scheduler gets no answer from the API server: {error}\n"
            return web.Response(status=502, text=text)
        if not is_allowed:
            text = f"user {caller.name} may not get pod or pod group {namespace}/{name}\n"
            return web.Response(status=403, text=text)
        if found is None:
            text = f"there is no pod or pod group {namespace}/{name}\n"
            return web.Response(status=404, text=text)
        if as_json:
            return web.json_response(found)
        return web.Response(text=_text_of(found))

    async def _find(
        self, caller: Caller, namespace: str, name: str
    ) -> tuple[dict[str, Any] | None, bool]:
        """The answer (None: there is no such object), and whether the caller may have it. A caller
        without the right does not learn whether the object exists."""
        may = self._callers.may

        async def may_list(of: str) -> bool:
            return await may(caller, "list", "Pod", of)

        sees_pod = await may(caller, "get", "Pod", namespace, name)
        if sees_pod:
            facts = await self._reader.pod(namespace, name, may_list)
            if facts is not None:
                report = pod_layers.report_of(facts)
                return (await self._cut(report, caller, may_list)).to_dict(), True
        sees_group = await may(caller, "get", "PodGroup", namespace, name)
        if sees_group or await may_list(namespace):
            group = await self._reader.group(namespace, name, may_list)
            if group is not None:
                return _of_group(group), True
            return None, True
        return None, sees_pod

    async def _cut(self, report: PodReport, caller: Caller, may_list: MayList) -> PodReport:
        """Without the layers about objects that the caller may not read."""
        hidden = set[str]()
        named = {each.name for each in report.layers}
        if "node" in named and not await self._callers.may(caller, "get", "Node"):
            hidden.add("node")
        if "gpu_reservations" in named and not await may_list(self._reserving):
            hidden.add("gpu_reservations")
        return replace(report, layers=tuple(x for x in report.layers if x.name not in hidden))


def _wants_json(request: web.Request) -> bool | None:
    """None: the format is unknown."""
    form = request.query.get("format")
    if form is None:
        return "application/json" in request.headers.get("Accept", "")
    return {"json": True, "text": False}.get(form)


def _of_group(facts: GroupFacts) -> dict[str, Any]:
    verdict = facts.verdict
    plan = [("why" if number == 0 else "", each) for number, each in enumerate(verdict.why)]
    layers = (
        pod_layers.layer_of_queues(facts.queues),
        Layer("plan", "", tuple(plan)) if plan else None,
    )
    first = " ".join(verdict.why[:2]) or f"{facts.name} is in no plan yet."
    return {
        "pod_group": facts.name,
        "now": times.to_text(facts.now_ns),
        "verdict": verdict.group.verdict if verdict.group is not None else "",
        "layers": {each.name: each.to_data() for each in layers if each is not None},
        "explanation": first,
        "notes": [],
    }


def _text_of(found: dict[str, Any]) -> str:
    from kai.engine import text

    name = found.get("pod") or found["pod_group"]
    lines = [*text.wrap(found["explanation"], 100), ""]
    tables = pod_layers.tables_of(pod_layers.layers_in(found["layers"]), found["explanation"])
    return "\n".join(lines) + text.to_text(f"{name} at {found['now']}", tables) + "\n"
