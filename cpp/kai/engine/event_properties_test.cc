// Whatever happens to objects, in whatever order: the plan of an engine is that of a cluster built
// anew of the same objects, to the byte.
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "kai/engine/engine.h"
#include "kai/model/building/row_lookup.h"
#include "kai/session/plans_for_test.h"
#include "kai/testing/makers/crowded_cluster.h"
#include "kai/testing/makers/random_cluster.h"

namespace kai::event_properties_test {
namespace {

// Objects of several random clusters, whose names are often the same, come, change and go.
class Events {
 public:
  Events(uint64_t seed, Store* store) : random_(seed), store_(*store) {
    RandomClusterOptions shape{.max_nodes = 6, .max_groups = 8, .max_pods = 4};
    shape.sub_groups = random_.OneIn(3);
    // Mostly what can be changed in place.
    if (random_.OneIn(3)) shape.sharers = RandomSharersOptions();
    if (!random_.OneIn(4)) {
      shape.shared_gpus = random_.OneIn(3);
      shape.pod_affinity = random_.OneIn(3);
      shape.terms = {};
    }
    if (random_.OneIn(4)) shape.topology = RandomTopologyOptions();
    // Where much runs, and may lose pods or not for some time.
    const bool is_crowded = random_.OneIn(3);
    CrowdedClusterOptions crowd;
    crowd.pod_affinity = shape.pod_affinity;
    if (!random_.OneIn(4)) crowd.terms = {};
    for (uint64_t i = 0; i < 3; ++i) {
      sources_.push_back(is_crowded ? MakeCrowdedCluster(seed * 3 + i, crowd).rows
                                    : MakeRandomCluster(seed * 3 + i, shape));
    }
  }

  const ShardParams& params() const { return sources_[0].params; }

  // All objects of one cluster, in any order.
  void Load() {
    std::vector<std::function<void()>> events;
    AnyKind([&](const auto& kind) {
      for (const auto& row : kind.in(&sources_[0]))
        events.push_back([this, &row] { store_.Upsert(row); });
      return false;
    });
    random_.Shuffle(&events);
    for (const auto& event : events) event();
  }

  // One event; mostly of pods and pod groups.
  void Happen() {
    const int64_t dice = random_.Below(100);
    if (dice < 64) return OfKind(Kind::kPod);
    if (dice < 78) return OfKind(Kind::kPodGroup);
    if (dice < 83) return OfKind(Kind::kBindRequest);
    if (dice < 94) return OfNode();
    if (dice < 98) return OfQueue();
    OfKind(random_.Pick(std::vector<Kind>{Kind::kNode, Kind::kQueue, Kind::kPriorityClass,
                                          Kind::kTopology, Kind::kConfigMap}));
  }

 private:
  void OfKind(Kind wanted) {
    WithKind(wanted, [&]<typename Row>(const KindEntry<Row>& kind) {
      std::vector<Row>& rows = kind.in(&sources_[static_cast<size_t>(random_.Below(3))]);
      if (rows.empty()) return;
      const Row& row = random_.Pick(rows);
      if (random_.OneIn(3)) {
        store_.Delete(wanted, NameOf(row));
      } else if constexpr (std::is_same_v<Row, PodRow>) {
        store_.Upsert(Aged(row));
      } else {
        store_.Upsert(row);
      }
    });
  }

  // A node comes, also one of a new name, goes, is cordoned, tainted or labelled, falls ill, or has
  // more or less to give.
  void OfNode() {
    std::vector<NodeRow>& nodes = sources_[static_cast<size_t>(random_.Below(3))].nodes;
    if (nodes.empty()) return;
    NodeRow like = random_.Pick(nodes);
    if (random_.OneIn(4)) like.name = "a" + std::to_string(random_.Below(3));
    const NodeRow* known = store_.Find<NodeRow>(like.name);
    if (known == nullptr) {
      store_.Upsert(std::move(like));
      return;
    }
    NodeRow node = *known;
    switch (random_.Below(7)) {
      case 0:
        node.unschedulable = !node.unschedulable;
        break;
      case 1:
        node.ready = random_.Coin() ? ConditionStatus::kTrue : ConditionStatus::kFalse;
        break;
      case 2:
        node.taints.clear();
        if (random_.Coin())
          node.taints.push_back({.key = "new", .value = "", .effect = TaintEffect::kNoSchedule});
        break;
      case 3:
        node.allocatable = like.allocatable;
        break;
      case 4:
        store_.Delete(Kind::kNode, node.name);
        return;
      case 5:
        node.labels = random_.Pick(nodes).labels;
        break;
      default:
        Relabel(&node.labels);
    }
    store_.Upsert(std::move(node));
  }

  // Its owner gives it more, or less.
  void OfQueue() {
    if (sources_[0].queues.empty()) return;
    const QueueRow* known = store_.Find<QueueRow>(random_.Pick(sources_[0].queues).name);
    if (known == nullptr) return;
    QueueRow queue = *known;
    const QueueRow& like = random_.Pick(sources_[static_cast<size_t>(random_.Below(3))].queues);
    queue.resources = like.resources;
    queue.priority = like.priority;
    queue.reclaim_min_runtime_ns = like.reclaim_min_runtime_ns;
    store_.Upsert(std::move(queue));
  }

  // Pods select by some of these labels, GPUs are described by others, and one is of no interest.
  void Relabel(StringPairs* labels) {
    static const std::vector<std::pair<std::string, std::vector<std::string>>> kLabels = {
        {"zone", {"z0", "z1", "z2"}},         {"model", {"a100", "h100"}},
        {"generation", {"0", "1", "2", "3"}}, {"nvidia.com/gpu.memory", {"16000", "32000"}},
        {"nvidia.com/gpu.count", {"8"}},      {"rack", {"r0", "r1"}},
        {"note", {"some", "other"}}};
    const auto& [key, values] = random_.Pick(kLabels);
    std::erase_if(*labels, [&](const auto& label) { return label.first == key; });
    if (!random_.OneIn(3)) labels->emplace_back(key, random_.Pick(values));
  }

