"""What the guard promises on a device, measured on a machine with a GPU in under eight minutes.

    python3 guard/device/check.py --json figures.json     # docs/internals/guard.md, "On a device"

It needs the library, kai_guard_device and, for the times, spin.fatbin and kai_guard_runtime
(tools/build.sh cuda kai_guard_cuda); PyTorch and JAX are used if this Python has them. The card
should have no other users: their memory would be counted as overshoot. After each check the file
with the figures is written again, so a run that is cut off leaves what it has. Exit status 1 if a
check failed.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(ROOT / "python"))

from kai.runtime.guarded import GuardedDevice, guarded  # noqa: E402

MIB = 1 << 20
OUT_OF_MEMORY = 2
# A request may take so much more than it asked for: the driver's page, and for a pool what it
# grows by.
SLACK = {"pool of the device": 64 * MIB, "own pool": 64 * MIB, "graph": 64 * MIB}
PAGE = 2 * MIB
# Measured and printed, but no promise: docs/internals/guard.md, "What does not count".
NOT_PROMISED = {"second context"}

Row = dict[str, Any]


class Skipped(Exception):
    """The check cannot be made here; the message has the reason."""


class Memory(ctypes.Structure):
    _fields_ = (
        ("total", ctypes.c_ulonglong),
        ("free", ctypes.c_ulonglong),
        ("used", ctypes.c_ulonglong),
    )


class Card:
    """The first device, as NVML has it: from outside, without the guard."""

    def __init__(self) -> None:
        self.nvml = ctypes.CDLL("libnvidia-ml.so.1")
        self._call("nvmlInit_v2")
        self.handle = ctypes.c_void_p()
        self._call("nvmlDeviceGetHandleByIndex_v2", 0, ctypes.byref(self.handle))
        text = ctypes.create_string_buffer(96)
        self._call("nvmlDeviceGetUUID", self.handle, text, len(text))
        self.uuid = text.value.decode()

    def _call(self, name: str, *arguments: Any) -> None:
        code = getattr(self.nvml, name)(*arguments)
        if code:
            raise OSError(f"{name} answered {code}")

    def memory(self) -> Memory:
        found = Memory()
        self._call("nvmlDeviceGetMemoryInfo", self.handle, ctypes.byref(found))
        return found

    def settled(self) -> int:
        """Used bytes once they no longer change: processes that have ended are gone."""
        last = -1
        for _ in range(50):
            now = int(self.memory().used)
            if now == last:
                return now
            last = now
            time.sleep(0.1)
        return last

    @contextlib.contextmanager
    def watched(self) -> Iterator[list[int]]:
        """The most that is used in the meantime, as the only element."""
        most, over = [0], threading.Event()

        def watch() -> None:
            while not over.is_set():
                most[0] = max(most[0], int(self.memory().used))
                time.sleep(0.002)

        thread = threading.Thread(target=watch, daemon=True)
        thread.start()
        try:
            yield most
        finally:
            over.set()
            thread.join()


@dataclass
class Machine:
    """Where things are, and until when there is time."""

    programs: Path
    library: Path
    image: Path
    launches: int
    end: float
    folder: Path
    card: Card = field(default_factory=Card)
    pods: int = 0

    def seconds(self, most: float) -> float:
        left = self.end - time.monotonic()
        if left < 5:
            raise Skipped("no time is left")
        return min(most, left)

    def program(self, name: str) -> str:
        path = self.programs / name
        if not path.exists():
            raise Skipped(f"{path} is not built")
        return str(path)

    def pod(self, limit: str = "0.5") -> Pod:
        self.pods += 1
        region = self.folder / f"region-{self.pods}"
        region.touch()
        return Pod(self, region, limit)


@dataclass
class Pod:
    """Processes with one share, counted in one file."""

    machine: Machine
    region: Path
    limit: str

    def environment(self, **more: str) -> dict[str, str]:
        return {
            **os.environ,
            "LD_PRELOAD": str(self.machine.library),
            "KAI_GUARD_REGION": str(self.region),
            "KAI_GUARD_LIMIT": self.limit,
            **more,
        }

    def figures(self) -> GuardedDevice:
        found = guarded(self.region)
        assert found, "the guard has made no file: was the library loaded?"
        return found[0]


class Failed(RuntimeError):
    """A program failed; `rows` is what it printed before."""

    def __init__(self, said: str, rows: list[Row]) -> None:
        super().__init__(said)
        self.rows = rows


def answers(command: list[str], environment: dict[str, str], seconds: float) -> list[Row]:
    """The objects that a program prints. Raises Failed."""
    done = subprocess.run(
        command, env=environment, capture_output=True, text=True, timeout=seconds, check=False
    )
    rows = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    if done.returncode:
        said = (done.stderr or done.stdout).strip()[-600:]
        raise Failed(f"{Path(command[0]).name} ended with {done.returncode}: {said}", rows)
    return rows


def bare() -> dict[str, str]:
    """An environment without the guard."""
    return {
        name: value
        for name, value in os.environ.items()
        if name != "LD_PRELOAD" and not name.startswith("KAI_GUARD_")
    }


# ---- the checks: each returns whether it is right, and its figures ------------------------------


def check_machine(machine: Machine) -> tuple[bool, Row]:
    memory = machine.card.memory()
    figures: Row = {"uuid": machine.card.uuid, "total": memory.total, "idle": memory.used}
    smi = shutil.which("nvidia-smi")
    if smi:
        query = "name,driver_version,mig.mode.current,memory.total,memory.used"
        command = [smi, f"--query-gpu={query}", "--format=csv,noheader"]
        figures["nvidia-smi"] = smi_says(command)
        users = [smi, "--query-compute-apps=pid,name,used_memory", "--format=csv,noheader"]
        figures["other users"] = smi_says(users)
    return True, figures


def smi_says(command: list[str]) -> str:
    done = subprocess.run(command, capture_output=True, text=True, timeout=20, check=False)
    return done.stdout.strip()


def wrong_in(row: Row) -> str | None:
    """What is wrong about a family's answers under the guard."""
    if row["family"] == "memory of another process":
        return f"{row['took']} counted" if row["took"] else None
    if row["answer"]:
        return f"the first request answered {row['answer']}"
    if row["family"] in NOT_PROMISED:
        return None
    slack = SLACK.get(row["family"], PAGE)
    if not row["asked"] <= row["took"] <= row["asked"] + slack:
        return f"asked for {row['asked']}, and {row['took']} counted"
    if row["left"]:
        return f"{row['left']} still counts afterwards"
    if row["full"] != OUT_OF_MEMORY:
        return f"beyond the share it answered {row['full']}"
    return f"a smaller request answered {row['smaller']}" if row["smaller"] else None


