"""All labels, annotations and resource names that kai reads or writes."""

# API groups of KAI's own kinds (spec 5 A1). The older group never changes its name.
SCHEDULING_GROUP = "scheduling.run.ai"
KAI_GROUP = "kai.scheduler"
QUEUE_API = "scheduling.run.ai/v2"
POD_GROUP_API = "scheduling.run.ai/v2alpha2"
BIND_REQUEST_API = "scheduling.run.ai/v1alpha2"

SCHEDULER_NAME = "kai-scheduler"
"""`spec.schedulerName` of the pods that this scheduler places."""

FIELD_MANAGER = "kai-sched"
"""The start of our User-Agent. The API server uses it as the manager of the fields that we write.
"""

# Labels of pods and of the workloads that own them.
QUEUE_LABEL = "kai.scheduler/queue"
LEGACY_QUEUE_LABEL = "runai/queue"  # before KAI 0.6, or if podgrouper.queueLabelKey names it
PROJECT_LABEL = "project"  # used if there is no queue label (spec 5 A63)
USER_LABEL = "user"
NODE_POOL_LABEL = "kai.scheduler/node-pool"
PRIORITY_CLASS_LABEL = "priorityClassName"
PREEMPTIBILITY_LABEL = "kai.scheduler/preemptibility"
SUBGROUP_LABEL = "kai.scheduler/subgroup-name"
TASK_PRIORITY_LABEL = "kai.scheduler/task-priority"
KUBEFLOW_OPERATOR_LABEL = "training.kubeflow.org/operator-name"
KUBEFLOW_JOB_LABEL = "training.kubeflow.org/job-name"
KUBEFLOW_ROLE_LABEL = "training.kubeflow.org/job-role"  # "master" on the master
REPLICA_TYPE_LABEL = "training.kubeflow.org/replica-type"
REPLICA_INDEX_LABEL = "training.kubeflow.org/replica-index"
LWS_NAME_LABEL = "leaderworkerset.sigs.k8s.io/name"
LWS_GROUP_INDEX_LABEL = "leaderworkerset.sigs.k8s.io/group-index"
LWS_WORKER_INDEX_LABEL = "leaderworkerset.sigs.k8s.io/worker-index"  # "0" on the leader
JOBSET_NAME_LABEL = "jobset.sigs.k8s.io/jobset-name"
JOBSET_JOB_LABEL = "jobset.sigs.k8s.io/replicatedjob-name"
JOBSET_INDEX_LABEL = "jobset.sigs.k8s.io/job-index"  # which replica of the replicated job
RAY_CLUSTER_LABEL = "ray.io/cluster"
RAY_GROUP_LABEL = "ray.io/group"  # "headgroup", or the name of a worker group
RAY_PRIORITY_CLASS_LABEL = "ray.io/priority-class-name"
SPARK_APPLICATION_LABEL = "sparkoperator.k8s.io/app-name"
SPARK_NAME_LABEL = "spark-app-name"
SPARK_SELECTOR_LABEL = "spark-app-selector"  # the same on driver and executors
NOTEBOOK_LABEL = "notebook-name"
GROVE_SET_LABEL = "app.kubernetes.io/part-of"  # the PodCliqueSet of Grove
GROVE_GANG_LABEL = "grove.io/podgang"
GROVE_CLIQUE_LABEL = "grove.io/podclique"
GPU_GROUP_LABEL = "runai-gpu-group"
GPU_GROUP_LABEL_PREFIX = "runai-gpu-group/"

# Labels of BindRequests.
SELECTED_NODE_LABEL = "selected-node"

