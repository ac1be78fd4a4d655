// A resource claim that is not there, that belongs to another queue, or that has no room for one
// more consumer keeps its pod out of every node (spec 3 D5).
#include "kai/base/text.h"
#include "kai/model/messages.h"
#include "kai/placement/pod_check.h"

namespace kai {
namespace {

class ResourceClaimCheck final : public PodCheck {
 public:
  explicit ResourceClaimCheck(const Cluster& cluster) : cluster_(cluster) {}

  std::string_view name() const override { return ""; }
  bool Allows(PodClassId pod_class) const override {
    const ClaimNeedsId needs = NeedsOf(pod_class);
    return !needs.valid() || cluster_.claims().LastingRefusal(needs) == ClaimRefusal::kNone;
  }
  bool AsksEachTime(PodClassId pod_class) const override { return NeedsOf(pod_class).valid(); }
  bool AllowsNow(PodClassId pod_class) const override {
    return !cluster_.claims().RefusesNow(NeedsOf(pod_class));
  }

  std::string Why(PodId pod) const override {
    const ClaimBook::Refusal refusal = cluster_.claims().WhyNot(pod);
    const auto text = [&](NameId id) {
      return id.valid() ? cluster_.Text(id) : std::string_view();
    };
    const std::string name = cluster_.PodName(pod);
    const std::string claim =
        StrCat(cluster_.Text(cluster_.pods().namespace_name[pod]), "/", text(refusal.claim));
    switch (refusal.kind) {
      case ClaimRefusal::kNone:
        break;
      case ClaimRefusal::kNotServed: {
        std::vector<std::string_view> uses;
        for (const NameId use : cluster_.claims().ClaimNames(pod))
          uses.push_back(cluster_.Text(use));
        return messages::ClaimsNotServed(name, uses);
      }
      case ClaimRefusal::kNoClaimYet:
        return messages::NoClaimYet(name, text(refusal.use));
      case ClaimRefusal::kMissing:
        return messages::NoSuchClaim(claim);
      case ClaimRefusal::kTooManyConsumers:
        return messages::ClaimHasTooManyConsumers(claim);
      case ClaimRefusal::kNoQueueLabel:
        return messages::ClaimWithoutQueue(name, text(refusal.claim));
      case ClaimRefusal::kWrongQueueLabel:
        return messages::ClaimOfOtherQueue(name, text(refusal.claim),
                                           text(cluster_.claims().QueueOf(pod)),
                                           text(refusal.queue_label));
      case ClaimRefusal::kNoDeviceClass:
        return messages::NoDeviceClass(refusal.device_class, claim, refusal.request);
    }
    return "";
  }

 private:
  ClaimNeedsId NeedsOf(PodClassId pod_class) const {
    return cluster_.pod_classes().info[pod_class].claims;
  }

  const Cluster& cluster_;
};

}  // namespace

std::unique_ptr<PodCheck> MakeResourceClaimCheck(const Cluster& cluster) {
  return std::make_unique<ResourceClaimCheck>(cluster);
}

}  // namespace kai
