// CompactPod, CompactPodGroup: pods and pod groups as they are stored. The parts that objects of
// one template have in common are stored once.
//
//   RowParts parts;
//   const CompactPod pod = parts.Compact(Row(1));
//   EXPECT_EQ(pod.spec->requests[0].second, 1000);
//
// Invariants: a compact row has the same data as its row; a part never changes. A part that no row
// uses any more is freed when the last row is given to Release(), or a little later. Cost: a hash
// of the parts, and a comparison with the stored part; Memory() walks over all parts. Threads: many
// may read them; RowParts is not thread-safe.
#ifndef KAI_MODEL_ROWS_COMPACT_ROWS_H_
#define KAI_MODEL_ROWS_COMPACT_ROWS_H_

#include <algorithm>
#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "kai/base/sparse_table.h"
#include "kai/model/rows/pod_group_row.h"
#include "kai/model/rows/pod_row.h"

namespace kai {

struct MemoryReport;

struct CompactPod : PodIdentityRow {
  std::shared_ptr<const StringPairs> labels;
  std::shared_ptr<const PodSpecRow> spec;
  std::shared_ptr<const PodExtrasRow> extras;

  PodRow Row() const;

  friend bool operator==(const CompactPod& a, const CompactPod& b) {
    const auto same = [](const auto& x, const auto& y) { return x == y || *x == *y; };
    return static_cast<const PodIdentityRow&>(a) == static_cast<const PodIdentityRow&>(b) &&
           same(a.labels, b.labels) && same(a.spec, b.spec) && same(a.extras, b.extras);
  }
};

struct CompactPodGroup : PodGroupIdentityRow {
  std::shared_ptr<const PodGroupSpecRow> spec;

  PodGroupRow Row() const;

  friend bool operator==(const CompactPodGroup& a, const CompactPodGroup& b) {
    return static_cast<const PodGroupIdentityRow&>(a) ==
               static_cast<const PodGroupIdentityRow&>(b) &&
           (a.spec == b.spec || *a.spec == *b.spec);
  }
};

size_t HashOfPart(const StringPairs& labels);
size_t HashOfPart(const PodSpecRow& spec);
size_t HashOfPart(const PodExtrasRow& extras);
size_t HashOfPart(const PodGroupSpecRow& spec);

// Stores equal values once, for as long as a row uses them.
template <typename T>
class SharedValues {
 public:
  using Pointer = std::shared_ptr<const T>;

  Pointer Share(T&& value) {
    const size_t hash = HashOfPart(value);
    const auto known = values_.find(Lookup{hash, &value});
    if (known != values_.end()) return known->value;
    if (values_.size() >= sweep_at_) Sweep();
    return values_.insert({hash, std::make_shared<const T>(std::move(value))}).first->value;
  }
  // For a row that is removed.
  void Release(Pointer value) {
    if (value.use_count() != 2) return;  // the row's pointer and ours
    values_.erase(values_.find(Lookup{HashOfPart(*value), value.get()}));
    ShrinkIfSparse(&values_);
  }
  size_t size() const { return values_.size(); }
  size_t HeapBytes() const;

 private:
  struct Entry {
    size_t hash;
    Pointer value;
  };
  struct Lookup {
    size_t hash;
    const T* value;
  };
  struct Hash {
    using is_transparent = void;
    size_t operator()(const Entry& entry) const { return entry.hash; }
    size_t operator()(const Lookup& wanted) const { return wanted.hash; }
  };
  struct Equal {
    using is_transparent = void;
    bool operator()(const Entry& a, const Entry& b) const { return a.value == b.value; }
    bool operator()(const Entry& a, const Lookup& b) const {
      return a.hash == b.hash && *a.value == *b.value;
    }
    bool operator()(const Lookup& a, const Entry& b) const { return operator()(b, a); }
  };

  // Drops values that no row uses any more. So there are never more unused values than used ones.
  void Sweep() {
    absl::erase_if(values_, [](const Entry& entry) { return entry.value.use_count() == 1; });
    sweep_at_ = std::max(kFirstSweep, 2 * values_.size());
  }
  static constexpr size_t kFirstSweep = 1024;

  absl::flat_hash_set<Entry, Hash, Equal> values_;
  size_t sweep_at_ = kFirstSweep;
};

// The parts of rows that are stored together.
class RowParts {
 public:
  CompactPod Compact(PodRow&& row);
  CompactPod Compact(const PodRow& row) { return Compact(PodRow(row)); }
  CompactPodGroup Compact(PodGroupRow&& row);
  // For a row that is removed or replaced.
  void Release(CompactPod&& pod);
  void Release(CompactPodGroup&& group);

  void Memory(MemoryReport* report) const;

 private:
  SharedValues<StringPairs> labels_;
  SharedValues<PodSpecRow> specs_;
  SharedValues<PodExtrasRow> extras_;
  SharedValues<PodGroupSpecRow> group_specs_;
};

// The many rows of a file.
struct CompactRows {
  void Add(PodRow&& row) { pods.push_back(parts.Compact(std::move(row))); }
  void Add(PodGroupRow&& row) { pod_groups.push_back(parts.Compact(std::move(row))); }

  RowParts parts;
  std::vector<CompactPod> pods;
  std::vector<CompactPodGroup> pod_groups;
};

}  // namespace kai

#endif  // KAI_MODEL_ROWS_COMPACT_ROWS_H_
