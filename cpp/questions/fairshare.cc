// Questions to single functions of fair share.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <array>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "kai/actions/candidates.h"
#include "kai/actions/victim_queue.h"
#include "kai/actions/worklist.h"
#include "kai/fairshare/capacity.h"
#include "kai/fairshare/division.h"
#include "kai/fairshare/min_runtime.h"
#include "kai/fairshare/queue_order.h"
#include "kai/fairshare/reclaim_rule.h"
#include "kai/model/rows/cluster_rows.h"
#include "kai/texts/messages.h"
#include "questions/register.h"

namespace kai::questions {
namespace {

namespace py = pybind11;

// A queue as Python describes it.
struct QueueValue {
  std::string name;
  std::string parent;
  int64_t priority = 0;
  int64_t created_ns = 0;
  QueueShare share{};
  QueueSums sums;

  QueueView view() const { return {&share, &sums}; }
};

// One resource of a queue.
struct ShareValue {
  Share share;
  double allocated = 0;
  double allocated_non_preemptible = 0;
};

size_t ResourceOf(const std::string& name) {
  if (name == "cpu") return kQuotaCpu;
  if (name == "memory") return kQuotaMemory;
  if (name == "gpu") return kQuotaGpu;
  throw py::value_error("resource is \"cpu\", \"memory\" or \"gpu\", not \"" + name + "\"");
}

std::vector<Sibling> SiblingsOf(const std::vector<QueueValue*>& queues, size_t resource) {
  std::vector<Sibling> siblings;
  for (QueueValue* queue : queues) {
    siblings.push_back({.share = &queue->share[resource],
                        .priority = queue->priority,
                        .created_ns = queue->created_ns,
                        .name = queue->name});
  }
  return siblings;
}

std::pair<std::map<std::string, double>, double> DivideSiblings(double total, double k_value,
                                                                std::vector<QueueValue> queues,
                                                                const std::string& resource,
                                                                bool over_quota_only) {
  const size_t index = ResourceOf(resource);
  std::vector<QueueValue*> all;
  for (QueueValue& queue : queues) all.push_back(&queue);
  std::vector<Sibling> siblings = SiblingsOf(all, index);
  const double left = over_quota_only ? DivideOverQuota(total, k_value, siblings)
                                      : Divide(total, k_value, siblings);
  std::map<std::string, double> shares;
  for (const QueueValue& queue : queues) shares[queue.name] = queue.share[index].fair_share;
  return {shares, left};
}

std::map<std::string, QuotaVector> DivideTree(const QuotaVector& total, double k_value,
                                              std::vector<QueueValue> queues) {
  std::map<std::string, std::vector<QueueValue*>> children;  // by parent; "" is the top level
  for (QueueValue& queue : queues) children[queue.parent].push_back(&queue);
  std::vector<std::pair<QuotaVector, std::string>> to_divide = {{total, ""}};
  std::map<std::string, QuotaVector> shares;
  for (size_t i = 0; i < to_divide.size(); ++i) {
    const auto [amount, parent] = to_divide[i];
    const std::vector<QueueValue*>& below = children[parent];
    for (size_t resource = 0; resource < kQuotaResources; ++resource) {
      std::vector<Sibling> siblings = SiblingsOf(below, resource);
      Divide(amount[resource], k_value, siblings);
    }
    for (const QueueValue* queue : below) {
      const QuotaVector share = {queue->share[0].fair_share, queue->share[1].fair_share,
                                 queue->share[2].fair_share};
      // A queue that was seen before is in a cycle of parents.
      if (shares.emplace(queue->name, share).second) to_divide.emplace_back(share, queue->name);
    }
  }
  return shares;
}

int CompareQueues(const QueueValue& left, const QueueValue& right,
                  const std::optional<QuotaVector>& total,
                  const std::optional<QuotaVector>& left_job,
                  const std::optional<QuotaVector>& right_job,
                  const std::optional<std::vector<QuotaVector>>& left_victims,
                  const std::optional<std::vector<QuotaVector>>& right_victims) {
  const auto contender = [](const QueueValue& queue, const std::optional<QuotaVector>& job,
                            const std::optional<std::vector<QuotaVector>>& victims) {
    QueueContender made{.queue = queue.view(),
                        .priority = queue.priority,
                        .created_ns = queue.created_ns,
                        .candidate = job.value_or(QuotaVector{}),
                        .victims = {}};
    if (victims) {
      for (const QuotaVector& victim : *victims) made.victims += victim;
    }
    return made;
  };
  const bool left_first =
      GoesFirst(contender(left, left_job, left_victims), contender(right, right_job, right_victims),
                total.value_or(QuotaVector{}));
  return left_first ? -1 : 1;
}

// The queues of a question as the core's columns. A parent that is not among them is ignored.
class QueueTree {
 public:
  QueueTree() = default;
  explicit QueueTree(const std::vector<QueueValue>& queues) {
    for (const QueueValue& queue : queues) {
      Add(queue.name);
      shares_.Add(queue.share);
      sums_.Add(queue.sums);
    }
    for (const QueueValue& queue : queues) Hang(Get(queue.name), queue.parent);
  }
  QueueTable table() const { return {columns_, shares_, sums_}; }

