// Report: a copy of a plan's texts and numbers, for threads that show it: pages, metrics. It does
// not change while the engine processes events and makes the next plan.
//
//   std::shared_ptr<const Report> report = engine_.report();    // null: none was made yet
//   report->decisions.pod[0]           // "q/a-0"
//
// Invariants: it refers to nothing of the cluster, and does not change. Cost: a name for each
// decision, each queue, and each pod group that does not simply run. Threads: plain data: many
// readers.
#ifndef KAI_ENGINE_REPORT_H_
#define KAI_ENGINE_REPORT_H_

#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "kai/session/decision_table.h"
#include "kai/session/plan.h"
#include "kai/session/plan_json.h"

namespace kai {

struct Report {
  struct Group {
    std::string name;
    std::string queue;
    Verdict verdict{};
  };
  struct Queue {
    std::string name;
    std::array<QueueNumbers, kQuotaResources> numbers;  // by QuotaResource
  };

  int64_t now_ns = 0;  // of the plan; a repeated plan makes no new report
  DecisionTable decisions;
  std::vector<Group> groups;  // unordered; without groups that simply run
  std::vector<Queue> queues;  // empty: the plan has no queue numbers
  int64_t nodes = 0;
  int64_t pods = 0;
  int64_t pod_groups = 0;
  std::vector<Rejection> rejections;
  std::vector<std::pair<std::string, int64_t>> timing_ns;
};

Report ReportOf(const Plan& plan);

}  // namespace kai

#endif  // KAI_ENGINE_REPORT_H_