  // A pod as it is some time later.
  PodRow Aged(PodRow pod) {
    if (random_.OneIn(4)) pod.phase = Phase::kSucceeded;
    if (random_.OneIn(6)) pod.deletion_ns = kTestNowNs;
    if (random_.OneIn(6)) pod.node_name.clear();
    if (random_.OneIn(8)) pod.pod_group = "g" + std::to_string(random_.Below(4));
    return pod;
  }

  Random random_;
  Store& store_;
  std::vector<ClusterRows> sources_;
};

// A scheduler assumes some of what it decided, and takes some of that back.
class Scheduler {
 public:
  explicit Scheduler(Engine* engine) : engine_(*engine) {}

  void CarryOut(const Plan& plan, int64_t now_ns, Random* random) {
    const Cluster& cluster = *plan.cluster;
    std::vector<BindRequestRow> requests;
    std::vector<std::string> deletions;
    for (const CycleLog::Decision& decision : plan.decisions) {
      if (!random->OneIn(3)) continue;
      const PodId pod = decision.pod;
      if (decision.kind == CycleLog::Decision::Kind::kEvict) {
        deletions.push_back(cluster.PodName(pod));
      } else if (decision.kind == CycleLog::Decision::Kind::kBind) {
        BindRequestRow request;
        request.namespace_name = cluster.Text(cluster.pods().namespace_name[pod]);
        request.name = cluster.Text(cluster.pods().name[pod]);
        request.pod = request.name;
        request.node = cluster.Text(cluster.nodes().name[decision.node]);
        request.gpu_groups = plan.GpuGroupsOf(decision);
        requests.push_back(std::move(request));
      }
    }
    // The plan can be read until here.
    for (BindRequestRow& request : requests) Note(engine_.AssumeBound(std::move(request)));
    for (const std::string& pod : deletions) Note(engine_.AssumeEvicted(pod, now_ns));
    if (!ids_.empty() && random->OneIn(4)) {
      engine_.Forget(random->Pick(ids_));
    }
  }
  int64_t assumed() const { return static_cast<int64_t>(ids_.size()); }

 private:
  void Note(std::optional<AssumptionId> id) {
    ASSERT_TRUE(id.has_value());
    ids_.push_back(*id);
  }

  Engine& engine_;
  std::vector<AssumptionId> ids_;
};

// With mends, or as KAI does it.
class EventsTest : public testing::TestWithParam<bool> {};

INSTANTIATE_TEST_SUITE_P(Mode, EventsTest, testing::Bool(), [](const auto& mode) {
  return std::string(mode.param ? "AsKai" : "Mended");
});

TEST_P(EventsTest, GiveThePlanOfAFreshLoad) {
  const auto [first, end] = Seeds(60);
  Engine::Counts counts;
  int64_t assumed = 0;
  for (uint64_t seed = first; seed < end && !HasFailure(); ++seed) {
    SCOPED_TRACE(SeedTrace(seed));
    Store store;
    Events events(seed, &store);
    const Config config = ParseConfig(MakeCrowdedCluster(seed).config_json, GetParam());
    Engine engine(&store, config, events.params());
    const Session session(config);
    Random random(seed);
    Scheduler scheduler(&engine);
    events.Load();
    int64_t now_ns = kTestNowNs;
    for (int step = 0; step < 25 && !HasFailure(); ++step) {
      SCOPED_TRACE(step);
      const absl::StatusOr<Engine::PlanPtr> plan = engine.Plan(now_ns, nullptr);
      ASSERT_TRUE(plan.ok());
      ClusterRows rows = engine.Rows();
      EXPECT_EQ(FirstDifference(TextOf(**plan),
                                TextOf(RunPlan(session, std::move(rows).Build(), nullptr, now_ns))),
                "");
      if (random.OneIn(2)) scheduler.CarryOut(**plan, now_ns, &random);
      // Time alone goes on, up to the moment that the plan waits for, or just before it.
      const std::optional<Engine::Wake> wake = engine.NextWake();
      if (random.OneIn(3) && wake && wake->at_ns < 2 * kTestNowNs) {
        now_ns = wake->at_ns - (random.Coin() ? 1 : 0);
        continue;
      }
      const int64_t seconds = random.Pick(std::vector<int64_t>{0, 0, 1, 30, 120, 3600, -90});
      now_ns += seconds * 1'000'000'000;
      const int64_t most = random.OneIn(6) ? 20 : 3;
      for (int64_t left = random.Between(0, most); left > 0; --left) events.Happen();
    }
    assumed += scheduler.assumed();
    counts.built += engine.counts().built;
    counts.updated += engine.counts().updated;
    counts.followed += engine.counts().followed;
    counts.repeated += engine.counts().repeated;
  }
  // That would test nothing.
  EXPECT_GT(assumed, end - first > 10 ? 10 : -1);
  EXPECT_GT(counts.updated, end - first > 10 ? 3 * counts.built : -1);
  EXPECT_GT(counts.followed, end - first > 10 ? counts.updated / 3 : -1);
  EXPECT_GT(counts.repeated, end - first > 10 ? counts.built / 3 : -1);
  RecordProperty("updated", static_cast<int>(counts.updated));
  RecordProperty("followed", static_cast<int>(counts.followed));
  RecordProperty("repeated", static_cast<int>(counts.repeated));
  RecordProperty("built", static_cast<int>(counts.built));
}

}  // namespace
}  // namespace kai::event_properties_test
