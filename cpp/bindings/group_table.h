// The pod groups of a plan as columns, for data frames: a row each, by name, without a Python
// object per row.
#ifndef KAI_BINDINGS_GROUP_TABLE_H_
#define KAI_BINDINGS_GROUP_TABLE_H_

#include <array>
#include <cstdint>
#include <vector>

#include "kai/session/decision_table.h"
#include "kai/session/plan.h"

namespace kai::bindings {

struct GroupTable {
  // Its pods; of these, when the cycle began, those that held a node and those that waited; what
  // was decided about how many; and how many go on waiting without a promise.
  enum Count : size_t { kPods, kRunning, kPending, kBound, kPipelined, kEvicted, kWaiting };
  static constexpr std::array kCounts = {"pods",      "running", "pending", "bound",
                                         "pipelined", "evicted", "waiting"};

  TextColumn name;
  CodedColumn queue;
  CodedColumn verdict;
  CodedColumn reason;  // the code and the message of the first one
  CodedColumn message;
  std::vector<int32_t> priority;
  std::vector<int64_t> created_ns;  // INT64_MIN: unknown
  std::array<std::vector<int32_t>, kCounts.size()> counts;
};

GroupTable GroupTableOf(const Plan& plan);

}  // namespace kai::bindings

#endif  // KAI_BINDINGS_GROUP_TABLE_H_
