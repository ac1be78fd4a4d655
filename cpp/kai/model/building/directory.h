// Directory: finds the ids of objects by name.
//
//   w_.directory.Add(row->name, node);
//   w_.directory.FindNode(row->name)     // invalid: there is no such node
//
// Invariants: a name that was never added is not found, even if its text is interned. Cost: two
// hash look-ups. Threads: many readers, or one thread that adds.
#ifndef KAI_MODEL_BUILDING_DIRECTORY_H_
#define KAI_MODEL_BUILDING_DIRECTORY_H_

#include <string_view>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "kai/base/heap_bytes.h"
#include "kai/base/interner.h"
#include "kai/model/columns/ids.h"

namespace kai {

class Directory {
 public:
  explicit Directory(Interner* names) : names_(*names) {}

  // A node may be added again with another id.
  void Add(std::string_view name, NodeId node) {
    nodes_.insert_or_assign(names_.Intern(name), node);
  }
  void Add(std::string_view name, QueueId queue) { queues_.emplace(names_.Intern(name), queue); }
  void Add(std::string_view namespace_name, std::string_view name, PodGroupId group) {
    pod_groups_.emplace(std::pair(names_.Intern(namespace_name), names_.Intern(name)), group);
  }

  void RemoveNode(std::string_view name) { nodes_.erase(names_.Find(name)); }
  void Remove(std::string_view namespace_name, std::string_view name) {
    pod_groups_.erase(std::pair(names_.Find(namespace_name), names_.Find(name)));
  }

  NodeId FindNode(std::string_view name) const { return Find(nodes_, names_.Find(name)); }
  QueueId FindQueue(std::string_view name) const { return Find(queues_, names_.Find(name)); }
  PodGroupId FindPodGroup(std::string_view namespace_name, std::string_view name) const {
    return Find(pod_groups_, std::pair(names_.Find(namespace_name), names_.Find(name)));
  }

  size_t HeapBytes() const { return HeapBytesOfAll(nodes_, queues_, pod_groups_); }

 private:
  template <typename Map, typename Key>
  static typename Map::mapped_type Find(const Map& map, const Key& key) {
    const auto found = map.find(key);
    return found == map.end() ? typename Map::mapped_type() : found->second;
  }

  Interner& names_;
  absl::flat_hash_map<NameId, NodeId> nodes_;
  absl::flat_hash_map<NameId, QueueId> queues_;
  absl::flat_hash_map<std::pair<NameId, NameId>, PodGroupId> pod_groups_;
};

}  // namespace kai

#endif  // KAI_MODEL_BUILDING_DIRECTORY_H_
