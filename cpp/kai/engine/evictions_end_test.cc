// Evictions end: a random cluster in which every decision is carried out, and in which an evicted
// pod comes back and waits, evicts no pod any more after some cycles.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "kai/base/clock.h"
#include "kai/base/text.h"
#include "kai/engine/engine.h"
#include "kai/model/building/row_lookup.h"
#include "kai/session/plans_for_test.h"
#include "kai/testing/makers/crowded_cluster.h"
#include "kai/testing/makers/random_cluster.h"

namespace kai::evictions_end_test {
namespace {

using Decision = CycleLog::Decision;

constexpr int kCycles = 30;
constexpr int kRest = 8;  // the last cycles, in which nothing may be evicted any more

CrowdedClusterOptions ShapeFor(uint64_t seed) {
  Random random(seed + 7);
  CrowdedClusterOptions options;
  options.few_pod_slots = !random.OneIn(4);
  options.tight_limits = !random.OneIn(3);
  options.pod_affinity = random.OneIn(4);
  options.sub_groups = random.OneIn(3);
  options.terms = {};
  if (random.OneIn(8)) {
    options.max_nodes = 8;
    options.max_node_gpus = 8;
    options.max_running_groups = 20;
    options.max_waiting_groups = 8;
  }
  if (!random.OneIn(4)) {
    RandomSharersOptions sharers;
    sharers.bind_requests = sharers.unknown_devices = false;
    sharers.reservations = random.Coin();
    options.sharers = sharers;
  }
  return options;
}

// A cluster in which decisions are carried out at once.
class LivingCluster {
 public:
  // `reserves`: a pod on a new shared device brings a reservation pod.
  LivingCluster(CrowdedCluster crowded, bool reserves, bool leaves_slowly)
      : rows_(std::move(crowded.rows)),
        reserves_(reserves),
        leaves_slowly_(leaves_slowly),
        engine_(&store_, ParseConfig(crowded.config_json), rows_.params, {.explains = false}) {
    AnyKind([&](const auto& kind) {
      for (const auto& row : kind.in(&rows_)) store_.Upsert(row);
      return false;
    });
    for (const PodRow& pod : rows_.pods) pods_.emplace(NameInTable(pod), pod);
    for (const PodGroupRow& group : rows_.pod_groups) groups_.emplace(NameInTable(group), group);
    for (const auto& [name, pod] : pods_) {
      if (pod.deletion_ns) leaving_.insert(name);
    }
    if (reserves_) KeepReservations();
  }

  // Plans and carries out the plan. Returns the evictions; evictors() has the groups that they are
  // for.
  std::vector<std::string> Cycle(int64_t now_ns) {
    LeaveAtLast();
    const absl::StatusOr<Engine::PlanPtr> made = engine_.Plan(now_ns, nullptr);
    EXPECT_TRUE(made.ok());
    const Plan& plan = **made;
    const Cluster& cluster = *plan.cluster;
    std::vector<std::string> evictions;
    log_.clear();
    evictors_.clear();
    std::map<std::string, PodRow> changed;
    for (const Decision& decision : plan.decisions) {
      const std::string name = cluster.PodName(decision.pod);
      PodRow pod = changed.contains(name) ? changed.at(name) : pods_.at(name);
      const std::string node = decision.node.valid()
                                   ? std::string(cluster.Text(cluster.nodes().name[decision.node]))
                                   : "";
      switch (decision.kind) {
        case Decision::Kind::kBind:
          log_.push_back(StrCat("bind ", name, " ", node));
          pod.node_name = node;
          pod.phase = Phase::kRunning;
          pod.gpu_groups = plan.GpuGroupsOf(decision);
          if (pod.gpu.IsShared()) pod.received_type = "Fraction";
          changed[name] = pod;
          break;
        case Decision::Kind::kEvict:
          evictions.push_back(StrCat(decision.action, " ", name));
          if (decision.for_group.valid())
            evictors_.insert(cluster.PodGroupName(decision.for_group));
          log_.push_back(
              StrCat("evict ", name, " ", node, " by ", decision.action, " for ",
                     decision.for_group.valid() ? cluster.PodGroupName(decision.for_group) : ""));
          pod.deletion_ns = now_ns;
          leaving_.insert(name);
          changed[name] = pod;
          break;
        case Decision::Kind::kPipeline:
          log_.push_back(StrCat("pipeline ", name, " ", node));
          break;
      }
    }
    std::map<std::string, PodGroupRow> stamped;
    for (const Plan::Stamped& each : plan.stamped) {
      const std::string name(cluster.PodGroupName(each.group));
      PodGroupRow group = groups_.at(name);
      if (each.writes.last_start) group.last_start_ns = now_ns;
      if (each.writes.last_eviction) group.last_eviction_ns = now_ns;
      if (each.writes.stale_since == StampWrite::kNow) group.stale_since_ns = now_ns;
      if (each.writes.stale_since == StampWrite::kRemove) group.stale_since_ns.reset();
      stamped[name] = group;
    }
    for (auto& [name, pod] : changed) Put(pod);
    for (auto& [name, group] : stamped) {
      groups_[name] = group;
      store_.Upsert(group);
    }
    if (!leaves_slowly_ || now_ns / kSecondNs % 2 == 0) LeaveAtLast();
    if (reserves_) KeepReservations();
    return evictions;
  }
  const std::vector<std::string>& log() const { return log_; }
  const std::set<std::string>& evictors() const { return evictors_; }

