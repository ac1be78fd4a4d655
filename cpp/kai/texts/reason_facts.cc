#include "kai/texts/reason_facts.h"

#include <algorithm>
#include <utility>

#include "absl/base/attributes.h"
#include "kai/base/duration.h"
#include "kai/base/text.h"
#include "kai/texts/messages.h"
#include "kai/texts/reason_text.h"
#include "kai/texts/refusal_words.h"

namespace kai {
namespace {

std::string Text(NameId name, const Cluster& cluster) {
  return name.valid() ? std::string(cluster.Text(name)) : std::string();
}
std::vector<std::string> NamesOf(const std::vector<NameId>& names, const Cluster& cluster) {
  std::vector<std::string> texts;
  for (const NameId name : names) texts.push_back(Text(name, cluster));
  return texts;
}
FactValue TextOrNull(std::string text) {
  return text.empty() ? FactValue() : FactValue(std::move(text));
}
std::string NodeText(NodeId node, const Cluster& cluster) {
  return Text(cluster.nodes().name[node], cluster);
}

FactValue ForPeople(double amount, QuotaResource resource) {
  if (amount == kUnlimited) return {};
  return resource == kQuotaCpu ? amount / kMillicpuPerCore : amount;
}

Facts OfBound(const QueueBound& bound, std::string_view bound_name, const Cluster& cluster) {
  static constexpr std::string_view kResources[] = {"cpu", "memory", "gpu"};
  return {{"queue", Text(cluster.queues().name[bound.queue], cluster)},
          {"resource", std::string(kResources[bound.resource])},
          {bound_name, ForPeople(bound.bound, bound.resource)},
          {"allocated", ForPeople(bound.allocated, bound.resource)},
          {"requested", ForPeople(bound.requested, bound.resource)}};
}
// The same with the bounds that refuse as well, if there are any.
Facts OfBounds(const QueueBound& first, std::string_view name, const Cluster& cluster) {
  Facts facts = OfBound(first, name, cluster);
  std::vector<Facts> also;
  for (const QueueBound& each : first.other_limits) also.push_back(OfBound(each, "limit", cluster));
  for (const QueueBound& each : first.other_quotas)
    also.push_back(OfBound(each, "deserved", cluster));
  if (!also.empty()) facts.push_back({"also", std::move(also)});
  return facts;
}
Facts Of(const OverLimit& over, const Cluster& cluster) { return OfBounds(over, "limit", cluster); }
Facts Of(const OverQuota& over, const Cluster& cluster) {
  return OfBounds(over, "deserved", cluster);
}

// ---- refusals: a cause, the number of nodes, and the facts of the cause -------------------------

void AddMembers(Refusal refusal, const Cluster& cluster, Facts* facts) {
  if (refusal.cause() == Refusal::kShortage) {
    facts->push_back({"resource", cluster.slots().Name(refusal.slot())});
    if (refusal.for_overhead()) facts->push_back({"for_overhead", true});
  } else if (refusal.cause() == Refusal::kVolumes) {
    const VolumeAnswer answer = refusal.volumes();
    static constexpr std::string_view kBound[] = {"reached", "out_of_reach", "gone"};
    static constexpr std::string_view kDelayed[] = {"found", "no_volume", "no_space"};
    facts->push_back({"bound", std::string(kBound[static_cast<size_t>(answer.bound)])});
    facts->push_back({"to_bind", std::string(kDelayed[static_cast<size_t>(answer.delayed)])});
  }
}

struct AddNamedMembers {
  const Cluster& cluster;
  Facts* facts;

  void operator()(const LegacyMig& each) const { AddNode(each.node); }
  void operator()(const LegacyMigPods& each) const {
    std::vector<std::string> pods;
    for (const PodId pod : each.pods) pods.push_back(cluster.PodName(pod));
    facts->push_back({"pods", std::move(pods)});
  }
  void operator()(const QueueRefuses& each) const {
    for (Fact& fact : std::visit([&](const auto& over) { return Of(over, cluster); }, each.bound))
      facts->push_back(std::move(fact));
  }
  void operator()(const ClaimIsElsewhere& each) const {
    AddNode(each.node);
    facts->push_back({"claim", Text(cluster.claims().NameOf(each.claim), cluster)});
  }
  void operator()(const NoDevicesForClaims& each) const { AddNode(each.node); }
  void operator()(const ClaimsFail& each) const {
    AddNode(each.node);
    facts->push_back({"error", each.error});
  }
  void operator()(const ClaimsAreDeleted& each) const {
    facts->push_back({"claims", NamesOf(each.claims, cluster)});
  }
  void operator()(const NotEnoughStorage& each) const {
    std::vector<std::string> classes;
    for (const NotEnoughStorage::Class& storage : each.classes)
      classes.push_back(Text(storage.name, cluster));
    facts->push_back({"storage_classes", std::move(classes)});
  }

