// What is known of pods and pod groups beside their rows: what no plan depends on, and those who
// write to them have to know.
//
//   const PodReading reading = ReadPodReading(object);
//   const GroupFacts facts = ReadGroupFacts(object);
//
// Invariants: what cannot be read is empty. Texts of conditions are as they were written. Cost: one
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

// What a scheduler has written on a pod that waits; many pods have the same.
struct PodVerdict {
  std::string status;  // of the condition PodScheduled
  std::string reason;
  std::string message;
  std::string nominated_node;  // status.nominatedNodeName, where we wrote it

  friend bool operator==(const PodVerdict&, const PodVerdict&) = default;
};
size_t HashOfPart(const PodVerdict& verdict);

struct PodFacts {
  std::string uid;
  std::string node;        // spec.nodeName
  std::string group = {};  // the pod group, by its name alone; looked up, and not kept
  std::shared_ptr<const PodVerdict> verdict;
  bool is_marked = true;  // spec.markUnschedulable of its group; looked up, and not kept
};

struct PodReading {
  std::string uid;
  std::string scheduler;  // spec.schedulerName
  std::string node;
  std::string reason;  // of its phase: why it failed
  std::string message;
  PodVerdict verdict;
  // Of its UID, labels, annotations, owners and scheduling gates, and of whether it is deleted.
  uint64_t digest = 0;
};
PodReading ReadPodReading(JsonObject pod);

struct GroupFacts {
  std::string uid;
  std::string conditions;        // status.schedulingConditions as JSON
  std::string resources_status;  // status.resourcesStatus as JSON
  // Annotations, as written.
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
