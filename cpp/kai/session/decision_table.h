// DecisionTable: the decisions of a plan as columns, with names as texts. Data frames are made from
// it, and it stays readable when the cluster changes.
//
//   const DecisionTable table = TableOf(plan);
//   table.pod[0]                    // "vision/train-0"
//   table.node.Text(0)              // "n1"; empty for an eviction
//
// Invariants: row i is plan.decisions[i]. Cost: a few bytes and a name per row; texts that rows
// share are stored once. Threads: plain data; TableOf() reads the plan.
#ifndef KAI_SESSION_DECISION_TABLE_H_
#define KAI_SESSION_DECISION_TABLE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "kai/session/plan.h"

namespace kai {

// Texts that are mostly different, stored one after another.
class TextColumn {
 public:
  void Add(std::string_view text) {
    bytes_.append(text);
    offsets_.push_back(static_cast<int64_t>(bytes_.size()));
  }
  std::string_view operator[](size_t row) const {
    return std::string_view(bytes_).substr(static_cast<size_t>(offsets_[row]),
                                           static_cast<size_t>(offsets_[row + 1] - offsets_[row]));
  }
  const std::vector<int64_t>& offsets() const { return offsets_; }  // one per row, and one more
  const std::string& bytes() const { return bytes_; }

 private:
  std::vector<int64_t> offsets_ = {0};
  std::string bytes_;
};

// Texts that many rows share, as numbers into a list of the distinct texts.
class CodedColumn {
 public:
  static constexpr int32_t kNone = -1;

  void Add(std::string_view text);
  void AddNone() { codes_.push_back(kNone); }
  std::optional<std::string_view> Text(size_t row) const {
    if (codes_[row] == kNone) return std::nullopt;
    return texts_[static_cast<size_t>(codes_[row])];
  }
  const std::vector<int32_t>& codes() const { return codes_; }
  const std::vector<std::string>& texts() const { return texts_; }  // in the order of first use

 private:
  std::vector<int32_t> codes_;
  std::vector<std::string> texts_;
  absl::flat_hash_map<std::string, int32_t> code_of_;
};

// NUMA zones with amounts of resources: cores, bytes, devices.
struct NamedZone {
  std::string zone;
  std::vector<std::pair<std::string, double>> amounts;
};
std::vector<NamedZone> ZonesOf(const Cluster& cluster, NodeId node, const ZonePlacement& placement);

struct DecisionTable {
  static constexpr std::string_view kKinds[] = {"bind", "pipeline", "evict"};

  size_t size() const { return kind.size(); }
  std::string_view Kind(size_t row) const { return kKinds[static_cast<size_t>(kind[row])]; }
  bool IsEviction(size_t row) const { return kind[row] == 2; }

  std::vector<int32_t> kind;  // index into kKinds
  TextColumn pod;
  // Empty or 0 for evictions.
  CodedColumn node;
  std::vector<double> gpus;
  // For pods that share devices; otherwise 0.
  std::vector<int32_t> devices;
  std::vector<double> portion;
  std::vector<int64_t> gpu_memory_mib;  // 0: the pod requests a part, not memory
  // For evictions.
  CodedColumn action;
  CodedColumn for_group;
  CodedColumn message;
  // By row; only rows that have some.
  absl::flat_hash_map<size_t, std::vector<std::string>> gpu_groups;
  absl::flat_hash_map<size_t, std::vector<NamedZone>> zones;
};

DecisionTable TableOf(const Plan& plan);

}  // namespace kai

#endif  // KAI_SESSION_DECISION_TABLE_H_
