#include "kai/session/digest.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <type_traits>
#include <variant>

#include "absl/container/flat_hash_map.h"
#include "kai/session/group_story.h"
#include "kai/session/plan_texts.h"

namespace kai {
namespace {

constexpr size_t kPlaces = 3;  // nodes that a row names

// ---- decisions ----------------------------------------------------------------------------------

// The key of a row: decisions with equal keys are in one row. The subject is the group or, if rows
// are merged, its queue.
struct RowKey {
  int32_t kind = 0;
  int32_t subject = 0;
  std::string_view action;
  PodGroupId for_group;

  friend bool operator==(const RowKey&, const RowKey&) = default;
  template <typename H>
  friend H AbslHashValue(H h, const RowKey& key) {
    return H::combine(std::move(h), key.kind, key.subject, key.action, key.for_group);
  }
};

// Rows in the order of their first decisions.
class Rows {
 public:
  size_t Of(const RowKey& key) {
    const auto [found, is_new] = place_.try_emplace(key, keys_.size());
    if (is_new) keys_.push_back(key);
    return found->second;
  }
  const std::vector<RowKey>& keys() const { return keys_; }

 private:
  std::vector<RowKey> keys_;
  absl::flat_hash_map<RowKey, size_t> place_;
};

class RowMaker {
 public:
  RowMaker(const Plan& plan, const DecisionTable& decisions)
      : plan_(plan), cluster_(*plan.cluster), table_(decisions) {}

  DecisionRows Make(size_t most) {
    for (size_t i = 0; i < table_.size(); ++i) {
      const CycleLog::Decision& each = plan_.decisions[i];
      by_group_.push_back(groups_.Of({.kind = table_.kind[i],
                                      .subject = SubjectOf(each.pod),
                                      .action = each.action,
                                      .for_group = each.for_group}));
    }
    std::vector<size_t> row_of(groups_.keys().size());
    std::iota(row_of.begin(), row_of.end(), size_t{0});
    const std::vector<RowKey>* keys = &groups_.keys();
    Rows folded;
    if (keys->size() > most) {
      for (size_t row = 0; row < row_of.size(); ++row) {
        RowKey key = groups_.keys()[row];
        key.subject = QueueOf(key.subject);
        row_of[row] = folded.Of(key);
      }
      keys = &folded.keys();
    }
    Count(row_of, *keys, most);
    return std::move(made_);
  }

 private:
  // The group; for a pod without one, a number below -1 that differs for each pod.
  int32_t SubjectOf(PodId pod) const {
    const PodGroupId group = cluster_.pods().group[pod];
    return group.valid() ? group.value() : -2 - pod.value();
  }
  int32_t QueueOf(int32_t subject) const {
    if (subject < 0) return -1;
    return cluster_.pod_groups().queue_name[PodGroupId(subject)].value();
  }
  std::string NameOf(int32_t subject) const {
    if (subject < 0) return cluster_.PodName(PodId(-2 - subject));
    return cluster_.PodGroupName(PodGroupId(subject));
  }