 private:
  void Put(const PodRow& pod) {
    pods_[NameInTable(pod)] = pod;
    store_.Upsert(pod);
  }

  // The owners of pods that are gone create them again.
  void LeaveAtLast() {
    for (const std::string& name : leaving_) {
      PodRow pod = pods_.at(name);
      store_.Delete(Kind::kPod, name);
      pod.uid += "x";
      pod.deletion_ns.reset();
      pod.node_name.clear();
      pod.gpu_groups.clear();
      pod.received_type.clear();
      pod.phase = Phase::kPending;
      Put(pod);
    }
    leaving_.clear();
  }

  // One reservation pod for each shared device.
  void KeepReservations() {
    std::map<std::string, std::string> devices;  // its node
    for (const auto& [name, pod] : pods_) {
      if (pod.node_name.empty() || IsReservation(pod)) continue;
      for (const std::string& device : pod.gpu_groups) devices[device] = pod.node_name;
    }
    std::vector<std::string> unused;
    for (const auto& [name, pod] : pods_) {
      if (!IsReservation(pod)) continue;
      if (devices.erase(DeviceOf(pod)) == 0) unused.push_back(name);
    }
    for (const std::string& name : unused) {
      store_.Delete(Kind::kPod, name);
      pods_.erase(name);
    }
    for (const auto& [device, node] : devices) {
      PodRow row;
      row.namespace_name = "kai-resource-reservation";
      row.name = StrCat("gpu-reservation-", node, "-", device);
      row.labels = {{"app", "kai-resource-reservation"}, {"runai-gpu-group", device}};
      row.gpu = {.count = 1, .portion = 1, .mig = {}};
      row.node_name = node;
      row.phase = Phase::kRunning;
      Put(row);
    }
  }
  static std::string DeviceOf(const PodRow& pod) {
    for (const auto& [key, value] : pod.labels) {
      if (key == "runai-gpu-group") return value;
    }
    return "";
  }
  static bool IsReservation(const PodRow& pod) {
    return pod.namespace_name == "kai-resource-reservation";
  }