 private:
  void AddNode(NodeId node) const { facts->push_back({"node", NodeText(node, cluster)}); }
};

struct AddPodMembers {
  PodId pod;
  const Cluster& cluster;
  Facts* facts;

  void operator()(const VolumeRefusal& each) const {
    facts->push_back({"problem", std::string(WordOf(each.kind))});
    facts->push_back({"claim", TextOrNull(Text(each.claim, cluster))});
  }
  void operator()(const MissingConfigMaps& each) const {
    facts->push_back({"config_maps", NamesOf(each.names, cluster)});
  }
  void operator()(const LargerThanAnyNode& each) const {
    const double requested = cluster.RequestOf(pod)[each.slot.index()];
    facts->push_back({"resource", cluster.slots().Name(each.slot)});
    facts->push_back({"requested", ForPeople(cluster.slots(), each.slot, requested)});
    facts->push_back({"largest", ForPeople(cluster.slots(), each.slot, each.largest)});
  }
  void operator()(const ClaimRefusal& each) const {
    facts->push_back({"problem", std::string(WordOf(each.kind))});
    facts->push_back({"claim", TextOrNull(Text(each.claim, cluster))});
  }
  static double ForPeople(const ResourceSlots& slots, ResourceSlot slot, double amount) {
    return kai::ForPeople(slots, slot, amount);
  }
};

// GCC 12 warns of memory that is not initialized where this is inlined.
ABSL_ATTRIBUTE_NOINLINE void AddMembers(const PodRefusal& refusal, PodId pod,
                                        const Cluster& cluster, Facts* facts) {
  std::visit(AddPodMembers{pod, cluster, facts}, refusal);
}

std::vector<Facts> RefusalsOf(const NoNodeCause& cause, PodId pod, const Cluster& cluster) {
  std::vector<std::pair<std::string, Facts>> rows;  // with the texts by which they are sorted
  const auto add = [&](std::string_view word, int64_t nodes, std::string text) -> Facts* {
    Facts facts = {{"cause", std::string(word)}, {"nodes", nodes}};
    rows.emplace_back(StrCat(nodes, " ", text), std::move(facts));
    return &rows.back().second;
  };
  for (const auto& [refusal, nodes] : cause.refusals) {
    AddMembers(refusal, cluster,
               add(WordsOf(refusal.cause()).word, nodes, TextOf(refusal, pod, cluster)));
  }
  for (const auto& [refusal, nodes] : cause.named) {
    std::visit(AddNamedMembers{cluster, add(WordOf(refusal), nodes, TextOf(refusal, cluster))},
               refusal);
  }
  std::ranges::stable_sort(rows, {}, &std::pair<std::string, Facts>::first);
  std::vector<Facts> all;
  for (auto& [text, facts] : rows) all.push_back(std::move(facts));
  for (const PodRefusal& refusal : cause.pod) all.push_back(FactsOf(refusal, pod, cluster));
  return all;
}

std::vector<Facts> PodSetsOf(const std::vector<PodSetState>& sets, bool is_stale,
                             const Cluster& cluster) {
  std::vector<Facts> rows;
  for (const PodSetState& each : sets) {
    Facts facts = {{"subgroup", TextOrNull(std::string(cluster.SubgroupText(each.pod_set)))},
                   {"minimum", int64_t{each.minimum}},
                   {is_stale ? "active" : "exist", int64_t{each.pods}}};
    facts.push_back(is_stale ? Fact{"leaving", int64_t{each.leaving}}
                             : Fact{"gated", int64_t{each.gated}});
    rows.push_back(std::move(facts));
  }
  return rows;
}

struct Members {
  PodGroupId group;
  const Cluster& cluster;