  void Count(const std::vector<size_t>& row_of, const std::vector<RowKey>& keys, size_t most) {
    std::vector<DecisionRow>& rows = made_.rows;
    rows.resize(std::min(most, keys.size()));
    for (size_t i = 0; i < rows.size(); ++i) {
      rows[i].kind = keys[i].kind;
      rows[i].action = keys[i].action;
      if (keys[i].for_group.valid()) rows[i].for_group = cluster_.PodGroupName(keys[i].for_group);
    }
    for (size_t group = 0; group < row_of.size(); ++group) {
      if (row_of[group] >= rows.size()) {
        ++made_.hidden_groups;
        continue;
      }
      DecisionRow& row = rows[row_of[group]];
      if (++row.groups == 1) row.group = NameOf(groups_.keys()[group].subject);
    }
    // Within a row, decisions about its first group come first.
    std::vector<size_t> order(by_group_.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::ranges::stable_sort(order, {}, [&](size_t i) { return by_group_[i]; });
    std::vector<std::vector<std::pair<int32_t, int64_t>>> places(rows.size());
    std::vector<absl::flat_hash_map<int32_t, size_t>> place_of(rows.size());
    std::vector<DeviceSum> sums(rows.size(), DeviceSum(cluster_));
    for (const size_t i : order) {
      const size_t at = row_of[by_group_[i]];
      if (at >= rows.size()) {
        ++made_.hidden_pods;
        continue;
      }
      ++rows[at].pods;
      if (plan_.decisions[i].kind != CycleLog::Decision::Kind::kEvict) {
        const PodId pod = plan_.decisions[i].pod;
        rows[at].gpus += table_.gpus[i] + GpusOfSlices(pod, cluster_) - sums[at].CountedOf(pod);
      }
      const int32_t node = table_.node.codes()[i];
      if (node == CodedColumn::kNone) continue;
      const auto [found, is_new] = place_of[at].try_emplace(node, places[at].size());
      if (is_new) places[at].push_back({node, 0});
      ++places[at][found->second].second;
    }
    for (size_t at = 0; at < rows.size(); ++at) {
      rows[at].nodes = static_cast<int64_t>(places[at].size());
      for (size_t i = 0; i < std::min(kPlaces, places[at].size()); ++i) {
        const auto [node, pods] = places[at][i];
        rows[at].places.emplace_back(table_.node.texts()[static_cast<size_t>(node)], pods);
      }
    }
  }

  const Plan& plan_;
  const Cluster& cluster_;
  const DecisionTable& table_;
  Rows groups_;
  std::vector<size_t> by_group_;  // row number by decision
  DecisionRows made_;
};

// ---- waiting groups -----------------------------------------------------------------------------

template <typename Number>
void AddNumber(Number number, std::string* key) {
  char bytes[sizeof(Number)];
  std::memcpy(bytes, &number, sizeof(Number));
  key->append(bytes, sizeof(Number));
}

void AddText(std::string_view text, std::string* key) {
  AddNumber(text.size(), key);
  key->append(text);
}

void AddAmounts(const Amounts& amounts, std::string* key) {
  AddNumber(amounts.size(), key);
  for (const auto& [gpus, pods] : amounts) {
    AddNumber(gpus, key);
    AddNumber(pods, key);
  }
}

int64_t SumOf(const std::vector<GroupStory::OnNode>& nodes) {
  int64_t sum = 0;
  for (const GroupStory::OnNode& each : nodes) sum += each.pods;
  return sum;
}

void AddFacts(const Facts& facts, std::string* key) {
  AddNumber(facts.size(), key);
  for (const Fact& fact : facts) {
    AddText(fact.name, key);
    AddNumber(fact.value.index(), key);
    std::visit(
        [&]<typename Value>(const Value& value) {
          if constexpr (std::is_same_v<Value, std::string>) {
            AddText(value, key);
          } else if constexpr (std::is_same_v<Value, std::vector<std::string>>) {
            AddNumber(value.size(), key);
            for (const std::string& each : value) AddText(each, key);
          } else if constexpr (std::is_same_v<Value, std::vector<Facts>>) {
            AddNumber(value.size(), key);
            for (const Facts& each : value) AddFacts(each, key);
          } else if constexpr (!std::is_same_v<Value, std::monostate>) {
            AddNumber(value, key);
          }
        },
        fact.value);
  }
}

// The text without any occurrence of the name.
std::string Without(std::string_view name, std::string_view text) {
  std::string rest;
  for (size_t at = text.find(name); at != text.npos && !name.empty(); at = text.find(name)) {
    rest.append(text.substr(0, at));
    rest.push_back('\1');
    text.remove_prefix(at + name.size());
  }
  rest.append(text);
  return rest;
}

class Classes {
 public:
  explicit Classes(const Plan& plan) : plan_(plan), cluster_(*plan.cluster) {}

  std::vector<WaitingClass> Make() {
    std::vector<PodGroupId> waiting;
    for (const PodGroupId group : cluster_.pod_groups().name.ids()) {
      if (cluster_.pod_groups().name[group].valid() && !plan_.outcomes->IsSimplyRunning(group) &&
          IsWaiting((*plan_.outcomes)[group].outcome.verdict))
        waiting.push_back(group);
    }
    const std::vector<GroupStory> stories = StoriesOf(plan_, waiting);
    absl::flat_hash_map<std::string, size_t> place;
    std::vector<WaitingClass> classes;
    std::vector<NameId> queues;  // of the first group of each class
    for (size_t i = 0; i < waiting.size(); ++i) {
      const auto [found, is_new] = place.try_emplace(KeyOf(waiting[i], stories[i]), place.size());
      const NameId queue = cluster_.pod_groups().queue_name[waiting[i]];
      if (is_new) {
        classes.emplace_back();
        queues.push_back(queue);
      }
      WaitingClass& own = classes[found->second];
      own.names.push_back(cluster_.PodGroupName(waiting[i]));
      own.spans_queues |= queue != queues[found->second];
    }
    for (WaitingClass& each : classes) {
      if (!std::ranges::is_sorted(each.names)) std::ranges::sort(each.names);
    }
    std::ranges::sort(classes, {},
                      [](const auto& each) { return std::string_view(each.names[0]); });
    return classes;
  }