  // The row of a new queue.
  QueueId Add(const std::string& name) {
    const QueueId row = columns_.name.Add(NameId());
    if (!rows_.emplace(name, row).second) throw py::value_error("there are two queues " + name);
    columns_.parent.Add(QueueId());
    columns_.preempt_min_runtime_ns.Add(std::nullopt);
    columns_.reclaim_min_runtime_ns.Add(std::nullopt);
    return row;
  }
  void Hang(QueueId queue, const std::string& parent) {
    columns_.parent[queue] = Find(parent);
    size_t depth = 0;
    for (QueueId at = queue; at.valid(); at = columns_.parent[at]) {
      if (++depth > columns_.size()) throw py::value_error("queue " + parent + " is above itself");
    }
  }

  QueueColumns& columns() { return columns_; }
  QueueId Find(const std::string& name) const {
    const auto found = rows_.find(name);
    return found == rows_.end() ? QueueId() : found->second;
  }
  QueueId Get(const std::string& name) const {
    const QueueId queue = Find(name);
    if (!queue.valid()) throw py::value_error("there is no queue " + name);
    return queue;
  }

 private:
  QueueColumns columns_;
  IndexVector<QueueId, QueueShare> shares_;
  IndexVector<QueueId, QueueSums> sums_;
  std::map<std::string, QueueId> rows_;
};

// (schedulable, reason, the queue that refuses, message)
std::tuple<bool, std::string, std::string, std::string> CheckCapacity(
    const std::vector<QueueValue>& queues, const std::string& name, const QuotaVector& requested,
    bool preemptible, const std::string& check) {
  const QueueTree tree(queues);
  const QueueId queue = tree.Find(name);
  const RequestedAmount asked(Adding::kAsKai, requested);
  CapacityAnswer answer;
  if (check == "limit" || check == "limitAndQuota") answer = CheckLimit(tree.table(), queue, asked);
  if (answer.fits() && !preemptible && (check == "quota" || check == "limitAndQuota")) {
    answer = CheckNonPreemptibleQuota(tree.table(), queue, asked);
  }
  if (answer.fits()) return {true, "", "", ""};
  const QuotaResource resource = answer.resource;
  const QueueValue& refusing = queues[answer.queue.index()];
  const Share& share = refusing.share[resource];
  if (answer.reason == CapacityReason::kOverLimit) {
    return {false, std::string(messages::kOverLimit), refusing.name,
            messages::OverLimit(refusing.name, resource, share.limit,
                                refusing.sums.allocated[resource], requested[resource])};
  }
  return {false, std::string(messages::kNonPreemptibleOverQuota), refusing.name,
          messages::NonPreemptibleOverQuota(refusing.name, resource, share.deserved,
                                            refusing.sums.allocated_non_preemptible[resource],
                                            requested[resource])};
}

bool ReclaimStrategy(const std::string& strategy, const QueueValue& reclaimer,
                     const QuotaVector& request, const QueueValue& victim,
                     const QuotaVector& remaining) {
  if (strategy == "maintainFairShare") return ExceedsAllocatable(victim.share, remaining);
  if (strategy == "guaranteeQuota") {
    return StaysWithinDeserved(reclaimer.view(), request) &&
           ExceedsDeserved(victim.share, remaining);
  }
  if (strategy == "any") {
    return ReclaimStrategy("maintainFairShare", reclaimer, request, victim, remaining) ||
           ReclaimStrategy("guaranteeQuota", reclaimer, request, victim, remaining);
  }
  throw py::value_error("strategy is \"maintainFairShare\", \"guaranteeQuota\" or \"any\", not \"" +
                        strategy + "\"");
}

bool Reclaimable(const std::vector<QueueValue>& queues, const std::string& reclaimer,
                 const QuotaVector& request, const std::string& question, bool preemptible,
                 const std::optional<std::string>& victim,
                 const std::vector<std::pair<std::string, QuotaVector>>& losses,
                 double saturation_multiplier) {
  const QueueTree tree(queues);
  ReclaimRule rule(tree.table(), {.queue = tree.Get(reclaimer), .preemptible = preemptible},
                   {.saturation_multiplier = saturation_multiplier});
  if (question == "canReclaim") return rule.MayStart(request);
  if (question == "victimCandidate") {
    return rule.MayBeVictim(tree.Get(victim.value_or("")), request);
  }
  if (question == "reclaimable") {
    std::vector<QueueLoss> pieces;
    for (const auto& [queue, amount] : losses)
      pieces.push_back({tree.Get(queue), amount, amount[kQuotaGpu]});
    return rule.Accepts(pieces, request);
  }
  throw py::value_error(
      "question is \"canReclaim\", \"victimCandidate\" or \"reclaimable\", not \"" + question +
      "\"");
}

// A queue with its parent, and its minimum run times for preemption and for reclaim.
using MinRuntimeQueue =
    std::tuple<std::string, std::string, std::optional<int64_t>, std::optional<int64_t>>;

int64_t ResolveMinRuntime(const std::vector<MinRuntimeQueue>& queues, const std::string& action,
                          const std::optional<std::string>& pending,
                          const std::optional<std::string>& victim, int64_t default_preempt_ns,
                          int64_t default_reclaim_ns, const std::string& method) {
  if (method != "lca" && method != "queue")
    throw py::value_error("method is \"lca\" or \"queue\", not \"" + method + "\"");
  QueueTree tree;
  for (const auto& [name, parent, preempt_ns, reclaim_ns] : queues) {
    const QueueId queue = tree.Add(name);
    tree.columns().preempt_min_runtime_ns[queue] = preempt_ns;
    tree.columns().reclaim_min_runtime_ns[queue] = reclaim_ns;
  }
  for (const auto& queue : queues) tree.Hang(tree.Get(std::get<0>(queue)), std::get<1>(queue));
  const MinRuntime runtime(
      tree.columns(), {.preempt_ns = default_preempt_ns,
                       .reclaim_ns = default_reclaim_ns,
                       .method = method == "queue" ? MinRuntime::Method::kQueue
                                                   : MinRuntime::Method::kLowestCommonAncestor});
  const QueueId victim_queue = tree.Find(victim.value_or(""));
  if (action == "preempt") return runtime.ForPreempt(victim_queue);
  if (action == "reclaim") return runtime.ForReclaim(tree.Find(pending.value_or("")), victim_queue);
  throw py::value_error("action is \"preempt\" or \"reclaim\", not \"" + action + "\"");
}

// Without pod sets: may the group be a victim; with pod sets: may it lose these pods.
bool MinRuntimeAllows(int64_t runtime_ns, std::optional<int64_t> ran_ns, bool elastic,
                      const std::optional<std::vector<std::array<int64_t, 3>>>& pod_sets) {
  const bool is_protected = ran_ns && *ran_ns < MinRuntime::EndOf(/*started_ns=*/0, runtime_ns);
  if (!pod_sets) return elastic || !is_protected;  // spec 1 F104, as preempt and reclaim check it
  std::vector<MinRuntime::PodSetLoss> losses;
  for (const auto& [min_available, active, victims] : *pod_sets)
    losses.push_back({min_available, active, victims});
  return MinRuntime::MayLose(elastic, is_protected, losses);
}

// A pod group in a question about order.
struct JobValue {
  std::string name;
  std::string queue;
  int64_t priority = 0;
  int64_t created_ns = 0;
  bool preemptible = false;
  bool ready = true;
  int64_t pending = 0;
  int64_t running = 0;
  bool within_preemption_delay = false;
  std::vector<std::tuple<int64_t, int64_t, int64_t>> pod_sets;  // minimum, active, pods
  QuotaVector request{};                                        // of each pod
};

constexpr int64_t kOrderNowNs =
    int64_t{4'000'000'000} * 1'000'000'000;  // later than any creation time in a question

PodGroupRow RowOf(const JobValue& job) {
  PodGroupRow row;
  row.namespace_name = "default";
  row.name = job.name;
  row.queue = job.queue;
  row.created_ns = job.created_ns;
  row.priority_class = "priority-" + std::to_string(job.priority);
  row.preemptibility = job.preemptible ? "preemptible" : "non-preemptible";
  row.min_member =
      job.ready ? (job.pod_sets.empty() ? 1 : std::get<0>(job.pod_sets[0])) : job.pending + 1;
  if (job.within_preemption_delay) row.preemption_delay_ns = kOrderNowNs;
  return row;
}

PodRow PodOf(const JobValue& job, int64_t number) {
  PodRow pod;
  pod.namespace_name = "default";
  pod.name = job.name + "-" + std::to_string(number);
  pod.pod_group = job.name;
  pod.scheduler_name = ShardParams{}.scheduler_name;
  pod.phase = Phase::kPending;
  pod.requests = {{"cpu", static_cast<int64_t>(job.request[kQuotaCpu])},
                  {"memory", static_cast<int64_t>(job.request[kQuotaMemory])}};
  if (job.request[kQuotaGpu] > 0) {
    pod.gpu.portion = 1;
    pod.gpu.count = static_cast<int64_t>(job.request[kQuotaGpu]);
  }
  return pod;
}

std::shared_ptr<Cluster> ClusterOf(const std::vector<QueueValue>& queues,
                                   const std::vector<JobValue>& jobs) {
  ClusterRows rows;
  for (const QueueValue& queue : queues) {
    QueueRow row;
    row.name = queue.name;
    row.parent = queue.parent;
    row.priority = queue.priority;
    row.created_ns = queue.created_ns;
    for (QuotaRow& quota : row.resources)
      quota = {.quota = 0, .over_quota_weight = 1, .limit = kUnlimited};
    rows.queues.push_back(std::move(row));
  }
  NodeRow node;  // for all running pods
  node.name = "node";
  node.ready = ConditionStatus::kTrue;
  node.allocatable = {{"cpu", 1'000'000}, {"memory", 1'000'000'000}, {"pods", 1'000}};
  rows.nodes.push_back(std::move(node));
  for (const JobValue& job : jobs) {
    PriorityClassRow priority;
    priority.name = "priority-" + std::to_string(job.priority);
    priority.value = job.priority;
    rows.priority_classes.push_back(std::move(priority));
    rows.pod_groups.push_back(RowOf(job));
    for (int64_t i = 0; i < job.pending + job.running; ++i) {
      PodRow pod = PodOf(job, i);
      if (i >= job.pending) {
        pod.phase = Phase::kRunning;
        pod.node_name = "node";
      }
      rows.pods.push_back(std::move(pod));
    }
  }
  return std::move(rows).Build();
}

// The order in which a queue of victims returns them, counting earlier victims as KAI does (spec 1
// W13).
class VictimPops {
 public:
  VictimPops(Cluster* cluster, const FairShares* shares, PodOrder* order, bool fair_share_order,
             const std::vector<PodGroupId>& candidates)
      : none_(cluster->pods().size()) {
    switches_.Set(Switch::kVictimShares, false);
    cycle_.cluster = cluster;
    cycle_.shares = shares;
    cycle_.order = order;
    cycle_.switches = &switches_;
    cycle_.worklist.by_fair_share = fair_share_order;
    pool_.emplace(cycle_, Candidates(candidates));
    queue_.emplace(&*pool_);
  }

  std::optional<PodGroupId> Next() {
    const std::optional<VictimBatch> batch = queue_->Next(none_);
    if (!batch) return std::nullopt;
    return batch->group;
  }

 private:
  Switches switches_;
  CycleView cycle_;
  PodMarks none_;
  std::optional<VictimPool> pool_;
  std::optional<VictimQueue> queue_;
};

// The order in which a worklist returns pod groups, or a queue of victims returns victims. `steps`
// are pops (None) and, for a worklist, pushes of groups that wait from the start or are new.
std::vector<std::optional<std::string>> JobOrder(
    const std::vector<QueueValue>& queues, const std::vector<JobValue>& jobs,
    const std::vector<std::optional<JobValue>>& steps, bool fair_share_order, bool filter_unready,
    bool filter_non_pending, bool filter_non_preemptible, bool filter_non_active_allocated,
    bool filter_within_preemption_delay, bool victims, int64_t max_per_queue) {
  std::vector<JobValue> all = jobs;
  std::set<std::string> waits_from_the_start;
  for (const JobValue& job : jobs) waits_from_the_start.insert(job.name);
  std::set<std::string> known = waits_from_the_start;
  for (const std::optional<JobValue>& step : steps) {
    if (step && victims) throw py::value_error("nothing is pushed into a queue of victims");
    if (step && known.insert(step->name).second) all.push_back(*step);
  }
  const std::shared_ptr<Cluster> cluster = ClusterOf(queues, all);
  const QueueUsage usage(*cluster);
  const FairShares shares(*cluster, usage, {});
  const PlacingOrder placing(*cluster, {});
  PodOrder order(placing, {});
  const CandidateFilter filter{.ready = filter_unready,
                               .pending = filter_non_pending,
                               .preemptible = filter_non_preemptible,
                               .active = filter_non_active_allocated};
  Worklist worklist(*cluster, &shares, &order,
                    {.by_fair_share = fair_share_order, .depth = max_per_queue});
  std::map<std::string, PodGroupId> by_name;
  std::vector<PodGroupId> candidates;
  for (const PodGroupId group : InOrderOfCreation(cluster->pod_groups())) {
    const std::string name(cluster->Text(cluster->pod_groups().name[group]));
    by_name[name] = group;
    if (waits_from_the_start.contains(name) && IsCandidate(*cluster, order, group, filter) &&
        (!filter_within_preemption_delay ||
         EndOfPreemptionDelay(*cluster, group, cluster->pod_groups().last_eviction_ns[group]) <=
             kOrderNowNs)) {
      candidates.push_back(group);
      worklist.Push(group);
    }
  }
  VictimPops victim_pops(cluster.get(), &shares, &order, fair_share_order, candidates);
  std::vector<std::optional<std::string>> popped;
  for (const std::optional<JobValue>& step : steps) {
    std::optional<PodGroupId> next;
    if (step) {
      worklist.Push(by_name.at(step->name));
      continue;
    }
    if (victims) {
      next = victim_pops.Next();
    } else if (!worklist.empty()) {
      next = worklist.Pop();
    }
    popped.push_back(
        next ? std::optional<std::string>(cluster->Text(cluster->pod_groups().name[*next]))
             : std::nullopt);
  }
  return popped;
}

}  // namespace

void RegisterFairshare(py::module_& module) {
  py::class_<ShareValue>(module, "Share", py::is_final())
      .def(py::init([](double deserved, double limit, double over_quota_weight, double allocated,
                       double allocated_non_preemptible, double request, double usage,
                       double fair_share) {
             return ShareValue{.share = {.deserved = deserved,
                                         .limit = limit,
                                         .over_quota_weight = over_quota_weight,
                                         .request = request,
                                         .usage = usage,
                                         .fair_share = fair_share},
                               .allocated = allocated,
                               .allocated_non_preemptible = allocated_non_preemptible};
           }),
           py::kw_only(), py::arg("deserved") = 0.0, py::arg("limit") = 0.0,
           py::arg("over_quota_weight") = 0.0, py::arg("allocated") = 0.0,
           py::arg("allocated_non_preemptible") = 0.0, py::arg("request") = 0.0,
           py::arg("usage") = 0.0, py::arg("fair_share") = 0.0);

  py::class_<QueueValue>(module, "QueueShare", py::is_final())
      .def(py::init([](std::string name, std::string parent, int64_t priority, int64_t created_ns,
                       const ShareValue& cpu, const ShareValue& memory, const ShareValue& gpu) {
             return QueueValue{
                 .name = std::move(name),
                 .parent = std::move(parent),
                 .priority = priority,
                 .created_ns = created_ns,
                 .share = {cpu.share, memory.share, gpu.share},
                 .sums = {.allocated = {cpu.allocated, memory.allocated, gpu.allocated},
                          .allocated_non_preemptible = {cpu.allocated_non_preemptible,
                                                        memory.allocated_non_preemptible,
                                                        gpu.allocated_non_preemptible}}};
           }),
           py::kw_only(), py::arg("name"), py::arg("parent") = "", py::arg("priority") = 100,
           py::arg("created_ns") = 0, py::arg("cpu") = ShareValue{},
           py::arg("memory") = ShareValue{}, py::arg("gpu") = ShareValue{});

  py::class_<JobValue>(module, "Job", py::is_final())
      .def(py::init([](std::string name, std::string queue, int64_t priority, int64_t created_ns,
                       bool preemptible, bool ready, int64_t pending, int64_t running,
                       bool within_preemption_delay,
                       std::vector<std::tuple<int64_t, int64_t, int64_t>> pod_sets,
                       const QuotaVector& request) {
             return JobValue{.name = std::move(name),
                             .queue = std::move(queue),
                             .priority = priority,
                             .created_ns = created_ns,
                             .preemptible = preemptible,
                             .ready = ready,
                             .pending = pending,
                             .running = running,
                             .within_preemption_delay = within_preemption_delay,
                             .pod_sets = std::move(pod_sets),
                             .request = request};
           }),
           py::kw_only(), py::arg("name"), py::arg("queue"), py::arg("priority") = 0,
           py::arg("created_ns") = 0, py::arg("preemptible") = false, py::arg("ready") = true,
           py::arg("pending") = 0, py::arg("running") = 0,
           py::arg("within_preemption_delay") = false,
           py::arg("pod_sets") = std::vector<std::tuple<int64_t, int64_t, int64_t>>{},
           py::arg("request") = QuotaVector{});

  module.def("divide_siblings", &DivideSiblings, py::arg("total"), py::arg("k_value"),
             py::arg("queues"), py::arg("resource"), py::kw_only(),
             py::arg("over_quota_only") = false);
  module.def("divide_tree", &DivideTree, py::arg("total"), py::arg("k_value"), py::arg("queues"));
  module.def("compare_queues", &CompareQueues, py::arg("left"), py::arg("right"), py::kw_only(),
             py::arg("total") = std::nullopt, py::arg("left_job") = std::nullopt,
             py::arg("right_job") = std::nullopt, py::arg("left_victims") = std::nullopt,
             py::arg("right_victims") = std::nullopt);
  module.def("check_capacity", &CheckCapacity, py::arg("queues"), py::arg("queue"),
             py::arg("requested"), py::kw_only(), py::arg("preemptible"), py::arg("check"));
  module.def("reclaim_strategy", &ReclaimStrategy, py::arg("strategy"), py::arg("reclaimer"),
             py::arg("request"), py::arg("victim"), py::arg("remaining"));
  module.def("reclaimable", &Reclaimable, py::arg("queues"), py::arg("reclaimer"),
             py::arg("request"), py::kw_only(), py::arg("question"), py::arg("preemptible"),
             py::arg("victim") = std::nullopt,
             py::arg("losses") = std::vector<std::pair<std::string, QuotaVector>>{},
             py::arg("saturation_multiplier") = 1.0);
  module.def("min_runtime", &ResolveMinRuntime, py::arg("queues"), py::arg("action"), py::kw_only(),
             py::arg("pending") = std::nullopt, py::arg("victim") = std::nullopt,
             py::arg("default_preempt_ns") = 0, py::arg("default_reclaim_ns") = 0,
             py::arg("method") = "lca");
  module.def("min_runtime_allows", &MinRuntimeAllows, py::arg("runtime_ns"), py::arg("ran_ns"),
             py::kw_only(), py::arg("elastic"), py::arg("pod_sets") = std::nullopt);
  module.def("job_order", &JobOrder, py::arg("queues"), py::arg("jobs"), py::arg("steps"),
             py::kw_only(), py::arg("fair_share_order") = false, py::arg("filter_unready") = false,
             py::arg("filter_non_pending") = false, py::arg("filter_non_preemptible") = false,
             py::arg("filter_non_active_allocated") = false,
             py::arg("filter_within_preemption_delay") = false, py::arg("victims") = false,
             py::arg("max_per_queue") = -1);
}

}  // namespace kai::questions