  Facts operator()(const NoNode& each) const {
    return {{"refusals", RefusalsOf(*each.cause, each.pod, cluster)}};
  }
  Facts operator()(const GangIncomplete& each) const {
    const std::string_view name = cluster.Text(cluster.sub_groups().name[each.pod_set]);
    return {{"found", int64_t{each.found}},
            {"minimum", int64_t{each.minimum}},
            {"subgroup", each.is_whole_group ? FactValue() : FactValue(std::string(name))},
            {"refusals", RefusalsOf(*each.cause, each.pod, cluster)}};
  }
  Facts operator()(const OverLimit& each) const { return Of(each, cluster); }
  Facts operator()(const OverQuota& each) const { return Of(each, cluster); }
  Facts operator()(const PreemptionDelay& each) const {
    return {{"delay", FormatDuration(each.delay_ns)},
            {"until", messages::Second(each.end_ns)},
            {"unkept_promises", each.unkept}};
  }
  Facts operator()(const NoSuchTopology& each) const {
    return {{"topology", Text(each.topology, cluster)}};
  }
  Facts operator()(const UnknownLevel& each) const {
    return {{"topology", Text(each.topology, cluster)},
            {"level", Text(each.level, cluster)},
            {"subgroup", TextOrNull(Text(each.subgroup, cluster))}};
  }
  Facts operator()(const NoLevel& each) const {
    return {{"topology", Text(each.topology, cluster)},
            {"subgroup", TextOrNull(Text(each.subgroup, cluster))}};
  }
  Facts operator()(const DomainTooSmall& each) const {
    return {{"domain", each.domain}, {"holds", each.holds}, {"wanted", each.wanted}};
  }
  Facts operator()(const DomainsLack& each) const {
    return {{"resource", cluster.slots().Name(each.slot)}};
  }
  Facts operator()(const TopologyNotSatisfied& each) const {
    return {{"topology", Text(each.topology, cluster)},
            {"level", TextOrNull(Text(each.level, cluster))},
            {"subgroup", TextOrNull(Text(each.subgroup, cluster))},
            {"within", each.within ? FactValue(*each.within) : FactValue()}};
  }
  Facts operator()(const DomainCountNotMet& each) const {
    return {{"level", Text(each.level, cluster)},
            {"least", int64_t{each.least}},
            {"most", each.most > 0 ? FactValue(int64_t{each.most}) : FactValue()},
            {"balanced", each.is_balanced}};
  }
  Facts operator()(const NotReady& each) const {
    return {{"pod_sets", PodSetsOf(each.pod_sets, false, cluster)}};
  }
  Facts operator()(const Stale& each) const {
    return {{"pod_sets", PodSetsOf(each.pod_sets, true, cluster)}};
  }
  Facts operator()(const NoQueue&) const {
    return {{"queue", Text(cluster.pod_groups().queue_name[group], cluster)}};
  }
  Facts operator()(const QueueNotLeaf& each) const {
    return {{"queue", Text(cluster.queues().name[each.queue], cluster)}};
  }
  Facts operator()(const NoSubgroup& each) const {
    return {{"subgroup", Text(cluster.pods().subgroup[each.pod], cluster)}};
  }
  Facts operator()(const NotBuilt&) const { return {{"feature", "namespace-selector"}}; }
  Facts operator()(const NoPods&) const { return {}; }
  Facts operator()(const Completed&) const { return {}; }
  Facts operator()(const NotConsidered&) const { return {}; }
  Facts operator()(const SearchBudgetSpent&) const { return {}; }
};

}  // namespace

Facts FactsOf(const Reason& reason, PodGroupId group, const Cluster& cluster) {
  return std::visit(Members{group, cluster}, reason);
}

Facts FactsOf(Refusal refusal, const Cluster& cluster) {
  Facts facts = {{"cause", std::string(WordsOf(refusal.cause()).word)}};
  AddMembers(refusal, cluster, &facts);
  return facts;
}

Facts FactsOf(const NamedRefusal& refusal, const Cluster& cluster) {
  Facts facts = {{"cause", std::string(WordOf(refusal))}};
  std::visit(AddNamedMembers{cluster, &facts}, refusal);
  return facts;
}

Facts FactsOf(const PodRefusal& refusal, PodId pod, const Cluster& cluster) {
  Facts facts = {{"cause", std::string(WordOf(refusal))}};
  AddMembers(refusal, pod, cluster, &facts);
  return facts;
}

}  // namespace kai