# Annotations of pods.
POD_GROUP_ANNOTATION = "pod-group-name"
SKIP_GROUPER_ANNOTATION = "kai.scheduler/skip-podgrouper"
GPU_FRACTION_ANNOTATION = "gpu-fraction"
GPU_MEMORY_ANNOTATION = "gpu-memory"  # MiB
GPU_DEVICES_ANNOTATION = "gpu-fraction-num-devices"
GPU_CONTAINER_ANNOTATION = "gpu-fraction-container-name"  # default: the first
MPS_ANNOTATION = "mps"
GPU_TYPE_ANNOTATION = "gpu-type"  # nothing reads it (spec 7 C9)
# Of pods and of queues, whose pods it is for: "true" or "false", whether a share is a limit.
GUARD_ANNOTATION = "kai.scheduler/gpu-guard"
COMPUTE_SHARING_ANNOTATION = "kai.scheduler/gpu-compute-sharing-mode"  # KAI 0.18 (spec 7 NX3)
NVFRACTIONS_REQUEST_ANNOTATION = "nvidia.com/container.{container}.gpu-memory.request"  # spec 7 NX2
NVFRACTIONS_LIMIT_ANNOTATION = "nvidia.com/container.{container}.gpu-memory.limit"
RECEIVED_TYPE_ANNOTATION = "received-resource-type"
SHARED_GPU_CONFIG_MAP_ANNOTATION = "runai/shared-gpu-configmap"  # prefix of its ConfigMaps
# Written when a pod is bound: its position in the order of topology domains, for its launcher.
TOPOLOGY_RANK_ANNOTATION = "kai.scheduler/topology-rank"
TOPOLOGY_DOMAIN_ANNOTATION = "kai.scheduler/topology-domain"
# "false": no controller creates the pod again, so it is not evicted in order to be moved.
MOVABLE_ANNOTATION = "kai.scheduler/movable"
# Where the pod was expected to run within its node, and where it runs (plugin numa).
NUMA_PREDICTED_ANNOTATION = "kai.scheduler/numa-placement-predicted"
NUMA_OBSERVED_ANNOTATION = "kai.scheduler/numa-placement-observed"
LWS_SIZE_ANNOTATION = "leaderworkerset.sigs.k8s.io/size"

# Reservation pods: each requests a device from the kubelet for the pods that share it.
RESERVATION = "kai-resource-reservation"  # their namespace, service account and label `app`
APP_LABEL = "app"
RESERVED_DEVICE_ANNOTATION = "run.ai/reserve_for_gpu_index"  # the UUID of the device
KARPENTER_KEEP_ANNOTATION = "karpenter.sh/do-not-disrupt"

# Annotations of pods or of the workload that owns them.
BATCH_MIN_MEMBER_ANNOTATION = "kai.scheduler/batch-min-member"
PREEMPTION_DELAY_ANNOTATION = "kai.scheduler/preemption-delay"
STALENESS_ANNOTATION = "kai.scheduler/staleness-grace-period"
TOPOLOGY_ANNOTATION = "kai.scheduler/topology"
GROVE_TOPOLOGY_ANNOTATION = "grove.io/topology-name"
TOPOLOGY_REQUIRED_ANNOTATION = "kai.scheduler/topology-required-placement"
TOPOLOGY_PREFERRED_ANNOTATION = "kai.scheduler/topology-preferred-placement"
SEGMENT_SIZE_ANNOTATION = "kai.scheduler/segment-size"
SEGMENT_REQUIRED_ANNOTATION = "kai.scheduler/segment-topology-required-placement"
SEGMENT_PREFERRED_ANNOTATION = "kai.scheduler/segment-topology-preferred-placement"
SEGMENTS = (SEGMENT_SIZE_ANNOTATION, SEGMENT_REQUIRED_ANNOTATION, SEGMENT_PREFERRED_ANNOTATION)
TOPOLOGY = (TOPOLOGY_ANNOTATION, TOPOLOGY_REQUIRED_ANNOTATION, TOPOLOGY_PREFERRED_ANNOTATION)

# Annotations of pod groups and of workloads: the number of domains of the preferred level over
# which the pods are spread.
MIN_DOMAINS_ANNOTATION = "kai.scheduler/topology-min-domains"
MAX_DOMAINS_ANNOTATION = "kai.scheduler/topology-max-domains"
BALANCED_DOMAINS_ANNOTATION = "kai.scheduler/topology-balanced"

