#include "kai/model/claims/volumes.h"

#include <algorithm>

namespace kai {
namespace {

class NodeView {
 public:
  NodeView(std::span<const Label> labels, NameId name, const Interner& names)
      : labels_(labels), name_(name), names_(names) {}

  NameId name() const { return name_; }
  bool IsIn(const NodeSet& set) const {
    return set.all || MatchesAny(set.terms, labels_, name_, names_);
  }

 private:
  std::span<const Label> labels_;
  NameId name_;
  const Interner& names_;
};

VolumeAnswer::Delayed AnswerOfDelayed(const VolumeNeeds& needs, const NodeView& node) {
  // kube-scheduler's order: first claims with a volume that is being made, then claims without a
  // matching volume; the first refusal ends the check.
  std::vector<const VolumeNeeds::Delayed*> to_make;
  for (const VolumeNeeds::Delayed& claim : needs.delayed) {
    if (!claim.selected_node.valid()) continue;
    if (claim.selected_node != node.name()) return VolumeAnswer::Delayed::kNoVolume;
    to_make.push_back(&claim);
  }
  std::vector<int32_t> taken;  // a volume can be used by only one claim
  for (const VolumeNeeds::Delayed& claim : needs.delayed) {
    if (claim.selected_node.valid()) continue;
    const auto is_free = [&](const VolumeNeeds::Volume& volume) {
      return std::find(taken.begin(), taken.end(), volume.number) == taken.end() &&
             node.IsIn(volume.nodes);
    };
    if (claim.has_own) {
      if (is_free(claim.own)) {
        taken.push_back(claim.own.number);
      } else {
        to_make.push_back(&claim);
      }
      continue;
    }
    const auto found = std::find_if(claim.candidates.begin(), claim.candidates.end(), is_free);
    if (found == claim.candidates.end()) {
      to_make.push_back(&claim);
    } else {
      taken.push_back(found->number);
    }
  }
  for (const VolumeNeeds::Delayed* claim : to_make) {
    if (!claim->may_be_made || !node.IsIn(claim->made_on)) return VolumeAnswer::Delayed::kNoVolume;
    if (!node.IsIn(claim->capacity_on)) return VolumeAnswer::Delayed::kNoSpace;
  }
  return VolumeAnswer::Delayed::kFound;
}

}  // namespace

VolumeAnswer AnswerOf(const VolumeNeeds& needs, std::span<const Label> labels, NameId node_name,
                      const Interner& names) {
  const NodeView node(labels, node_name, names);
  VolumeAnswer answer;
  if (!std::all_of(needs.bound.begin(), needs.bound.end(),
                   [&](const NodeSet& set) { return node.IsIn(set); })) {
    answer.bound = VolumeAnswer::Bound::kOutOfReach;
  } else if (needs.volume_is_gone) {
    answer.bound = VolumeAnswer::Bound::kGone;
  }
  answer.delayed = AnswerOfDelayed(needs, node);
  if (needs.ignores_space && answer.bound == VolumeAnswer::Bound::kReached &&
      answer.delayed == VolumeAnswer::Delayed::kNoSpace)
    answer.delayed = VolumeAnswer::Delayed::kFound;
  return answer;
}

bool IsInZones(const VolumeNeeds& needs, std::span<const Label> labels, NameId node_name,
               const Interner& names) {
  const NodeView node(labels, node_name, names);
  return std::all_of(needs.zones.begin(), needs.zones.end(),
                     [&](const NodeSet& zone) { return node.IsIn(zone); });
}

}  // namespace kai
