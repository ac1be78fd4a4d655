#include "kai/model/building/node_facts.h"

#include <string>
#include <string_view>

#include "kai/api/keys.h"
#include "kai/base/parse.h"
#include "kai/model/building/row_lookup.h"

namespace kai {
namespace {

// Floored to hundreds of MiB (spec 3 G1).
std::optional<double> GpuMemoryMib(const NodeRow& row) {
  const std::optional<int64_t> mib = DeviceMemoryMib(row);
  if (!mib) return std::nullopt;
  return static_cast<double>(*mib - *mib % 100);
}

std::optional<double> GpuCount(const NodeRow& row) {
  const std::string* label = FindDeviceLabel(row.labels, &Accelerator::count_label);
  const std::optional<int64_t> count = label == nullptr ? std::nullopt : ParseInteger(*label);
  if (!count) return std::nullopt;
  return static_cast<double>(*count);
}

uint8_t StateOf(const NodeRow& row) {
  const auto pressed = [](ConditionStatus status) {
    return status == ConditionStatus::kTrue || status == ConditionStatus::kUnknown;
  };
  uint8_t state = 0;
  if (row.unschedulable) state |= kCordoned;
  if (row.ready != ConditionStatus::kTrue) state |= kNotReady;
  if (pressed(row.memory_pressure)) state |= kMemoryPressure;
  if (pressed(row.disk_pressure)) state |= kDiskPressure;
  if (pressed(row.pid_pressure)) state |= kPidPressure;
  if (pressed(row.network_unavailable)) state |= kNetworkUnavailable;
  return state;
}

// If the label is set, it decides (spec 3 M6).
bool IsMigEnabled(const NodeRow& row) {
  if (const std::string* label = FindLabelText(row.labels, keys::kMigEnabled)) {
    return *label == "true" || *label == "True" || *label == "TRUE" || *label == "1" ||
           *label == "t" || *label == "T";
  }
  return std::any_of(row.allocatable.begin(), row.allocatable.end(),
                     [](const auto& each) { return IsMigResource(each.first) && each.second > 0; });
}

MigMode MigModeOf(const NodeRow& row) {
  if (!IsMigEnabled(row)) return MigMode::kOff;
  const std::string* strategy = FindDeviceLabel(row.labels, &Accelerator::slicing_label);
  if (strategy == nullptr) return MigMode::kNone;
  return *strategy == "mixed"    ? MigMode::kMixed
         : *strategy == "single" ? MigMode::kSingle
                                 : MigMode::kNone;
}

}  // namespace

std::optional<int64_t> DeviceMemoryMib(const NodeRow& row) {
  const std::string* label = FindDeviceLabel(row.labels, &Accelerator::memory_label);
  const std::optional<int64_t> parsed = label == nullptr ? std::nullopt : ParseInteger(*label);
  if (!parsed || *parsed <= 0) return std::nullopt;
  constexpr int64_t kMib = 1 << 20;  // large values are bytes (spec 3 G1)
  return *parsed >= kMib ? *parsed / kMib : *parsed;
}

NodeFacts NodeFactsOf(const NodeRow& row) {
  return {.state = StateOf(row),
          .mig = MigModeOf(row),
          .gpu_worker = FindLabelText(row.labels, keys::kGpuWorker) != nullptr,
          .cpu_worker = FindLabelText(row.labels, keys::kCpuWorker) != nullptr,
          .gpu_memory_mib = GpuMemoryMib(row),
          .gpu_count = GpuCount(row)};
}

}  // namespace kai
