// Whole cycles on snapshots of any bytes, by default and as KAI: for any cluster, planning ends,
// the decisions can be carried out one after the other, and the cluster stays unchanged.

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "kai/base/check.h"
#include "kai/ingest/snapshot_reader.h"
#include "kai/session/session.h"

namespace {

constexpr int64_t kNowNs = int64_t{1'767'225'600} * 1'000'000'000;  // 2026-01-01

// Follows the decisions. A pod that moves is evicted before it is placed again. By default a pod is
// evicted once and placed once; as KAI, a later action may evict a pod that was placed or evicted
// in this cycle, and its pod may be placed again.
void CheckDecisions(const kai::Plan& plan, const kai::Cluster& cluster, bool as_kai) {
  using Kind = kai::CycleLog::Decision::Kind;
  struct State {
    bool has_place = false;
    int times_placed = 0, times_evicted = 0;
  };
  absl::flat_hash_map<kai::PodId, State> pods;
  for (const kai::CycleLog::Decision& decision : plan.decisions) {
    KAI_CHECK(decision.pod.valid());
    const auto [found, is_new] = pods.try_emplace(decision.pod);
    State& pod = found->second;
    if (is_new) pod.has_place = kai::IsActiveUsed(cluster.pods().status[decision.pod]);
    const bool is_eviction = decision.kind == Kind::kEvict;
    if (is_eviction) {
      KAI_CHECK(pod.has_place || (as_kai && pod.times_evicted > 0));
    } else {
      KAI_CHECK(decision.node.valid() && !pod.has_place);
    }
    pod.has_place = !is_eviction;
    ++(is_eviction ? pod.times_evicted : pod.times_placed);
    KAI_CHECK(as_kai || (pod.times_evicted <= 1 && pod.times_placed <= 1));
  }
}

void PlanOnce(std::string_view json, bool as_kai) {
  absl::StatusOr<kai::SnapshotFile> file = kai::ReadSnapshot(json);
  if (!file.ok()) return;
  const kai::Config::ParseOptions options = {.as_kai = as_kai};
  absl::StatusOr<kai::Config> config = kai::Config::Parse(file->config_json, options);
  if (!config.ok()) config = kai::Config::Parse("", options);
  const std::shared_ptr<kai::Cluster> cluster = std::move(file->cluster);
  const kai::ResourceTable<kai::NodeId> idle = cluster->nodes().idle;
  const absl::StatusOr<kai::Plan> plan =
      kai::Session(*std::move(config)).Run(cluster, kNowNs, nullptr);
  KAI_CHECK(plan.ok());
  CheckDecisions(*plan, *cluster, as_kai);
  KAI_CHECK(cluster->nodes().idle == idle);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view json(reinterpret_cast<const char*>(data), size);
  for (const bool as_kai : {false, true}) PlanOnce(json, as_kai);
  return 0;
}
