"""A page in a headless Chromium, through the DevTools protocol, for tests and measurements."""

import asyncio
import shutil
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp

CHROMIUM = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)


class Tab:
    """One page: its error messages, and its requests."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        self._socket = socket
        self._number = 0
        self._answers: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self.errors: list[str] = []
        self.requests: list[str] = []

    async def read(self) -> None:
        async for message in self._socket:
            found = message.json()
            if "id" in found:
                self._answers.pop(found["id"]).set_result(found)
            elif found["method"] == "Runtime.exceptionThrown":
                self.errors.append(str(found["params"]["exceptionDetails"]))
            elif found["method"] == "Log.entryAdded":
                self.errors.append(found["params"]["entry"]["text"])
            elif found["method"] == "Network.requestWillBeSent":
                self.requests.append(found["params"]["request"]["url"])

    async def call(self, method: str, **params: Any) -> dict[str, Any]:
        self._number += 1
        answer = self._answers[self._number] = asyncio.get_running_loop().create_future()
        await self._socket.send_json({"id": self._number, "method": method, "params": params})
        found = await answer
        assert "error" not in found, found
        result: dict[str, Any] = found["result"]
        return result

    async def value(self, expression: str) -> Any:
        """The value of a JavaScript expression; a promise is awaited."""
        found = await self.call(
            "Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True
        )
        assert "exceptionDetails" not in found, found
        return found["result"].get("value")

    async def key(self, key: str) -> None:
        for kind in ("keyDown", "keyUp"):
            await self.call("Input.dispatchKeyEvent", type=kind, key=key)
        await self.value("new Promise(requestAnimationFrame)")


@asynccontextmanager
async def opened(page: Path, *, dark: bool = False) -> AsyncIterator[Tab]:
    """The page, once it is drawn."""
    assert CHROMIUM is not None
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        process = await asyncio.create_subprocess_exec(
            CHROMIUM,
            *("--headless=new", "--no-sandbox", "--disable-gpu", "--remote-debugging-port=0"),
            *(f"--user-data-dir={folder}", "--window-size=1400,1000", "about:blank"),
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.DEVNULL,
        )
        try:
            port = Path(folder) / "DevToolsActivePort"
            while not (port.exists() and port.read_text().count("\n")):
                await asyncio.sleep(0.05)
            base = f"http://127.0.0.1:{port.read_text().split()[0]}"
            async with aiohttp.ClientSession() as session:
                async with session.get(f"{base}/json/list") as answer:
                    address = (await answer.json())[0]["webSocketDebuggerUrl"]
                async with session.ws_connect(address, max_msg_size=0) as socket:
                    tab = Tab(socket)
                    reading = asyncio.create_task(tab.read())
                    await _open(tab, page, dark)
                    yield tab
                    await socket.close()
                    await reading
        finally:
            process.terminate()
            await process.wait()


async def _open(tab: Tab, page: Path, dark: bool) -> None:
    for domain in ("Runtime", "Log", "Network", "Page"):
        await tab.call(f"{domain}.enable")
    scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
    await tab.call("Emulation.setEmulatedMedia", features=[scheme])
    await tab.call("Page.navigate", url=page.as_uri())
    while await tab.value("document.documentElement?.dataset.ready") != "yes":
        assert not tab.errors, tab.errors
        await asyncio.sleep(0.05)
