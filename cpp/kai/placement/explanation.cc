#include "kai/placement/explanation.h"

#include <algorithm>
#include <utility>

#include "kai/base/heap_bytes.h"

namespace kai {
namespace {

// With more resources there are too many combinations of missing ones.
constexpr size_t kMostPlainSlots = 8;
// If more classes of pods than this were explained, nodes are checked by their states, but only
// with at least this many nodes per state.
constexpr int kClassesWithoutStates = 8;
constexpr size_t kNodesAState = 4;

// Devices that pods share.
double SharedDevices(const Cluster& cluster, NodeId node) {
  return static_cast<double>(std::ranges::count_if(
      cluster.nodes().shared_gpus[node], [](const SharedGpu& each) { return each.used > 0; }));
}

}  // namespace

NoNodeCausePtr Explanations::Of(PodId pod, const OrderedNodes& nodes,
                                const QueueAllowance* allowance) {
  const PodClassId pod_class = cluster_.pods().pod_class[pod];
  const ClassPlan& plan = plans_.Of(pod_class);
  if (plan.is_refused || plan.IsRefusedNow(pod_class)) return RefusalOf(pod);
  const bool is_limited = plan.shares && allowance != nullptr && !plan.charges.empty() &&
                          !allowance->Allows(plan.charges.back());
  const Question question{pod_class, plan, is_limited ? allowance : nullptr,
                          IsPlain(pod_class, plan)};
  // Other pods of the class can belong to other queues, and may search other nodes.
  if (is_limited || nodes.members() != nullptr) {
    CheckAllNodes(question, nodes, &passing_);
    return passing_.cause;
  }
  std::unique_ptr<Answers>& kept = kept_[pod_class];
  if (kept == nullptr) kept = std::make_unique<Answers>();
  Refresh(question, nodes, kept.get());
  return kept->cause;
}

NoNodeCausePtr Explanations::RefusalOf(PodId pod) const {
  NoNodeCause cause;
  cause.pod = plans_.RefusalsOf(pod);
  return std::make_shared<const NoNodeCause>(std::move(cause));
}

bool Explanations::IsPlain(PodClassId pod_class, const ClassPlan& plan) const {
  const PodClass& pods = cluster_.pod_classes().info[pod_class];
  return !plan.shares && !plan.claims && !plan.has_overhead && plan.room_filters.empty() &&
         !pods.claims.valid() && pods.gpu.dra == 0 && pods.gpu.memory_mib == 0 &&
         cluster_.slots().size() <= kMostPlainSlots &&
         std::ranges::none_of(plans_.rules().filters, [&](const std::unique_ptr<Filter>& filter) {
           return filter->ScopeFor(pod_class) == Filter::Scope::kNode;
         });
}

void Explanations::Refresh(const Question& question, const OrderedNodes& nodes, Answers* answers) {
  if (answers->version == touched_.version()) return;
  const bool looks_further = std::ranges::any_of(
      question.plan.node_filters,
      [&](const Filter* filter) { return filter->LooksBeyondNode(question.pod_class); });
  Prepare(question, answers);
  // Only touched nodes can have a new answer.
  const size_t size = cluster_.nodes().size();
  if (answers->of_node.size() < size) answers->of_node.Resize(size, -1);
  const auto ask = [&](NodeId node) {
    node.index() < size ? CheckNode(question, node, answers) : RemoveAnswer(node, answers);
  };
  if (looks_further || !touched_.VisitSince(answers->version, size, ask))
    return CheckAllNodes(question, nodes, answers);
  Conclude(answers);
}

void Explanations::Prepare(const Question& question, Answers* answers) {
  answers->of_class.clear();
  if (!question.is_plain || nodes_alike_ == Alike::kNo || classes_checked_ <= kClassesWithoutStates)
    return;
  states_.Refresh();
  if (nodes_alike_ == Alike::kUnknown) {
    const bool is_alike = states_.size() * kNodesAState <= cluster_.nodes().size();
    nodes_alike_ = is_alike ? Alike::kYes : Alike::kNo;
  }
  if (std::exchange(answers->generation, states_.generation()) != states_.generation())
    answers->of_state.clear();
}

void Explanations::CheckAllNodes(const Question& question, const OrderedNodes& nodes,
                                 Answers* answers) {
  if (question.is_plain) ++classes_checked_;
  Prepare(question, answers);
  answers->of_lacking.clear();
  answers->of_state.clear();
  answers->answers.clear();
  answers->nodes_with.clear();
  answers->of_node = IndexVector<NodeId, int32_t>(cluster_.nodes().size(), -1);
  nodes.ForEach([&](NodeId node) { CheckNode(question, node, answers); });
  Conclude(answers);
}

void Explanations::Conclude(Answers* answers) const {
  answers->version = touched_.version();
  FitReport report;
  for (size_t i = 0; i < answers->answers.size(); ++i)
    report.Add(answers->answers[i], answers->nodes_with[i]);
  answers->cause = std::make_shared<const NoNodeCause>(report.cause());
}

void Explanations::CheckNode(const Question& question, NodeId node, Answers* answers) {
  const bool by_state = nodes_alike_ == Alike::kYes;  // Prepare() has numbered the states
  const int32_t answered = question.is_plain ? (by_state ? AnswerInState(question, node, answers)
                                                         : WhyNotPlainly(question, node, answers))
                                             : PlaceOf(WhyNot(question, node), answers);
  int32_t& place = answers->of_node[node];
  if (place == answered) return;
  if (place >= 0) --answers->nodes_with[static_cast<size_t>(place)];
  place = answered;
  ++answers->nodes_with[static_cast<size_t>(place)];
}

int32_t Explanations::AnswerInState(const Question& question, NodeId node, Answers* answers) {
  const auto state = static_cast<size_t>(states_.Of(node));
  std::vector<int32_t>& of_state = answers->of_state;
  if (state >= of_state.size()) of_state.resize(states_.size(), -1);
  if (of_state[state] < 0) of_state[state] = WhyNotPlainly(question, node, answers);
  return of_state[state];
}

int32_t Explanations::WhyNotPlainly(const Question& question, NodeId node, Answers* answers) {
  const NodeColumns& nodes = cluster_.nodes();
  const std::span<const double> request = question.plan.request;
  const std::span<const double> idle = nodes.idle[node];
  if (FitsSum(request, idle, nodes.releasing[node])) {
    const size_t node_class = nodes.node_class[node].index();
    if (node_class >= answers->of_class.size())
      answers->of_class.resize(cluster_.node_classes().size(), -1);
    if (answers->of_class[node_class] < 0) {
      node_report_.Clear();
      ReportRefusal(question, node);
      answers->of_class[node_class] = PlaceOf(node_report_.answer(), answers);
    }
    return answers->of_class[node_class];
  }
  size_t lacking = 0;
  if (!Fits(request, idle)) {
    const std::span<const double> allocatable = nodes.allocatable[node];
    const std::span<const double> used = nodes.used[node];
    for (size_t i = 0; i < request.size(); ++i) {
      const double taken = used[i] + (i == kGpuSlot.index() ? SharedDevices(cluster_, node) : 0);
      if (request[i] > allocatable[i] - taken) lacking |= size_t{1} << i;
    }
  }
  if (answers->of_lacking.empty()) answers->of_lacking.resize(size_t{1} << request.size(), -1);
  int32_t& known = answers->of_lacking[lacking];
  if (known < 0) {
    known = PlaceOf(lacking == 0 ? FitReport::Answer() : ShortagesOn(question, node), answers);
  }
  return known;
}

int32_t Explanations::PlaceOf(FitReport::Answer answer, Answers* answers) {
  const auto known = std::ranges::find(answers->answers, answer);
  const auto place = static_cast<int32_t>(known - answers->answers.begin());
  if (known == answers->answers.end()) {
    answers->answers.push_back(std::move(answer));
    answers->nodes_with.push_back(0);
  }
  return place;
}

// The node was removed.
void Explanations::RemoveAnswer(NodeId node, Answers* answers) {
  if (node.index() >= answers->of_node.size()) return;
  const int32_t place = std::exchange(answers->of_node[node], -1);
  if (place >= 0) --answers->nodes_with[static_cast<size_t>(place)];
}

FitReport::Answer Explanations::WhyNot(const Question& question, NodeId node) {
  const auto& [pod_class, plan, allowance, agree] = question;
  node_report_.Clear();
  const bool has_other_room = std::ranges::all_of(plan.room_filters, [&](const Filter* filter) {
    return filter->Check(question.pod_class, node, &node_report_);
  });
  if (has_other_room && room_.Holds(pod_class, plan, node, Room::kLater)) {
    ReportRefusal(question, node);
    return node_report_.answer();
  }
  const std::span<const double> request =
      plan.shares ? std::span<const double>(plan.request) : room_.RequestOn(pod_class, node);
  if (Fits(request, cluster_.nodes().idle[node]) &&
      (!plan.shares || room_.HasDevices(pod_class, node, Room::kNow)))
    return node_report_.answer();
  return ShortagesOn(question, node);
}

void Explanations::ReportRefusal(const Question& question, NodeId node) {
  const auto& [pod_class, plan, allowance, agree] = question;
  // The first refusal is the answer (spec 3 P3a-P10).
  if (plan.shares && allowance != nullptr) {
    const double gpus = cluster_.GpusRequestedOn(pod_class, node);
    if (!allowance->Allows(gpus)) return node_report_.Count(allowance->Why(gpus));
  }
  if (plan.shares && !room_.HasPodSlots(pod_class, node))
    return node_report_.Count(Refusal::kNotEnoughPodSlots);
  for (const std::unique_ptr<Filter>& filter : plans_.rules().filters) {
    if (filter->ScopeFor(pod_class) == Filter::Scope::kNothing) continue;
    if (!filter->Check(pod_class, node, &node_report_)) return;
  }
}

// spec 3 E1, E2: only a node that lacks idle resources has reasons: one for each resource with a
// smaller unused amount than the request; promised amounts count as unused. A node that lacks only
// resources promised to other pods refuses without a reason.
FitReport::Answer Explanations::ShortagesOn(const Question& question, NodeId node) const {
  const PodClassId pod_class = question.pod_class;
  FitReport::Answer answer;
  const auto add = [&](Refusal refusal) {
    answer.refusals.push_back(static_cast<uint16_t>(refusal.index()));
  };
  const GpuRequest& gpu = cluster_.pod_classes().info[pod_class].gpu;
  const NodeColumns& nodes = cluster_.nodes();
  const std::span<const double> allocatable = nodes.allocatable[node];
  const std::span<const double> used = nodes.used[node];
  const auto claimed = static_cast<double>(gpu.dra);
  bool lacks_claimed = false;
  const bool for_overhead = question.plan.has_overhead && WouldFitWithoutOverhead(question, node);
  // A memory request is no GPU request, unless it is larger than one GPU.
  const bool too_large = gpu.memory_mib > cluster_.GpuCapacityMib(node);
  if (too_large) add(Refusal::kNotEnoughGpuMemory);
  const std::span<const double> request = room_.RequestOn(pod_class, node);
  for (size_t i = 0; i < request.size(); ++i) {
    double wanted = request[i];
    double taken = used[i];
    if (i == kGpuSlot.index()) {
      if (too_large) wanted = cluster_.AcceptedOn(pod_class, node)[kQuotaGpu];
      taken += SharedDevices(cluster_, node);
    }
    const double free = allocatable[i] - taken;
    if (wanted <= free) continue;
    // spec 3 E5: only GPUs outside of claims are reported.
    if (i == kGpuSlot.index() && claimed > 0 && wanted - claimed <= std::max(free, 0.0)) {
      lacks_claimed = true;
    } else {
      add(Refusal::NotEnough(ResourceSlot(i), for_overhead));
    }
  }
  if (lacks_claimed && answer.refusals.empty()) add(Refusal::kWithoutText);
  return answer;
}

// Whether the pod fits without its overhead; the resources that others use do not change (spec 3
// E4).
bool Explanations::WouldFitWithoutOverhead(const Question& question, NodeId node) const {
  const auto& [pod_class, plan, allowance, agree] = question;
  const std::span<const double> overhead = cluster_.pod_classes().overhead[pod_class];
  const std::span<const double> request =
      plan.claims ? room_.RequestOn(pod_class, node) : std::span<const double>(plan.request);
  return FitsSum(request, cluster_.nodes().idle[node], overhead) &&
         (!plan.shares || room_.HasDevices(pod_class, node, Room::kNow));
}

size_t Explanations::HeapBytes() const { return HeapBytesOfAll(kept_, passing_, states_); }

}  // namespace kai