def check_families(machine: Machine) -> tuple[bool, Row]:
    """Each family alone: what it counts, and its answers when the share is full."""
    program = machine.program("kai_guard_device")
    pod = machine.pod()
    wrong: dict[str, str] = {}

    def rows_of(command: str, environment: dict[str, str]) -> list[Row]:
        try:
            return answers([program, command], environment, machine.seconds(60))
        except Failed as failed:
            wrong[f"{command}, {'guard' if 'LD_PRELOAD' in environment else 'bare'}"] = str(failed)
            return failed.rows

    first, *rows = rows_of("each", pod.environment()) or [{}]
    rows += rows_of("ipc", machine.pod().environment())
    on_card = {row.get("family"): row for row in rows_of("each", bare())}
    limit = pod.figures().limit
    sizes = [first.get(name) for name in ("total", "total_of_device")]
    if sizes != [limit, limit]:
        wrong["sizes"] = f"{sizes}, the limit is {limit}"
    for row in rows:
        row["took_bare"] = on_card.get(row["family"], {}).get("took")
        said = wrong_in(row)
        if said:
            wrong[row["family"]] = said
    return not wrong, {"limit": limit, "rows": rows, "wrong": wrong}


def started(machine: Machine, pod: Pod, *arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [machine.program("kai_guard_device"), *arguments],
        env=pod.environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def line_of(process: subprocess.Popen[str]) -> Row:
    assert process.stdout
    line = process.stdout.readline()
    if not line:
        raise RuntimeError(f"kai_guard_device fill ended with {process.wait()}")
    row: Row = json.loads(line)
    return row


def go_on(process: subprocess.Popen[str]) -> None:
    assert process.stdin
    process.stdin.write("\n")
    process.stdin.flush()


def fill(machine: Machine, members: list[tuple[Pod, tuple[str, ...]]]) -> tuple[bool, Row]:
    """All fill up at the same time, hold what they have, and give it back."""
    card = machine.card
    idle = card.settled()
    pods = list({id(pod): pod for pod, _ in members}.values())
    processes: list[subprocess.Popen[str]] = []

    def kill() -> None:
        for process in processes:
            process.kill()

    killer = threading.Timer(machine.seconds(90), kill)
    with card.watched() as most:
        try:
            killer.start()
            for pod, arguments in members:
                processes.append(started(machine, pod, "fill", *arguments))
            for each in processes:  # a context is refused as well once the share is full
                line_of(each)
            for each in processes:
                go_on(each)
            full = [line_of(each) for each in processes]
            while_full = int(card.memory().used) - idle
            counted = [pod.figures() for pod in pods]
            smi = shutil.which("nvidia-smi")
            command = [smi or "", "--query-gpu=memory.used", "--format=csv,noheader"]
            said = smi_says(command) if smi else None
            for process in processes:
                process.communicate("\n", timeout=machine.seconds(60))
        finally:
            killer.cancel()
            kill()
            for process in processes:
                process.wait()
    limit = sum(each.limit or 0 for each in counted)
    overshoot = max(0, most[0] - idle - limit)
    figures: Row = {
        "limit": limit,
        "counted": sum(each.used for each in counted),
        "counted_peak": sum(each.peak for each in counted),
        "card": while_full,
        "card_peak": most[0] - idle,
        "overshoot": overshoot,
        "nvidia-smi": said,
        "idle": idle,
        "processes": full,
        "exits": [process.returncode for process in processes],
    }
    kept = all(each.peak <= (each.limit or 0) for each in counted)
    clean = not any(figures["exits"]) and not any(row["other"] for row in full)
    return overshoot == 0 and kept and clean, figures


def check_three_processes(machine: Machine) -> tuple[bool, Row]:
    """Three processes of one pod take memory of all families until all are refused."""
    pod = machine.pod()
    return fill(machine, [(pod, (str(seed),)) for seed in (1, 2, 3)])


def check_two_pods(machine: Machine) -> tuple[bool, Row]:
    """Two pods of one half each: both get theirs."""
    right, figures = fill(machine, [(machine.pod(), ("1", "linear")) for _ in range(2)])
    half = figures["limit"] // 2
    # What a pod did not get of its share, its context aside.
    short = [half - row["held"] for row in figures["processes"]]
    figures["short"] = short
    return right and max(short) < max(half // 50, 64 * MIB), figures


def check_late_pods(machine: Machine) -> tuple[bool, Row]:
    """Pods that start while another one allocates count their context as that one does."""
    early = machine.pod()
    processes = [started(machine, early, "churn")]
    try:
        line_of(processes[0])
        context = early.figures().used
        go_on(processes[0])
        late = [machine.pod() for _ in range(3)]
        for pod in late:
            processes.append(started(machine, pod, "churn"))
            line_of(processes[-1])
        contexts = [pod.figures().used for pod in late]
    finally:
        for process in processes:
            process.kill()
            process.wait()
    figures = {"context": context, "contexts of late pods": contexts}
    return all(abs(each - context) < 64 * MIB for each in contexts), figures


def check_speed(machine: Machine) -> tuple[bool, Row]:
    """Launches, allocations, the replay of a graph and a loop, with and without the guard."""
    program = machine.program("kai_guard_device")
    if not machine.image.exists():
        raise Skipped(f"{machine.image} is not built")
    command = [program, "speed", str(machine.image), str(machine.launches)]
    pod = machine.pod()
    without: list[Row] = []
    within: list[Row] = []
    for _ in range(2):
        without += answers(command, bare(), machine.seconds(60))
        within += answers(command, pod.environment(), machine.seconds(60))
    return compared(without, within, {"alloc_page_us", "alloc_small_us", "alloc_async_us"})


def compared(without: list[Row], within: list[Row], absolute: set[str]) -> tuple[bool, Row]:
    """The fastest of each: at most 1 % more, or 2 us for those in `absolute`."""
    figures: Row = {}
    wrong = []
    for name in without[0]:
        a, b = min(row[name] for row in without), min(row[name] for row in within)
        figures[name] = {"bare": a, "guard": b, "percent": round((b / a - 1) * 100, 3)}
        if name in absolute:
            wrong += [name] if b - a >= 2 else []
        elif name != "mem_info_us":  # it also counts what the other processes of the pod have
            wrong += [name] if b > 1.01 * a else []
    return not wrong, {"times": figures, "wrong": wrong}


def check_runtime(machine: Machine) -> tuple[bool, Row]:
    """A program that is linked with CUDA's runtime fills its share, and goes on."""
    program = machine.program("kai_guard_runtime")
    pod = machine.pod()
    [row] = answers([program], pod.environment(), machine.seconds(90))
    limit = pod.figures().limit
    return row["total"] == row["total_of_device"] == limit, {"limit": limit, **row}


def check_sanitizer(machine: Machine) -> tuple[bool, Row]:
    """The same under compute-sanitizer, where the machine allows that."""
    tool = shutil.which("compute-sanitizer")
    if not tool:
        raise Skipped("there is no compute-sanitizer")
    command = [tool, "--error-exitcode", "9", machine.program("kai_guard_device"), "ipc"]
    try:
        answers(command, machine.pod().environment(), machine.seconds(40))
    except Failed as error:
        if "ended with 9" in str(error):
            return False, {"said": str(error)}
        raise Skipped(f"compute-sanitizer does not run here: {error}") from None
    return True, {}


def has(package: str) -> None:
    script = f"import importlib.util; raise SystemExit(not importlib.util.find_spec({package!r}))"
    if subprocess.run([sys.executable, "-c", script], check=False).returncode:
        raise Skipped(f"{package} is not installed")


def with_framework(machine: Machine, command: str, **more: str) -> tuple[bool, Row]:
    """A framework fills its share, gets the driver's error, frees and goes on."""
    pod = machine.pod()
    script = [sys.executable, str(HERE / "frameworks.py"), command]
    [row] = answers(script, pod.environment(**more), machine.seconds(60))
    device = pod.figures()
    limit = device.limit or 0
    figures = {"limit": limit, "peak": device.peak, "refusals": device.refusals, **row}
    right = (
        row["total"] == limit
        and device.peak <= limit
        and row["filled"] >= 0.85 * limit * row["part"]
        and row["went_on"]
        and (device.refusals > 0 or not row["from_driver"])
    )
    return right, figures


def check_torch(machine: Machine) -> tuple[bool, Row]:
    """PyTorch's three allocators."""
    has("torch")
    figures: Row = {}
    right = True
    for name, setting in (
        ("default", ""),
        ("expandable segments", "expandable_segments:True"),
        ("cudaMallocAsync", "backend:cudaMallocAsync"),
    ):
        more = {"PYTORCH_CUDA_ALLOC_CONF": setting} if setting else {}
        ok, figures[name] = with_framework(machine, "torch", **more)
        right = right and ok
    return right, figures


def check_torch_speed(machine: Machine) -> tuple[bool, Row]:
    """A training loop, and the replay of a graph of it."""
    has("torch")
    command = [sys.executable, str(HERE / "frameworks.py"), "torch-speed"]
    pod = machine.pod()
    without: list[Row] = []
    within: list[Row] = []
    for _ in range(2):
        without += answers(command, bare(), machine.seconds(60))
        within += answers(command, pod.environment(), machine.seconds(60))
    return compared(without, within, set())


def check_jax(machine: Machine) -> tuple[bool, Row]:
    """JAX with its own memory of three quarters or of all, and with requests passed on."""
    has("jax")
    figures: Row = {}
    right = True
    for command, more in (
        ("jax", {}),
        ("jax-whole", {"XLA_PYTHON_CLIENT_MEM_FRACTION": "1.0"}),
        ("jax-platform", {"XLA_PYTHON_CLIENT_ALLOCATOR": "platform"}),
    ):
        ok, figures[command] = with_framework(machine, command, **more)
        right = right and ok
    return right, figures


CHECKS: dict[str, Callable[[Machine], tuple[bool, Row]]] = {
    "machine": check_machine,
    "families": check_families,
    "three processes": check_three_processes,
    "two pods": check_two_pods,
    "late pods": check_late_pods,
    "speed": check_speed,
    "runtime": check_runtime,
    "torch": check_torch,
    "torch speed": check_torch_speed,
    "jax": check_jax,
    "sanitizer": check_sanitizer,
}


# ---- what is printed ----------------------------------------------------------------------------


def mib(value: float) -> str:
    return f"{value / MIB:.1f} MiB"


def lines_of(name: str, figures: Row) -> Iterator[str]:
    """The figures of a check, for people."""
    if name == "families":
        for row in figures["rows"]:
            bare_took = row["took_bare"]
            yield (
                f"{row['family']:<26} {mib(row['took']):>12}"
                + (f"   on the card {mib(bare_took):>12}" if bare_took is not None else "")
                + (f"   full: {row['full']}" if "full" in row else "")
            )
    elif "overshoot" in figures:
        for key in ("limit", "counted", "card", "card_peak", "overshoot"):
            yield f"{key:<26} {mib(figures[key]):>12}"
        yield f"{'nvidia-smi':<26} {figures['nvidia-smi'] or '-':>12}"
        for row in figures["processes"]:
            yield f"{'a process holds':<26} {mib(row['held']):>12}   {row['refusals']} refusals"
    elif "times" in figures:
        for key, row in figures["times"].items():
            yield f"{key:<26} {row['bare']:>12} {row['guard']:>12}   {row['percent']:+.3f} %"
    else:
        for key, value in figures.items():
            yield f"{key:<26} {value}"
    if figures.get("wrong"):
        yield f"{'WRONG':<26} {figures['wrong']}"


def made(machine: Machine, name: str) -> Row:
    started = time.monotonic()
    result: Row = {"check": name}
    try:
        result["ok"], result["figures"] = CHECKS[name](machine)
    except Skipped as reason:
        result |= {"ok": None, "reason": str(reason)}
    except subprocess.TimeoutExpired as late:
        result |= {"ok": False, "reason": f"not done after {late.timeout:.0f} s"}
    except Exception as error:  # the next check may work
        result |= {"ok": False, "reason": f"{type(error).__name__}: {error}"}
    result["seconds"] = round(time.monotonic() - started, 1)
    return result


def show(result: Row) -> None:
    word = {True: "ok", False: "FAILED", None: "skipped"}[result["ok"]]
    print(f"\n{result['check']}: {word}, {result['seconds']} s", result.get("reason", ""))
    if "figures" in result:
        for line in lines_of(result["check"], result["figures"]):
            print(f"  {line}")
    sys.stdout.flush()


def arguments_of(given: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    places = [ROOT / "build/cuda/bin", ROOT / "build/release/bin"]
    programs = next((each for each in places if (each / "kai_guard_device").exists()), places[0])
    library = ROOT / "python/kai/runtime/libkaiguard.so"
    image = ROOT / "build/cuda/guard/device/spin.fatbin"
    parser.add_argument("--programs", type=Path, default=programs, help="folder of the programs")
    parser.add_argument("--library", type=Path, default=library)
    parser.add_argument("--image", type=Path, default=image, help="the compiled spin.cu")
    parser.add_argument("--launches", type=int, default=500_000, help="kernels in each of two runs")
    parser.add_argument("--seconds", type=float, default=450, help="when to stop")
    parser.add_argument("--json", type=Path, help="where to write the figures")
    parser.add_argument("--only", nargs="+", choices=list(CHECKS), default=list(CHECKS))
    return parser.parse_args(given)


def main(given: list[str] | None = None) -> int:
    wanted = arguments_of(given)
    if not wanted.library.exists():
        sys.exit(f"{wanted.library} is not built: tools/build.sh release kai_guard_all")
    results: list[Row] = []
    with tempfile.TemporaryDirectory() as folder:
        machine = Machine(
            programs=wanted.programs.resolve(),
            library=wanted.library.resolve(),
            image=wanted.image.resolve(),
            launches=wanted.launches,
            end=time.monotonic() + wanted.seconds,
            folder=Path(folder),
        )
        for name in wanted.only:
            results.append(made(machine, name))
            show(results[-1])
            if wanted.json:
                wanted.json.write_text(json.dumps(results, indent=1) + "\n")
    return 1 if any(result["ok"] is False for result in results) else 0


if __name__ == "__main__":
    sys.exit(main())
