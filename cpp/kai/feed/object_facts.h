// Facts about pods and pod groups that their rows do not have: no plan depends on them, but code
// that writes to pods and pod groups needs them.
//
//   const PodReading reading = ReadPodReading(object);
//   const GroupFacts facts = ReadGroupFacts(object);
//
// Invariants: values that cannot be read are empty. Texts of conditions are unchanged. Cost: one
// walk over metadata, spec and status. Threads: functions of their own document.
#ifndef KAI_FEED_OBJECT_FACTS_H_
#define KAI_FEED_OBJECT_FACTS_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "kai/ingest/json_reader.h"

namespace kai {

// What a scheduler wrote to a pod that waits; many pods share one verdict.
struct PodVerdict {
  std::string status;  // of the condition PodScheduled
  std::string reason;
  std::string message;
  std::string nominated_node;  // status.nominatedNodeName, if we wrote it

  friend bool operator==(const PodVerdict&, const PodVerdict&) = default;
};
size_t HashOfPart(const PodVerdict& verdict);

struct PodFacts {
  std::string uid;
  std::string node;        // spec.nodeName
  std::string group = {};  // name of the pod group; looked up, not stored
  std::shared_ptr<const PodVerdict> verdict;
  bool is_marked = true;  // spec.markUnschedulable of its group; looked up, not stored
};

struct PodReading {
  std::string uid;
  std::string scheduler;  // spec.schedulerName
  std::string node;
  std::string reason;  // status.reason: why it failed
  std::string message;
  PodVerdict verdict;
  // Digest of UID, labels, annotations, owners, scheduling gates, and whether it is being deleted.
  uint64_t digest = 0;
};
PodReading ReadPodReading(JsonObject pod);

struct GroupFacts {
  std::string uid;
  std::string conditions;        // status.schedulingConditions as JSON
  std::string resources_status;  // status.resourcesStatus as JSON
  // Annotations, unchanged.
  std::string last_start;
  std::string stale_since;
  std::string last_eviction;
  std::string attained_service;

  friend bool operator==(const GroupFacts&, const GroupFacts&) = default;
};
GroupFacts ReadGroupFacts(JsonObject group);

// The status of an object as JSON.
std::string ReadRawStatus(JsonObject object);

}  // namespace kai

#endif  // KAI_FEED_OBJECT_FACTS_H_
