#include "kai/texts/reason_text.h"

#include <map>
#include <span>
#include <utility>
#include <vector>

#include "kai/api/rounding.h"
#include "kai/base/text.h"
#include "kai/texts/messages.h"
#include "kai/texts/refusal_messages.h"
#include "kai/texts/refusal_words.h"

namespace kai {
namespace {

template <typename... Cases>
struct Overloaded : Cases... {
  using Cases::operator()...;
};
template <typename... Cases>
Overloaded(Cases...) -> Overloaded<Cases...>;

std::vector<std::string_view> Views(const std::vector<NameId>& names, const Cluster& cluster) {
  std::vector<std::string_view> texts;
  for (const NameId name : names) texts.push_back(cluster.Text(name));
  return texts;
}
std::string_view TextIfAny(NameId name, const Cluster& cluster) {
  return name.valid() ? cluster.Text(name) : std::string_view();
}

std::string TextOf(const OverLimit& over, const Cluster& cluster) {
  return messages::OverLimit(cluster.Text(cluster.queues().display_name[over.queue]), over.resource,
                             over.bound, over.allocated, over.requested);
}
std::string TextOf(const OverQuota& over, const Cluster& cluster) {
  return messages::NonPreemptibleOverQuota(cluster.Text(cluster.queues().display_name[over.queue]),
                                           over.resource, over.bound, over.allocated,
                                           over.requested);
}

// ---- refusals -----------------------------------------------------------------------------------

// In kube-scheduler's order; all answers of one node count as one cause.
std::string TextOf(const VolumeAnswer& answer) {
  std::string text;
  const auto add = [&](bool holds, std::string_view cause) {
    if (holds) StrAppend(&text, text.empty() ? "" : ", ", cause);
  };
  add(answer.bound == VolumeAnswer::Bound::kOutOfReach, messages::kVolumeOutOfReach);
  add(answer.delayed == VolumeAnswer::Delayed::kNoVolume, messages::kNoVolumeToBind);
  add(answer.delayed == VolumeAnswer::Delayed::kNoSpace, messages::kNotEnoughStorage);
  add(answer.bound == VolumeAnswer::Bound::kGone, messages::kVolumeIsGone);
  return text;
}

std::string TextOfShortage(ResourceSlot slot, const ResourceSlots& slots) {
  if (slot == kGpuSlot) return std::string(messages::kNotEnoughGpus);
  if (slot == kCpuSlot) return std::string(messages::kNotEnoughCpu);
  if (slot == kMemorySlot) return std::string(messages::kNotEnoughMemory);
  if (slots.IsMig(slot)) return messages::NotEnoughOfMig(slots.Name(slot));
  return messages::NotEnoughOf(slots.Name(slot));
}

// Sorted by name; KAI lists them in any order.
std::string TextOfOverhead(const ResourceSlots& slots, std::span<const double> overhead) {
  std::map<std::string_view, std::string> amounts;
  for (size_t i = 0; i < overhead.size(); ++i) {
    if (overhead[i] == 0) continue;
    const std::string& name = slots.Name(ResourceSlot(i));
    const auto amount = static_cast<int64_t>(overhead[i]);
    const bool in_bytes = ResourceSlot(i) == kMemorySlot || messages::IsStorage(name);
    amounts[name] = in_bytes ? BytesAsQuantity(amount) : MillisAsQuantity(amount);
  }
  std::string text;
  for (const auto& [name, amount] : amounts) StrAppend(&text, " ", name, ": ", amount);
  return text;
}

// ---- reasons that exclude every node ------------------------------------------------------------

// Names the first resource that is too large: GPUs, CPU, memory, others.
std::string TextOf(const LargerThanAnyNode& larger, PodId pod, const Cluster& cluster) {
  const std::span<const double> request = cluster.RequestOf(pod);
  const ResourceSlots& slots = cluster.slots();
  messages::PoolLimit limit{.pod = cluster.PodName(pod),
                            .gpus = request[kGpuSlot.index()],
                            .cpu_millicores = request[kCpuSlot.index()],
                            .memory_bytes = request[kMemorySlot.index()],
                            .others = {},
                            .mig = {},
                            .node_pool = cluster.params().node_pool_label_value,
                            .resource = {},
                            .largest = 0};
  if (limit.node_pool.empty()) limit.node_pool = "default";
  for (const auto& [mig, amount] : cluster.ClassOf(pod).gpu.mig) {
    limit.mig.emplace_back(mig, static_cast<double>(amount));
    limit.gpus += slots.GpuEquivalents(slots.Find(mig)) * static_cast<double>(amount);
  }
  for (size_t i = kPodsSlot.index(); i < slots.size(); ++i) {
    if (request[i] != 0 && !slots.IsMig(ResourceSlot(i)))
      limit.others.emplace_back(slots.Name(ResourceSlot(i)), request[i]);
  }
  const ResourceSlot slot = larger.slot;
  limit.resource = slot == kGpuSlot ? "GPU" : slot == kCpuSlot ? "CPU" : slots.Name(slot);
  // KAI prints the amount of these resources only.
  if (slot.index() < kPodsSlot.index() || messages::IsStorage(slots.Name(slot)))
    limit.largest = larger.largest;
  return messages::LargerThanAnyNode(limit);
}

std::string TextOf(const VolumeRefusal& refusal, PodId pod, const Cluster& cluster) {
  const std::string_view claim = TextIfAny(refusal.claim, cluster);
  switch (refusal.kind) {
    case VolumeRefusal::Kind::kNone:
      break;
    case VolumeRefusal::Kind::kNotFound:
      return messages::NoVolumeClaim(claim);
    case VolumeRefusal::Kind::kNotMadeYet:
      return messages::NoEphemeralVolumeClaimYet(claim);
    case VolumeRefusal::Kind::kLost:
      return messages::VolumeOfClaimIsLost(claim, TextIfAny(refusal.volume, cluster));
    case VolumeRefusal::Kind::kDeleted:
      return messages::VolumeClaimIsDeleted(claim);
    case VolumeRefusal::Kind::kNotOwner:
      return messages::VolumeClaimOfOtherPod(
          StrCat(cluster.Text(cluster.pods().namespace_name[pod]), "/", claim),
          cluster.PodName(pod));
    case VolumeRefusal::Kind::kUnbound:
      return std::string(messages::kUnboundVolumeClaims);
  }
  return "";
}

std::string TextOf(const ClaimRefusal& refusal, PodId pod, const Cluster& cluster) {
  const std::string name = cluster.PodName(pod);
  const std::string_view claim_name = TextIfAny(refusal.claim, cluster);
  const std::string claim =
      StrCat(cluster.Text(cluster.pods().namespace_name[pod]), "/", claim_name);
  switch (refusal.kind) {
    case ClaimRefusalKind::kNone:
      break;
    case ClaimRefusalKind::kNotServed:
      return messages::ClaimsNotServed(name, Views(refusal.uses, cluster));
    case ClaimRefusalKind::kNoClaimYet:
      return messages::NoClaimYet(name, TextIfAny(refusal.use, cluster));
    case ClaimRefusalKind::kMissing:
      return messages::NoSuchClaim(claim);
    case ClaimRefusalKind::kTooManyConsumers:
      return messages::ClaimHasTooManyConsumers(claim);
    case ClaimRefusalKind::kNoQueueLabel:
      return messages::ClaimWithoutQueue(name, claim_name);
    case ClaimRefusalKind::kWrongQueueLabel:
      return messages::ClaimOfOtherQueue(name, claim_name, TextIfAny(refusal.queue, cluster),
                                         TextIfAny(refusal.queue_label, cluster));
    case ClaimRefusalKind::kNoDeviceClass:
      return messages::NoDeviceClass(refusal.device_class, claim, refusal.request);
    case ClaimRefusalKind::kSelectorsCostTooMuch:
      return messages::SelectorsCostTooMuch(claim, refusal.devices, refusal.budget);
  }
  return "";
}

// spec 3 P15. The text about claims stands alone if no other check has an error (spec 3 E6).
std::string TextOfPodRefusals(const std::vector<PodRefusal>& refusals, PodId pod,
                              const Cluster& cluster) {
  std::vector<std::pair<std::string_view, std::string>> errors;
  std::string of_claims;
  const Overloaded add{[&](const VolumeRefusal& each) {
                         errors.emplace_back("VolumeBinding", TextOf(each, pod, cluster));
                       },
                       [&](const MissingConfigMaps& each) {
                         errors.emplace_back(
                             "ConfigMap", messages::MissingConfigMaps(Views(each.names, cluster)));
                       },
                       [&](const LargerThanAnyNode& each) {
                         errors.emplace_back("MaxNodePoolResources", TextOf(each, pod, cluster));
                       },
                       [&](const ClaimRefusal& each) { of_claims = TextOf(each, pod, cluster); }};
  for (const PodRefusal& refusal : refusals) std::visit(add, refusal);
  return errors.empty() ? of_claims : messages::ConditionsNotMet(cluster.PodName(pod), errors);
}

// ---- pod groups ---------------------------------------------------------------------------------

std::string TextOf(const NotReady& reason, const Cluster& cluster) {
  std::vector<messages::NotReadyPodSet> sets;
  for (const PodSetState& each : reason.pod_sets) {
    sets.push_back({.subgroup = std::string(cluster.SubgroupText(each.pod_set)),
                    .minimum = each.minimum,
                    .alive = each.pods,
                    .gated = each.gated});
  }
  return messages::NotReady(sets);
}

std::string TextOf(const Stale& reason, const Cluster& cluster) {
  std::vector<messages::StalePodSet> sets;
  for (const PodSetState& each : reason.pod_sets) {
    sets.push_back({.subgroup = std::string(cluster.SubgroupText(each.pod_set)),
                    .minimum = each.minimum,
                    .active = each.pods});
  }
  return messages::StaleJob(sets);
}

std::string TextOf(const GangIncomplete& reason, const Cluster& cluster) {
  const std::string why = TextOf(*reason.cause, reason.pod, cluster);
  if (reason.is_whole_group) return messages::GangIncomplete(reason.found, reason.minimum, why);
  return messages::SubgroupGangIncomplete(
      reason.found, cluster.Text(cluster.sub_groups().name[reason.pod_set]), reason.minimum, why);
}

std::string TextOf(const TopologyNotSatisfied& reason, PodGroupId group, const Cluster& cluster) {
  return messages::TopologyNotSatisfied(
      cluster.Text(reason.topology), TextIfAny(reason.level, cluster), cluster.PodGroupName(group),
      cluster.Text(reason.subgroup), reason.within ? messages::NotEnoughIn(*reason.within) : "");
}

}  // namespace

std::string TextOf(Refusal refusal, PodId pod, const Cluster& cluster) {
  switch (refusal.cause()) {
    case Refusal::kVolumes:
      return TextOf(refusal.volumes());
    case Refusal::kShortage: {
      std::string text = TextOfShortage(refusal.slot(), cluster.slots());
      if (!refusal.for_overhead()) return text;
      const PodClassId pod_class = cluster.pods().pod_class[pod];
      return messages::DueToOverhead(
          text, TextOfOverhead(cluster.slots(), cluster.pod_classes().overhead[pod_class]));
    }
    default:
      return std::string(WordsOf(refusal.cause()).text);
  }
}

std::string TextOf(const NamedRefusal& refusal, const Cluster& cluster) {
  const auto node_name = [&](NodeId node) { return cluster.Text(cluster.nodes().name[node]); };
  return std::visit(
      Overloaded{[&](const LegacyMig& each) { return messages::LegacyMig(node_name(each.node)); },
                 [&](const LegacyMigPods& each) {
                   std::string pods;
                   for (const PodId pod : each.pods)
                     StrAppend(&pods, pods.empty() ? "" : " ", cluster.PodName(pod));
                   return messages::LegacyMigPods(pods);
                 },
                 [&](const QueueRefuses& each) {
                   return std::visit(
                       [&](const auto& bound) {
                         const EventError error = EventErrorOf(bound, PodGroupId(), cluster);
                         return messages::NoCapacityOnNode(error.name, error.message);
                       },
                       each.bound);
                 },
                 [&](const ClaimIsElsewhere& each) {
                   const ClaimBook& claims = cluster.claims();
                   return messages::ClaimIsElsewhere(
                       StrCat(cluster.Text(claims.NamespaceOf(each.claim)), "/",
                              cluster.Text(claims.NameOf(each.claim))),
                       node_name(each.node));
                 },
                 [&](const NoDevicesForClaims& each) {
                   return messages::NoDevicesForClaims(node_name(each.node));
                 },
                 [&](const ClaimsFail& each) {
                   return messages::CannotAllocateClaims(node_name(each.node), each.error);
                 },
                 [&](const ClaimsAreDeleted& each) {
                   return messages::ClaimsAreDeleted(Views(each.claims, cluster));
                 },
                 [&](const NotEnoughStorage& each) {
                   std::string text;
                   for (const NotEnoughStorage::Class& storage : each.classes) {
                     const std::string_view name = cluster.Text(storage.name);
                     StrAppend(&text, text.empty() ? "" : "; ",
                               storage.has_none ? messages::NoStorageOfClass(name)
                                                : messages::NotEnoughStorageOfClass(name));
                   }
                   return text;
                 }},
      refusal);
}

std::string TextOf(const NoNodeCause& cause, PodId pod, const Cluster& cluster) {
  if (!cause.pod.empty()) return TextOfPodRefusals(cause.pod, pod, cluster);
  if (cause.empty()) return std::string(messages::kUnableToSchedulePod);
  std::vector<std::pair<int64_t, std::string>> counted;
  for (const auto& [refusal, nodes] : cause.refusals) {
    if (refusal.cause() != Refusal::kWithoutText)
      counted.emplace_back(nodes, TextOf(refusal, pod, cluster));
  }
  for (const auto& [refusal, nodes] : cause.named)
    counted.emplace_back(nodes, TextOf(refusal, cluster));
  return messages::PodFitError("", counted);
}

std::string MessageOf(const Reason& reason, PodGroupId group, const Cluster& cluster) {
  return std::visit(
      Overloaded{
          [&](const NoNode& each) { return TextOf(*each.cause, each.pod, cluster); },
          [&](const GangIncomplete& each) { return TextOf(each, cluster); },
          [&](const OverLimit& each) { return TextOf(each, cluster); },
          [&](const OverQuota& each) { return TextOf(each, cluster); },
          [&](const PreemptionDelay& each) {
            return each.unkept > 0
                       ? messages::PromisesUnkept(each.unkept, each.end_ns)
                       : messages::PreemptionDelayNotElapsed(each.delay_ns, each.end_ns);
          },
          [&](const NoSuchTopology& each) {
            return messages::NoSuchTopology(cluster.Text(each.topology));
          },
          [&](const UnknownLevel& each) {
            return messages::UnknownTopologyLevel(
                cluster.Text(each.subgroup), cluster.Text(each.level),
                each.is_required ? "required" : "preferred", cluster.Text(each.topology));
          },
          [&](const NoLevel& each) {
            return messages::NoTopologyLevel(cluster.Text(each.subgroup),
                                             cluster.Text(each.topology));
          },
          [&](const DomainTooSmall& each) {
            return messages::DomainHoldsTooFew(each.domain, each.holds, each.wanted);
          },
          [&](const DomainsLack& each) {
            return messages::DomainsLack(cluster.slots().Name(each.slot),
                                         cluster.slots().IsMig(each.slot));
          },
          [&](const TopologyNotSatisfied& each) { return TextOf(each, group, cluster); },
          [&](const DomainCountNotMet& each) {
            return messages::DomainCountNotMet(cluster.Text(each.level), each.least, each.most,
                                               each.is_balanced);
          },
          [&](const NotReady& each) { return TextOf(each, cluster); },
          [&](const Stale& each) { return TextOf(each, cluster); },
          [&](const NoQueue&) {
            return messages::QueueDoesNotExist(
                cluster.Text(cluster.pod_groups().queue_name[group]));
          },
          [&](const QueueNotLeaf& each) {
            return messages::QueueIsNoLeaf(cluster.Text(cluster.queues().name[each.queue]));
          },
          [&](const NoSubgroup& each) {
            return messages::UnknownSubgroup(cluster.Text(cluster.pods().subgroup[each.pod]),
                                             cluster.PodGroupName(group));
          },
          [](const NotBuilt&) { return messages::NotBuilt(); },
          [](const NoPods&) { return std::string(messages::kNoPods); },
          [](const Completed&) { return std::string(messages::kCompleted); },
          [](const NotConsidered&) { return std::string(messages::kNotConsidered); },
          [](const SearchBudgetSpent&) { return std::string(messages::kSearchBudgetSpent); }},
      reason);
}

EventError EventErrorOf(const Reason& reason, PodGroupId group, const Cluster& cluster) {
  const std::string_view name = std::visit(
      Overloaded{[](const OverLimit&) { return messages::kOverLimit; },
                 [](const OverQuota&) { return messages::kNonPreemptibleOverQuota; },
                 [](const PreemptionDelay&) { return messages::kPreemptionDelayNotElapsed; },
                 [](const NoQueue&) { return messages::kQueueDoesNotExist; },
                 [](const DomainTooSmall&) { return messages::kNotEnoughForWorkload; },
                 [](const DomainsLack&) { return messages::kNotEnoughForWorkload; },
                 [](const auto&) { return messages::kPodSchedulingErrors; }},
      reason);
  std::string message = MessageOf(reason, group, cluster);
  if (const auto* no_node = std::get_if<NoNode>(&reason))
    message = messages::NoNodeForPod(cluster.PodName(no_node->pod), message);
  return {.name = name, .message = std::move(message)};
}

}  // namespace kai
