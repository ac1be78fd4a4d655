#include "kai/session/alone.h"

#include <memory>

#include "kai/session/group_story.h"
#include "kai/session/session.h"

namespace kai {
namespace {

int64_t PodsOn(const std::vector<GroupStory::OnNode>& nodes) {
  int64_t pods = 0;
  for (const GroupStory::OnNode& each : nodes) pods += each.pods;
  return pods;
}

// How many of its pods have a place after the plan, or are promised one.
int64_t PlacesIn(const GroupStory& story) {
  const int64_t moved = story.evicted - story.lost;
  return story.placed + PodsOn(story.bound) + PodsOn(story.promised) - moved;
}

}  // namespace

bool StartsAlone(const Plan& plan, const Config& config, PodGroupId group) {
  const Session session(config, {.explains = false, .alone = group});
  // A cycle leaves its cluster as it was.
  const auto cluster = std::const_pointer_cast<Cluster>(plan.cluster);
  const absl::StatusOr<Plan> alone = session.Run(cluster, plan.now_ns, nullptr);
  if (!alone.ok()) return false;  // the cluster is being planned, or a policy failed
  const GroupStory story = StoriesOf(*alone, {{group}}).front();
  const int64_t places = PlacesIn(story);
  return places >= story.least && places > PlacesIn(StoriesOf(plan, {{group}}).front());
}

}  // namespace kai
