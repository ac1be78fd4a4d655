#include "kai/feed/status_sums.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>

#include "kai/api/accelerators.h"
#include "kai/base/text.h"
#include "kai/ingest/resource_list.h"
#include "kai/model/building/node_facts.h"

namespace kai {
namespace {

constexpr std::string_view kGpuMemoryInStatus = "run.ai/gpu.memory";
constexpr int64_t kNanos = 1'000'000'000;
constexpr int64_t kMillis = 1'000;

void AddAmount(StatusAmounts* amounts, std::string_view name, Int128 amount) {
  const auto found = amounts->find(name);
  if (found == amounts->end()) {
    if (amount != 0) amounts->emplace(std::string(name), amount);
  } else if ((found->second += amount) == 0) {
    amounts->erase(found);
  }
}

void AddAmounts(StatusAmounts* amounts, const ResourceAmounts& more) {
  for (const auto& [name, amount] : more) {
    if (name == kAnyGpu) {
      AddAmount(amounts, kGpusInStatus, Int128{amount} * kNanos);
    } else {
      AddAmount(amounts, name, amount);
    }
  }
}

int64_t Clamped(Int128 amount) {
  constexpr Int128 kMost = INT64_MAX;
  return static_cast<int64_t>(std::clamp(amount, -kMost, kMost));
}

std::string InBinary(int64_t amount) {
  constexpr std::string_view kSuffixes[] = {"", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"};
  size_t step = 0;
  for (; amount != 0 && amount % 1024 == 0 && step < 6; ++step) amount /= 1024;
  return StrCat(amount, kSuffixes[step]);
}

std::string InDecimal(int64_t amount, size_t step) {
  constexpr std::string_view kSuffixes[] = {"n", "u", "m", "", "k", "M", "G", "T", "P", "E"};
  if (amount == 0) return "0";
  for (; amount % 1000 == 0 && step < 9; ++step) amount /= 1000;
  return StrCat(amount, kSuffixes[step]);
}

std::string TextOf(std::string_view name, Int128 amount) {
  switch (KindOfResource(name)) {
    case ResourceKind::kBytes:
      return InBinary(Clamped(amount));
    case ResourceKind::kGpu:
      return InDecimal(Clamped(amount), 0);
    case ResourceKind::kMig:
    case ResourceKind::kPods:
      return InDecimal(Clamped(amount), 3);
    default:
      return InDecimal(Clamped(amount), 2);
  }
}

void AddGpus(const GpuRequest& gpu, StatusAmounts* amounts) {
  if (gpu.kind == GpuRequestKind::kFraction) {
    const auto part = static_cast<int64_t>(std::llround(gpu.portion * kNanos));
    AddAmount(amounts, kGpusInStatus, Int128{part} * gpu.count);
  } else if (gpu.kind == GpuRequestKind::kMemory) {
    AddAmount(amounts, kGpuMemoryInStatus, Int128{gpu.memory_mib} * gpu.count * kMillis);
  }
}

}  // namespace

void AddTo(StatusAmounts* sum, const StatusAmounts& more, int sign) {
  for (const auto& [name, amount] : more) AddAmount(sum, name, amount * sign);
}

std::map<std::string, std::string> TextsOf(const StatusAmounts& amounts) {
  std::map<std::string, std::string> texts;
  for (const auto& [name, amount] : amounts) texts[name] = TextOf(name, amount);
  return texts;
}

PodShare ShareOf(const CompactPod& pod) {
  PodShare share;
  if (pod.pod_group.empty()) return share;
  share.group = StrCat(pod.namespace_name, "/", pod.pod_group);
  if (pod.phase != Phase::kPending && pod.phase != Phase::kRunning) return share;
  share.is_allocated = pod.phase == Phase::kRunning || !pod.node_name.empty();
  const PodSpecRow& spec = *pod.spec;
  AddGpus(spec.gpu, &share.requested);
  if (spec.containers.empty()) {
    AddAmounts(&share.requested, spec.requests);
    if (!spec.gpu.legacy_mig) AddAmounts(&share.requested, spec.gpu.mig);
    if (!spec.gpu.IsShared() && spec.gpu.portion > 0)
      AddAmount(&share.requested, kGpusInStatus, Int128{spec.gpu.count} * kNanos);
  }
  for (const ContainerRow& container : spec.containers) {
    if (container.kind == ContainerRow::Kind::kApp)
      AddAmounts(&share.requested, container.requests);
  }
  return share;
}

void MeasureMemory(const NodeRow& node, const CompactPod& pod, PodShare* share) {
  const GpuRequest& gpu = pod.spec->gpu;
  const std::optional<int64_t> mib = DeviceMemoryMib(node);
  if (gpu.kind != GpuRequestKind::kMemory || !mib) return;
  // Rounded up to billionths per device, the precision of Kubernetes quantities.
  const Int128 part = (Int128{gpu.memory_mib} * kNanos + *mib - 1) / *mib;
  share->gpus_of_memory = part * gpu.count;
}

void AddClaim(const ResourceClaimRow& claim, const CompactPod& pod, PodShare* share) {
  if (share->group.empty() || (pod.phase != Phase::kPending && pod.phase != Phase::kRunning))
    return;
  if (claim.for_extended_resource) return;  // a container's request counts it already
  for (const DeviceRequestRow& request : claim.spec.requests) {
    const DeviceChoiceRow& asked = request.exactly;
    if (!request.first_available.empty() || asked.class_name.empty()) continue;
    const bool is_exact = asked.mode.empty() || asked.mode == "ExactCount";
    const int64_t count = is_exact ? std::max<int64_t>(asked.count, 1) : 1;
    AddAmount(&share->requested, asked.class_name, Int128{count} * kMillis);
  }
}

const StatusSums::Sums& StatusSums::Of(std::string_view group) const {
  static const Sums kNone;
  const auto found = groups_.find(group);
  return found == groups_.end() ? kNone : found->second;
}

void StatusSums::Change(const PodShare& share, int sign) {
  if (share.group.empty()) return;
  const auto found = groups_.try_emplace(share.group).first;
  Sums& sums = found->second;
  sums.pods += sign;
  AddTo(&sums.requested, share.requested, sign);
  if (share.is_allocated) {
    AddTo(&sums.allocated, share.requested, sign);
    if (share.gpus_of_memory != 0) {
      AddAmount(&sums.allocated, kGpusInStatus, share.gpus_of_memory * sign);
      const auto memory = share.requested.find(kGpuMemoryInStatus);
      if (memory != share.requested.end())
        AddAmount(&sums.allocated, kGpuMemoryInStatus, -memory->second * sign);
    }
  }
  if (sums.pods == 0) groups_.erase(found);
}

}  // namespace kai
