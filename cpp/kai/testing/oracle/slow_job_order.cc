#include "kai/testing/oracle/slow_job_order.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

namespace kai::oracle::parts {
namespace {

using Kept = World::Kept;
using Real = long double;

constexpr Real kUnknown = std::numeric_limits<Real>::infinity();

// The inputs of the formulas, in seconds and GPUs.
struct Facts {
  Real created = -kUnknown;
  Real start = -kUnknown;  // of the running pods; the creation time if no timestamp is known
  bool stamped = false;
  bool runs = false;
  bool waits = false;
  Real holds = 0;     // GPUs
  Real requests = 0;  // requests of all its pods
  Real run = 0;
  Real gpu = 0;
  Real estimate = -1;
};

Real Seconds(int64_t nanos) { return static_cast<Real>(nanos) / 1e9L; }

Facts FactsOf(const Kept& kept, const std::vector<World::PodState>& states, int group, Real now) {
  const PodGroupRow& row = *kept.groups[static_cast<size_t>(group)].row;
  Facts facts;
  if (row.created_ns) facts.created = Seconds(*row.created_ns);
  facts.stamped = row.last_start_ns.has_value();
  facts.start = facts.stamped ? Seconds(*row.last_start_ns) : facts.created;
  if (row.estimate_ns) facts.estimate = Seconds(*row.estimate_ns);
  for (size_t i = 0; i < kept.pods.size(); ++i) {
    if (kept.pods[i].group != group || !kept.pods[i].counts) continue;
    const PodStatus status = states[i].status;
    const Real gpus = kept.Requested(kept.pods[i], kept.smallest_gpu_mib)[2];
    if (IsAlive(status)) facts.requests += gpus;
    if (!IsActiveAllocated(status)) continue;
    facts.runs = true;
    facts.holds += gpus;
  }
  const bool counted = row.service.until_ns != std::numeric_limits<int64_t>::min();
  Real since = facts.start;
  if (counted) since = std::max(since, Seconds(row.service.until_ns));
  const Real elapsed = facts.runs && std::isfinite(since) ? std::max<Real>(now - since, 0) : 0;
  facts.run = Seconds(row.service.run_ns) + elapsed;
  facts.gpu = Seconds(row.service.gpu_ns) + elapsed * facts.holds;
  return facts;
}

Real Waited(const Facts& facts, Real until) {
  return std::isfinite(facts.created) && std::isfinite(until)
             ? std::max<Real>(until - facts.created, 0)
             : 0;
}

Real LevelOf(Real attained, const std::vector<double>& thresholds) {
  return static_cast<Real>(std::count_if(thresholds.begin(), thresholds.end(),
                                         [&](double each) { return each <= attained; }));
}

}  // namespace

std::vector<long double> JobKeys(const Kept& kept, const std::vector<World::PodState>& states) {
  if (!kept.settings.job_order) return {};
  const JobOrderSettings& order = *kept.settings.job_order;
  const Real now = Seconds(kept.settings.now_ns);
  std::vector<Facts> all;
  std::map<int, Real> groups;  // with pods, by queue
  for (size_t i = 0; i < kept.groups.size(); ++i) {
    all.push_back(FactsOf(kept, states, static_cast<int>(i), now));
    bool any = false;
    for (size_t pod = 0; pod < kept.pods.size(); ++pod) {
      any = any || (kept.pods[pod].group == static_cast<int>(i) && kept.pods[pod].counts &&
                    IsAlive(states[pod].status));
    }
    groups[kept.groups[i].queue] += any ? 1 : 0;
  }
  Real cluster = 0;
  for (const std::vector<double>& amounts : kept.allocatable) cluster += amounts[2];
  int64_t highest = 0;
  for (const Kept::Group& group : kept.groups) highest = std::max(highest, group.priority);

  std::vector<Real> keys;
  for (size_t i = 0; i < all.size(); ++i) {
    const Facts& facts = all[i];
    const Real remaining = std::max<Real>(facts.estimate - facts.run, 0);
    Real key = kUnknown;
    if (order.policy == "fifo") {
      key = facts.created;
    } else if (order.policy == "sjf" && facts.estimate >= 0) {
      key = facts.estimate;
    } else if (order.policy == "srtf" && facts.estimate >= 0) {
      key = remaining;
    } else if (order.policy == "las") {
      key = LevelOf(facts.run, order.thresholds_s);
    } else if (order.policy == "2d-las") {
      key = LevelOf(facts.gpu, order.thresholds_s);
    } else if (order.policy == "finish-time" && facts.estimate >= 0) {
      // In whole nanoseconds.
      const Real estimate = std::round(facts.estimate * 1e9L);
      const Real asked = facts.requests * groups[kept.groups[i].queue];
      const bool fits = cluster <= 0 || asked <= cluster;
      const Real alone =
          std::max<Real>(fits ? estimate : std::floor(estimate * asked / cluster), 1);
      key = -std::round((Waited(facts, now) + remaining) * 1e9L) / alone;
    } else if (order.policy == "multifactor") {
      const Real most = order.max_age_s;
      const Real until = !facts.runs ? now : facts.stamped ? facts.start : -kUnknown;
      const Real age = std::min(Waited(facts, until), most) / most;
      Real size =
          order.weight_size > 0 && cluster > 0 ? std::min<Real>(facts.requests / cluster, 1) : 0;
      if (order.favor_small) size = 1 - size;
      const Real priority =
          highest > 0 ? std::max<Real>(static_cast<Real>(kept.groups[i].priority) / highest, 0) : 0;
      const Real fixed = order.weight_size * size + order.weight_priority * priority;
      key = -(std::round(fixed * 1e6L) / 1e6L + order.weight_age * age);
    }
    keys.push_back(key);
  }
  return keys;
}

bool MattersMore(const World& world, int waiting, int victim) {
  const Kept& kept = world.kept();
  const int64_t mine = At(kept.groups, waiting).priority;
  const int64_t its = At(kept.groups, victim).priority;
  if (!kept.settings.job_order) return its < mine;
  const JobOrderSettings& order = *kept.settings.job_order;
  if (order.within_priority && mine != its) return its < mine;
  const Real my_key = kept.job_keys[static_cast<size_t>(waiting)];
  const Real its_key = kept.job_keys[static_cast<size_t>(victim)];
  if (its_key < my_key) return false;
  if (its < mine) return true;
  if (!order.preempts || its_key == my_key) return false;
  const std::optional<int64_t>& start = world.group(victim).last_start_ns;
  return !start || Seconds(kept.settings.now_ns) >= Seconds(*start) + order.lease_s;
}

}  // namespace kai::oracle::parts
