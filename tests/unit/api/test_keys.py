"""The engine and the Python face spell the keys they share alike."""

import re
from pathlib import Path

from kai.api import keys

HEADER = Path(__file__).parents[3] / "cpp" / "kai" / "base" / "keys.h"

SHARED = {  # in cpp/kai/base/keys.h -> in kai.api.keys
    "kAmdGpu": "AMD_GPU",
    "kGpuCount": "GPU_COUNT_LABEL",
    "kGpuFraction": "GPU_FRACTION_ANNOTATION",
    "kGpuFractionDevices": "GPU_DEVICES_ANNOTATION",
    "kGpuGroup": "GPU_GROUP_LABEL",
    "kGpuGroupPrefix": "GPU_GROUP_LABEL_PREFIX",
    "kGpuMemory": "GPU_MEMORY_LABEL",
    "kGpuMemoryRequest": "GPU_MEMORY_ANNOTATION",
    "kLastEviction": "LAST_EVICTION_ANNOTATION",
    "kLastStart": "LAST_START_ANNOTATION",
    "kNvidiaGpu": "NVIDIA_GPU",
    "kPodGroup": "POD_GROUP_ANNOTATION",
    "kReceivedType": "RECEIVED_TYPE_ANNOTATION",
    "kStaleSince": "STALE_ANNOTATION",
    "kSubgroup": "SUBGROUP_LABEL",
    "kTaskPriority": "TASK_PRIORITY_LABEL",
}


def engine_keys() -> dict[str, str]:
    return dict(re.findall(r'string_view (k\w+) =\s+"([^"]+)"', HEADER.read_text()))


def test_shared_keys_are_spelt_alike() -> None:
    engine = engine_keys()
    assert {name: engine.get(name) for name in SHARED} == {
        name: getattr(keys, other) for name, other in SHARED.items()
    }


def test_no_key_of_the_python_face_stands_in_the_engine_under_another_name() -> None:
    known = {value for value in vars(keys).values() if isinstance(value, str)}
    assert [
        name for name, key in engine_keys().items() if key in known and name not in SHARED
    ] == []