  ClusterRows rows_;
  const bool reserves_;
  const bool leaves_slowly_;
  Store store_;
  Engine engine_;
  std::map<std::string, PodRow> pods_;
  std::map<std::string, PodGroupRow> groups_;
  std::set<std::string> leaving_;
  std::vector<std::string> log_;
  std::set<std::string> evictors_;
};

struct Life {
  int64_t evictions = 0;
  std::string late;  // evictions in the last cycles
};

CrowdedCluster ClusterFor(uint64_t seed, std::string_view config_end) {
  CrowdedCluster crowded = MakeCrowdedCluster(seed, ShapeFor(seed));
  crowded.config_json.pop_back();  // the last brace
  crowded.config_json += config_end;
  return crowded;
}

Life LifeOf(uint64_t seed, std::string_view config_end) {
  Random random(seed);
  const bool reserves = random.Coin();
  const bool slowly = random.OneIn(3);
  const int64_t step_ns = random.Pick(std::vector<int64_t>{1, 10, 10, 60}) * kSecondNs;
  LivingCluster cluster(ClusterFor(seed, config_end), reserves, slowly);
  const bool is_shown = std::getenv("KAI_VERBOSE") != nullptr;
  Life life;
  int64_t now_ns = kTestNowNs;
  // Some evictions come late for a good reason, such as a minimum run time that is over. Evictions
  // without end come in each of five periods.
  int end = kCycles;
  for (int cycle = 0; cycle < end; ++cycle, now_ns += step_ns) {
    const std::vector<std::string> evicted = cluster.Cycle(now_ns);
    life.evictions += static_cast<int64_t>(evicted.size());
    if (is_shown) {
      for (const std::string& line : cluster.log()) std::printf("  %d: %s\n", cycle, line.c_str());
    }
    if (cycle < end - kRest) continue;
    for (const std::string& each : evicted) StrAppend(&life.late, "\n  cycle ", cycle, ": ", each);
    if (cycle + 1 == end && end < 5 * kCycles && !life.late.empty()) {
      end += kCycles;
      life.late.clear();
    }
  }
  if (!life.late.empty()) {
    StrAppend(&life.late, "\n  reservation pods: ", reserves ? "yes" : "no",
              ", victims leave slowly: ", slowly ? "yes" : "no",
              ", seconds per cycle: ", step_ns / kSecondNs);
  }
  return life;
}

// Without the delay after a promise that ended unkept, and with it.
TEST(EvictionsEndTest, WhatASearchAcceptsTheNextCyclesAccept) {
  int64_t evictions = 0;
  ForSeeds(60, [&](uint64_t seed) {
    const Life life = LifeOf(seed, R"(, "compat": {"unkept_promises": "kai"}})");
    EXPECT_EQ(life.late, "");
    evictions += life.evictions;
  });
  RecordProperty("evictions", std::to_string(evictions));
}

TEST(EvictionsEndTest, RandomClustersComeToRest) {
  int64_t evictions = 0;
  ForSeeds(60, [&](uint64_t seed) {
    const Life life = LifeOf(seed, "}");
    EXPECT_EQ(life.late, "");
    evictions += life.evictions;
  });
  RecordProperty("evictions", std::to_string(evictions));
}

// The most cycles of the second minute in which one group evicts pods, with a cycle each second.
int64_t LateCyclesOf(uint64_t seed, std::string_view config_end) {
  LivingCluster cluster(ClusterFor(seed, config_end), false, false);
  std::map<std::string, int64_t> late;
  for (int64_t second = 0; second < 120; ++second) {
    cluster.Cycle(kTestNowNs + second * kSecondNs);
    if (second < 60) continue;
    for (const std::string& group : cluster.evictors()) ++late[group];
  }
  int64_t most = 0;
  for (const auto& [group, cycles] : late) most = std::max(most, cycles);
  return most;
}

// The delay alone makes evictions rarer, whatever their cause: here the causes that are known.
TEST(EvictionsEndTest, AGroupThatLosesItsRoomEvictsEverMoreRarely) {
  constexpr std::string_view kCauses =
      R"("reservation_slots": "kai", "lasting_reclaim": "kai", "promises": "fixed")";
  int64_t endless = 0;
  ForSeeds(60, [&](uint64_t seed) {
    // The delays are 10 s, 20 s and 40 s, or longer.
    EXPECT_LE(LateCyclesOf(seed, StrCat(R"(, "compat": {)", kCauses, "}}")), 3);
    const auto without = StrCat(R"(, "compat": {)", kCauses, R"(, "unkept_promises": "kai"}})");
    endless += LateCyclesOf(seed, without) > 3 ? 1 : 0;
  });
  RecordProperty("endless without the delay", std::to_string(endless));
}

}  // namespace
}  // namespace kai::evictions_end_test