# Annotations of pod groups. Times are RFC 3339, in whole seconds and UTC (spec 5 A22).
TOP_OWNER_ANNOTATION = "kai.scheduler/top-owner-metadata"  # YAML: name, uid, group, version, kind
LAST_START_ANNOTATION = "kai.scheduler/last-start-timestamp"
STALE_ANNOTATION = "kai.scheduler/stale-podgroup-timestamp"
LAST_EVICTION_ANNOTATION = "kai.scheduler/last-eviction-timestamp"

# Annotations of pod groups that job orders read: a duration such as "2h30m", written by users, and
# the time the group has received so far, written by the scheduler, such as
# "run=3600 gpu=28800 evictions=1 until=2026-01-01T00:00:00Z" (seconds and GPU-seconds).
RUN_TIME_ESTIMATE_ANNOTATION = "kai.scheduler/run-time-estimate"
ATTAINED_SERVICE_ANNOTATION = "kai.scheduler/attained-service"

# Written by `kubectl apply`: the manifest it received.
LAST_APPLIED_ANNOTATION = "kubectl.kubernetes.io/last-applied-configuration"

# Labels of nodes and of objects that Kubernetes creates.
HOSTNAME_LABEL = "kubernetes.io/hostname"
GPU_COUNT_LABEL = "nvidia.com/gpu.count"
GPU_PRODUCT_LABEL = "nvidia.com/gpu.product"
GPU_MEMORY_LABEL = "nvidia.com/gpu.memory"  # MiB of each GPU
GPU_SHARING_LABEL = "nvidia.com/gpu.sharing-strategy"  # of the device plugin: none, mps ...
POD_TEMPLATE_HASH_LABEL = "pod-template-hash"
JOB_NAME_LABEL = "batch.kubernetes.io/job-name"
OLD_JOB_NAME_LABEL = "job-name"
JOB_INDEX_LABEL = "batch.kubernetes.io/job-completion-index"
POD_INDEX_LABEL = "apps.kubernetes.io/pod-index"

# Resources.
CPU = "cpu"
MEMORY = "memory"
PODS = "pods"
NVIDIA_GPU = "nvidia.com/gpu"
AMD_GPU = "amd.com/gpu"
MIG_PREFIX = "nvidia.com/mig-"
WHOLE_GPUS = (NVIDIA_GPU, AMD_GPU)  # the resources that count as GPUs (docs/concepts/gpu.md)

# Environment variables.
VISIBLE_DEVICES_ENV = "NVIDIA_VISIBLE_DEVICES"
LEGACY_VISIBLE_DEVICES_ENV = "RUNAI-VISIBLE-DEVICES"  # before KAI 0.7.4
GPU_PORTION_ENV = "GPU_PORTION"
LEGACY_GPU_PORTION_ENV = "RUNAI_NUM_OF_GPUS"
GPU_MEMORY_LIMIT_ENV = "CUDA_DEVICE_MEMORY_LIMIT"  # read by HAMi-core
GUARD_REGION_ENV = "KAI_GUARD_REGION"  # the file in which the pod's processes count (guard/)
GUARD_VOLUME = "kai-guard"  # the volume of the pod with that file
GUARD_LIMIT_ENV = "KAI_GUARD_LIMIT"  # "0.5", "4096Mi"
GUARD_LIMITS_ENV = "KAI_GUARD_LIMITS"  # of single devices; in pods it is empty
PRELOAD_ENV = "LD_PRELOAD"
MPS_LIMIT_ENV = "CUDA_MPS_PINNED_DEVICE_MEM_LIMIT"  # "0=7680M,1=7680M", of each process
MPS_THREADS_ENV = "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE"
CONFORMANCE_ENV = "KAI_CONFORMANCE"
"""The folder from which `kai verify` reads the recorded cases instead of its own copy."""
