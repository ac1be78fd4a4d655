// The pod groups of a plan as columns for data frames: one row per group, sorted by name, without a
// Python object per row.
#ifndef KAI_BINDINGS_GROUP_TABLE_H_
#define KAI_BINDINGS_GROUP_TABLE_H_

#include <array>
#include <cstdint>
#include <vector>

#include "kai/session/decision_table.h"
#include "kai/session/plan.h"

namespace kai::bindings {

struct GroupTable {
  // Numbers of pods: all; those that held a node, and those that waited, when the cycle began;
  // those with each kind of decision; and those that still wait without a promise.
  enum Count : size_t { kPods, kRunning, kPending, kBound, kPipelined, kEvicted, kWaiting };
  static constexpr std::array kCounts = {"pods",      "running", "pending", "bound",
                                         "pipelined", "evicted", "waiting"};

  TextColumn name;
  CodedColumn queue;
  CodedColumn verdict;
  CodedColumn reason;  // code and message of the first reason
  CodedColumn message;
  std::vector<int32_t> priority;
  std::vector<int64_t> created_ns;  // INT64_MIN: unknown
  std::array<std::vector<int32_t>, kCounts.size()> counts;
};

GroupTable GroupTableOf(const Plan& plan);

}  // namespace kai::bindings

#endif  // KAI_BINDINGS_GROUP_TABLE_H_