 private:
  std::string KeyOf(PodGroupId group, const GroupStory& story) {
    std::string key;
    AddNumber(LimitedQueue(cluster_.pod_groups().queue[group]), &key);
    AddNumber(ReasonsNumber(group), &key);
    AddNumber(story.least, &key);
    AddAmounts(story.pods, &key);
    AddAmounts(story.waiting, &key);
    for (const PodClassId each : story.classes) AddNumber(each, &key);
    if (story.sharer.valid()) {
      const GpuRequest& gpu = cluster_.ClassOf(story.sharer).gpu;
      AddNumber(gpu.kind, &key);
      AddNumber(gpu.count, &key);
      AddNumber(gpu.kind == GpuRequestKind::kFraction ? gpu.portion : 0.0, &key);
      AddNumber(gpu.kind == GpuRequestKind::kMemory ? gpu.memory_mib : 0, &key);
    }
    for (const int64_t number : {story.placed, SumOf(story.running), SumOf(story.bound),
                                 SumOf(story.promised), story.evicted, story.lost}) {
      AddNumber(number, &key);
    }
    AddNumber(story.moves, &key);
    for (const GroupStory::Cause& cause : story.causes) {
      AddText(cause.action, &key);
      AddNumber(cause.for_group, &key);
      AddNumber(cause.pods, &key);
    }
    return key;
  }

  // The queue, or the nearest one above it, that has a limit of GPUs; invalid if none has.
  QueueId LimitedQueue(QueueId queue) const {
    if (!plan_.has_queue_numbers) return QueueId();
    while (queue.valid() && plan_.queues[queue][kQuotaGpu].limit == kUnlimited)
      queue = cluster_.queues().parent[queue];
    return queue;
  }

  // Equal for groups with the same verdict and the same reasons. Most groups share an outcome,
  // which is read once.
  size_t ReasonsNumber(PodGroupId group) {
    const GroupOutcome* outcome = &(*plan_.outcomes)[group].outcome;
    const auto [known, is_new] = of_outcome_.try_emplace(outcome, 0);
    if (!is_new) return known->second;
    std::string text;
    AddNumber(outcome->verdict, &text);
    const std::string own = cluster_.PodGroupName(group);
    for (const ReportedReason& reason : ReasonsOf(plan_, group, /*evictions=*/false)) {
      AddText(reason.code, &text);
      AddFacts(FactsOf(plan_, reason, group), &text);
      const std::string pod = reason.pod.valid() ? cluster_.PodName(reason.pod) : "";
      AddText(Without(own, Without(pod, reason.message)), &text);
    }
    known->second = of_text_.try_emplace(std::move(text), of_text_.size()).first->second;
    return known->second;
  }

  const Plan& plan_;
  const Cluster& cluster_;
  absl::flat_hash_map<const GroupOutcome*, size_t> of_outcome_;
  absl::flat_hash_map<std::string, size_t> of_text_;
};

}  // namespace

bool IsWaiting(Verdict verdict) {
  switch (verdict) {
    case Verdict::kPlaced:
    case Verdict::kRunning:
      return false;
    case Verdict::kPipelined:
    case Verdict::kPartlyPlaced:
    case Verdict::kUnschedulable:
    case Verdict::kNotReady:
    case Verdict::kInvalid:
      return true;
  }
  return true;
}

PlanCounts PageCountsOf(const Plan& plan) {
  PlanCounts counts;
  for (const CycleLog::Decision& each : plan.decisions)
    ++counts.decisions[static_cast<size_t>(each.kind)];
  const PodGroupColumns& groups = plan.cluster->pod_groups();
  for (const PodGroupId group : groups.name.ids()) {
    if (!groups.name[group].valid()) continue;
    ++counts.groups;
    if (!plan.outcomes->IsSimplyRunning(group) &&
        IsWaiting((*plan.outcomes)[group].outcome.verdict))
      ++counts.waiting;
  }
  return counts;
}

DecisionRows DecisionRowsOf(const Plan& plan, const DecisionTable& decisions, size_t most) {
  return RowMaker(plan, decisions).Make(most);
}

std::vector<WaitingClass> WaitingClassesOf(const Plan& plan) { return Classes(plan).Make(); }

}  // namespace kai
