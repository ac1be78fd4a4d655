// Whole cycles on snapshots of any bytes: for any cluster, planning ends, binds no pod twice, and
// leaves the cluster unchanged.

#include <cstddef>
#include <cstdint>
#include <set>
#include <string_view>

#include "kai/base/check.h"
#include "kai/ingest/snapshot_reader.h"
#include "kai/session/session.h"

namespace {

constexpr int64_t kNowNs = int64_t{1'767'225'600} * 1'000'000'000;  // 2026-01-01

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  absl::StatusOr<kai::SnapshotFile> file =
      kai::ReadSnapshot(std::string_view(reinterpret_cast<const char*>(data), size));
  if (!file.ok()) return 0;
  absl::StatusOr<kai::Config> config = kai::Config::Parse(file->config_json, {});
  if (!config.ok()) config = kai::Config::Parse("", {});
  const std::shared_ptr<kai::Cluster> cluster = std::move(file->cluster);
  const kai::ResourceTable<kai::NodeId> idle = cluster->nodes().idle;
  const absl::StatusOr<kai::Plan> plan =
      kai::Session(*std::move(config)).Run(cluster, kNowNs, nullptr);
  KAI_CHECK(plan.ok());
  std::set<kai::PodId> placed;
  for (const kai::CycleLog::Decision& decision : plan->decisions) {
    KAI_CHECK(decision.node.valid() && placed.insert(decision.pod).second);
  }
  KAI_CHECK(cluster->nodes().idle == idle);
  return 0;
}
