#include "kai/dra/pools.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "kai/base/quote.h"
#include "kai/base/text.h"

namespace kai {
namespace {

struct ReachedSlice {
  const ResourceSlice* slice;
  std::vector<const Device*> devices;  // that the node can use
};

struct Draft {
  std::vector<const ResourceSlice*> all;  // of all generations
  std::vector<ReachedSlice> reached;      // of the newest generation, and usable from the node
};

std::vector<const Device*> ReachedDevices(const ResourceSlice& slice, ReachesDevices reaches) {
  std::vector<const Device*> devices;
  if (!slice.nodes_per_device && !reaches(slice, nullptr)) return devices;
  for (const Device& device : slice.devices) {
    if (!slice.nodes_per_device || reaches(slice, &device)) devices.push_back(&device);
  }
  return devices;
}

bool Reached(const ResourceSlice& slice, const std::vector<const Device*>& devices,
             ReachesDevices reaches) {
  // A slice without devices can still belong to the node; then it counts as present.
  return !devices.empty() || (!slice.nodes_per_device && reaches(slice, nullptr));
}

// Empty if there is none.
std::string FindDuplicateDevice(const std::vector<ReachedSlice>& reached) {
  absl::flat_hash_set<std::string> names;
  for (const ReachedSlice& part : reached) {
    for (const Device& device : part.slice->devices) {
      if (!names.insert(device.name).second) {
        return StrCat("there are two devices ", Quote(device.name));
      }
    }
  }
  return "";
}

std::string FindWrongCounters(const std::vector<const CounterSet*>& sets,
                              const std::vector<const ResourceSlice*>& slices) {
  absl::flat_hash_map<std::string, const CounterSet*> by_name;
  for (const CounterSet* set : sets) {
    if (!by_name.emplace(set->name, set).second) {
      return StrCat("there are two counter sets ", Quote(set->name));
    }
  }
  for (const ResourceSlice* slice : slices) {
    for (const Device& device : slice->devices) {
      for (const CounterUse& use : device.consumes) {
        const auto set = by_name.find(use.counter_set);
        if (set == by_name.end()) {
          return StrCat("there is no counter set ", Quote(use.counter_set));
        }
        for (const auto& [counter, amount] : use.counters) {
          if (!set->second->counters.contains(counter)) {
            return StrCat("counter set ", Quote(use.counter_set), " has no counter ",
                          Quote(counter));
          }
        }
      }
    }
  }
  return "";
}

void AddCounters(const std::vector<const ResourceSlice*>& slices, Pool* pool) {
  const absl::flat_hash_set<const Device*> reached(pool->devices.begin(), pool->devices.end());
  for (const ResourceSlice* slice : slices) {
    for (const CounterSet& set : slice->counter_sets) pool->counter_sets.push_back(&set);
    for (const Device& device : slice->devices) {
      if (!device.consumes.empty() && !reached.contains(&device)) {
        pool->elsewhere.push_back(&device);
      }
    }
  }
  if (pool->problem.empty()) pool->problem = FindWrongCounters(pool->counter_sets, slices);
}

}  // namespace

std::vector<Pool> GatherPools(std::span<const ResourceSlice> slices, const PoolOptions& options,
                              ReachesDevices reaches) {
  std::map<std::pair<std::string_view, std::string_view>, Draft> drafts;
  for (const ResourceSlice& slice : slices) {
    Draft& draft = drafts[{slice.driver, slice.pool}];
    draft.all.push_back(&slice);
    if (slice.nodes_per_device && !options.partitionable_devices) continue;
    std::vector<const Device*> devices = ReachedDevices(slice, reaches);
    if (!Reached(slice, devices, reaches)) continue;
    if (!draft.reached.empty()) {
      const int64_t newest = draft.reached[0].slice->generation;
      if (slice.generation < newest) continue;
      if (slice.generation > newest) draft.reached.clear();
    }
    draft.reached.push_back({&slice, std::move(devices)});
  }

  std::vector<Pool> pools;
  for (auto& [id, draft] : drafts) {
    if (draft.reached.empty()) continue;
    const int64_t generation = draft.reached[0].slice->generation;
    const int64_t wanted = draft.reached[0].slice->slices_in_pool;
    // A node need not be able to use all slices of a pool; the others count, too.
    std::vector<const ResourceSlice*> all = std::move(draft.all);
    const bool replaced = static_cast<int64_t>(draft.reached.size()) != wanted &&
                          std::any_of(all.begin(), all.end(), [&](const ResourceSlice* slice) {
                            return slice->generation > generation;
                          });
    if (replaced) continue;  // the newer slices are not for this node
    std::erase_if(all, [&](const auto* slice) { return slice->generation != generation; });
    const auto by_name = [](const ResourceSlice* a, const ResourceSlice* b) {
      return a->name < b->name;
    };
    std::sort(all.begin(), all.end(), by_name);
    std::sort(draft.reached.begin(), draft.reached.end(),
              [&](const auto& a, const auto& b) { return by_name(a.slice, b.slice); });

    Pool& pool = pools.emplace_back();
    pool.driver = id.first;
    pool.name = id.second;
    const bool complete = static_cast<int64_t>(draft.reached.size()) == wanted ||
                          static_cast<int64_t>(all.size()) == wanted;
    pool.state = complete ? Pool::State::kReady : Pool::State::kIncomplete;
    pool.problem = FindDuplicateDevice(draft.reached);
    if (complete) {
      for (const ReachedSlice& part : draft.reached) {
        pool.devices.insert(pool.devices.end(), part.devices.begin(), part.devices.end());
      }
      if (options.partitionable_devices) AddCounters(all, &pool);
    }
    if (!pool.problem.empty()) {
      pool.state = Pool::State::kInvalid;
      pool.devices.clear();
    }
  }
  return pools;
}

}  // namespace kai
