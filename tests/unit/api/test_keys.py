"""The engine and the Python package use the same spelling for their common keys."""

import re
from pathlib import Path

from kai.api import keys

HEADER = Path(__file__).parents[3] / "cpp" / "kai" / "api" / "keys.h"

SHARED = {  # in cpp/kai/api/keys.h -> in kai.api.keys
    "kAmdGpu": "AMD_GPU",
    "kApp": "APP_LABEL",
    "kAttainedService": "ATTAINED_SERVICE_ANNOTATION",
    "kBalancedDomains": "BALANCED_DOMAINS_ANNOTATION",
    "kFieldManager": "FIELD_MANAGER",
    "kGpuCount": "GPU_COUNT_LABEL",
    "kGpuFraction": "GPU_FRACTION_ANNOTATION",
    "kGpuFractionDevices": "GPU_DEVICES_ANNOTATION",
    "kGpuGroup": "GPU_GROUP_LABEL",
    "kGpuGroupPrefix": "GPU_GROUP_LABEL_PREFIX",
    "kGpuMemory": "GPU_MEMORY_LABEL",
    "kGpuProduct": "GPU_PRODUCT_LABEL",
    "kGpuMemoryRequest": "GPU_MEMORY_ANNOTATION",
    "kHostname": "HOSTNAME_LABEL",
    "kKubeflowRole": "KUBEFLOW_ROLE_LABEL",
    "kLastEviction": "LAST_EVICTION_ANNOTATION",
    "kLastStart": "LAST_START_ANNOTATION",
    "kLeastDomains": "MIN_DOMAINS_ANNOTATION",
    "kMostDomains": "MAX_DOMAINS_ANNOTATION",
    "kMigPrefix": "MIG_PREFIX",
    "kNumaObserved": "NUMA_OBSERVED_ANNOTATION",
    "kNumaPredicted": "NUMA_PREDICTED_ANNOTATION",
    "kNvidiaGpu": "NVIDIA_GPU",
    "kPodGroup": "POD_GROUP_ANNOTATION",
    "kReceivedType": "RECEIVED_TYPE_ANNOTATION",
    "kReservationApp": "RESERVATION",
    "kReservedDevice": "RESERVED_DEVICE_ANNOTATION",
    "kRunTimeEstimate": "RUN_TIME_ESTIMATE_ANNOTATION",
    "kSharedGpuConfigMap": "SHARED_GPU_CONFIG_MAP_ANNOTATION",
    "kStaleSince": "STALE_ANNOTATION",
    "kSubgroup": "SUBGROUP_LABEL",
    "kTaskPriority": "TASK_PRIORITY_LABEL",
    "kTopOwner": "TOP_OWNER_ANNOTATION",
    "kTopologyRank": "TOPOLOGY_RANK_ANNOTATION",
    "kMovable": "MOVABLE_ANNOTATION",
}


def engine_keys() -> dict[str, str]:
    return dict(re.findall(r'string_view (k\w+) =\s+"([^"]+)"', HEADER.read_text()))


def test_python_and_the_engine_spell_shared_keys_alike() -> None:
    engine = engine_keys()
    assert {name: engine.get(name) for name in SHARED} == {
        name: getattr(keys, other) for name, other in SHARED.items()
    }


def test_no_shared_key_has_a_second_name_in_the_engine() -> None:
    known = {value for value in vars(keys).values() if isinstance(value, str)}
    assert [
        name for name, key in engine_keys().items() if key in known and name not in SHARED
    ] == []


def test_only_the_table_of_accelerators_names_vendors() -> None:
    """docs/concepts/gpu.md says so; comments may name an example."""
    table = HEADER.with_name("accelerators.h").read_text()
    names = set(re.findall(r"keys::(k\w+)", table))
    assert len(names) > 6
    vendor = re.compile(rf"\b({'|'.join(names)})\b|\"[^\"]*(nvidia|amd\.com|intel\.com|habana)")
    engine = HEADER.parents[1]
    files = [*engine.rglob("*.h"), *engine.rglob("*.cc")]
    found = [
        f"{path.relative_to(engine)}: {line.strip()}"
        for path in files
        if path.name not in ("keys.h", "accelerators.h")
        and "testing" not in path.parts
        and not re.search(r"_(test|benchmark)\.cc$|_for_test\.h$", path.name)
        for line in path.read_text().splitlines()
        if vendor.search(line.partition("//")[0])
    ]
    assert found == []
