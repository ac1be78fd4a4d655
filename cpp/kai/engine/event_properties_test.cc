// Random events change objects in random order. After them, the plan of an engine has to equal,
// byte for byte, the plan of a new engine with the same objects and the same memory.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "kai/base/text.h"
#include "kai/engine/engine.h"
#include "kai/model/building/row_lookup.h"
#include "kai/session/plan_json.h"
#include "kai/session/plans_for_test.h"
#include "kai/testing/makers/crowded_cluster.h"
#include "kai/testing/makers/random_cluster.h"

namespace kai::event_properties_test {
namespace {

constexpr std::string_view kNoPromises = R"("evictors": [], "promises": []})";

// Random events: objects of several random clusters, many with equal names, come, change and go.
class Events {
 public:
  Events(uint64_t seed, Store* store) : random_(seed), store_(*store) {
    RandomClusterOptions shape{.max_nodes = 6, .max_groups = 8, .max_pods = 4};
    shape.sub_groups = random_.OneIn(3);
    // Mostly features that can be changed in place.
    if (random_.OneIn(3)) shape.sharers = RandomSharersOptions();
    if (!random_.OneIn(4)) {
      shape.shared_gpus = random_.OneIn(3);
      shape.pod_affinity = random_.OneIn(3);
      shape.terms = {};
    }
    // Crowded clusters: most capacity is in use, and pods may or may not be evicted for some time.
    const bool is_crowded = random_.OneIn(3);
    CrowdedClusterOptions crowd;
    crowd.pod_affinity = shape.pod_affinity;
    if (!random_.OneIn(4)) crowd.terms = {};
    if (random_.OneIn(4)) shape.topology = crowd.topology = RandomTopologyOptions();
    if (random_.OneIn(6)) crowd.sharers = RandomSharersOptions();
    // Clusters in which ConfigMaps and namespaces matter, and most events are about them.
    if (random_.OneIn(5)) {
      is_about_names_ = true;
      shape.shared_gpus = false;
      shape.pod_affinity = crowd.pod_affinity = true;
      RandomTermsOptions names;
      names.host_ports = names.volumes = names.spread = names.preferred_nodes = false;
      shape.terms = crowd.terms = names;
    }
    config_json_ = MakeCrowdedCluster(seed, crowd).config_json;
    orders_jobs_ = seed % 5 == 4;
    if (orders_jobs_) OrderJobs(&config_json_);
    for (uint64_t i = 0; i < 3; ++i) {
      sources_.push_back(is_crowded ? MakeCrowdedCluster(seed * 3 + i, crowd).rows
                                    : MakeRandomCluster(seed * 3 + i, shape));
    }
  }

  const ShardParams& params() const { return sources_[0].params; }
  const std::string& config_json() const { return config_json_; }

  // Adds all objects of one cluster, in random order.
  void Load() {
    std::vector<std::function<void()>> events;
    AnyKind([&](const auto& kind) {
      for (const auto& row : kind.in(&sources_[0]))
        events.push_back([this, &row] { store_.Upsert(row); });
      return false;
    });
    random_.Shuffle(&events);
    for (const auto& event : events) event();
    if (random_.Coin()) store_.Synced(Kind::kConfigMap);
    happened_ += static_cast<int64_t>(events.size());
  }

  // One event, in most cases about a pod or a pod group.
  void Happen() {
    ++happened_;
    if (is_about_names_ && random_.Coin()) return random_.Coin() ? OfConfigMap() : OfNamespace();
    const int64_t dice = random_.Below(212);
    if (dice < 128) return OfKind(Kind::kPod);
    if (dice < 156) return OfKind(Kind::kPodGroup);
    if (dice < 165) return random_.Coin() ? OfKind(Kind::kBindRequest) : OfRequest();
    if (dice < 187) return OfNode();
    if (dice < 194) return OfQueue();
    if (dice < 196)
      return ListAnew(random_.Pick(
          std::vector<Kind>{Kind::kPod, Kind::kPod, Kind::kPodGroup, Kind::kBindRequest}));
    if (dice < 202) return OfConfigMap();
    if (dice < 208) return OfNamespace();
    OfKind(random_.Pick(std::vector<Kind>{
        Kind::kNode, Kind::kQueue, Kind::kPriorityClass, Kind::kTopology, Kind::kConfigMap,
        Kind::kResourceClaim, Kind::kResourceSlice, Kind::kDeviceClass,
        Kind::kPersistentVolumeClaim, Kind::kPersistentVolume, Kind::kStorageClass,
        Kind::kCsiDriver, Kind::kCsiNode, Kind::kCsiStorageCapacity}));
  }
  int64_t happened() const { return happened_; }

 private:
  ClusterRows& AnySource() { return sources_[static_cast<size_t>(random_.Below(3))]; }

  void OfKind(Kind wanted) {
    WithKind(wanted, [&]<typename Row>(const KindEntry<Row>& kind) {
      const std::vector<Row>& rows = kind.in(&AnySource());
      if (!rows.empty()) Befall(kind, random_.Pick(rows));
    });
  }

  // The object is deleted, rejected, or added in this version.
  template <typename Row>
  void Befall(const KindEntry<Row>& kind, const Row& row) {
    const std::string name = NameInTable(row);
    if (random_.OneIn(3)) {
      store_.Delete(kind.kind, name, SomeVersion());
    } else if (random_.OneIn(16)) {
      store_.Reject(
          kind.kind,
          {.kind = std::string(kind.name), .name = name, .field = "spec", .message = "is invalid"});
    } else {
      const Version version = SomeVersion();
      Put(row, version);
      if (random_.OneIn(16)) Put(row, version);  // the same event twice
    }
  }

  // Binds any pod, also by several requests: the first request is not always the one that counts.
  void OfRequest() {
    const ClusterRows& source = AnySource();
    if (source.pods.empty()) return;
    const PodRow& pod = random_.Pick(source.pods);
    BindRequestRow request;
    request.namespace_name = pod.namespace_name;
    request.name = pod.name + random_.Pick(std::vector<std::string>{"", "-1", "-2"});
    request.pod = pod.name;
    request.node = random_.Pick(source.nodes).name;
    request.gpu_groups = pod.gpu_groups;
    if (random_.OneIn(6)) request.phase = "Failed";
    WithKind(Kind::kBindRequest, [&]<typename Row>(const KindEntry<Row>& kind) {
      if constexpr (std::is_same_v<Row, BindRequestRow>) Befall(kind, request);
    });
  }

  void Put(const PodRow& row, Version version) { store_.Upsert(Aged(row), version); }
  void Put(const PodGroupRow& row, Version version) { store_.Upsert(Changed(row), version); }
  template <typename Row>
  void Put(const Row& row, Version version) {
    store_.Upsert(row, version);
  }

  // Half of the events have no version; some are late.
  Version SomeVersion() {
    if (random_.Coin()) return 0;
    if (random_.OneIn(4)) return static_cast<Version>(random_.Between(1, version_));
    return static_cast<Version>(++version_);
  }

  // Lists a kind again: some known objects are missing, and some are new.
  void ListAnew(Kind wanted) {
    WithKind(wanted, [&]<typename Row>(const KindEntry<Row>& kind) {
      std::vector<Row> listed;
      ClusterRows known = store_.Rows();
      for (const Row& row : kind.in(&known)) {
        if (!random_.OneIn(6)) listed.push_back(row);
      }
      const std::vector<Row>& others = kind.in(&AnySource());
      if (!others.empty()) listed.push_back(random_.Pick(others));
      random_.Shuffle(&listed);
      store_.BeginList(wanted);
      for (const Row& row : listed) store_.Upsert(row, SomeVersion());
      store_.EndList(wanted);
      happened_ += static_cast<int64_t>(listed.size());
    });
  }

  // A node comes (also with a new name), goes, is cordoned, tainted or labelled, becomes unhealthy,
  // or has more or less to give.
  void OfNode() {
    std::vector<NodeRow>& nodes = AnySource().nodes;
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

  // A queue gets more or less quota.
  void OfQueue() {
    if (sources_[0].queues.empty()) return;
    const QueueRow* known = store_.Find<QueueRow>(random_.Pick(sources_[0].queues).name);
    if (known == nullptr) return;
    QueueRow queue = *known;
    const QueueRow& like = random_.Pick(AnySource().queues);
    queue.resources = like.resources;
    queue.priority = like.priority;
    queue.reclaim_min_runtime_ns = like.reclaim_min_runtime_ns;
    store_.Upsert(std::move(queue));
  }

  // ConfigMaps: pods need some, and no pod needs the others.
  void OfConfigMap() {
    ConfigMapRow row{.namespace_name = random_.OneIn(6) ? "ns-2" : "ns",
                     .name = random_.Pick(
                         std::vector<std::string>{"settings", "missing", "root", "shared-gpu-0"})};
    WithKind(Kind::kConfigMap, [&]<typename Row>(const KindEntry<Row>& kind) {
      if constexpr (std::is_same_v<Row, ConfigMapRow>) Befall(kind, row);
    });
  }

  // Namespaces: pods select some by these labels.
  void OfNamespace() {
    NamespaceRow row{.name = random_.Pick(std::vector<std::string>{"ns", "ns-2", "ns-3"}),
                     .labels = {}};
    if (!random_.OneIn(4)) row.labels.emplace_back("team", random_.Coin() ? "a" : "b");
    if (random_.Coin()) row.labels.emplace_back("note", random_.Coin() ? "some" : "other");
    WithKind(Kind::kNamespace, [&]<typename Row>(const KindEntry<Row>& kind) {
      if constexpr (std::is_same_v<Row, NamespaceRow>) Befall(kind, row);
    });
  }

  // Pods select by some of these labels, some describe GPUs, and one is not used.
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

  // The pod some time later.
  PodRow Aged(PodRow pod) {
    if (random_.OneIn(4)) pod.phase = Phase::kSucceeded;
    if (random_.OneIn(6)) pod.deletion_ns = kTestNowNs;
    if (random_.OneIn(6)) pod.node_name.clear();
    if (random_.OneIn(4)) {  // it starts, or is on another node
      pod.node_name = random_.Pick(sources_[0].nodes).name;
      pod.phase = Phase::kRunning;
    }
    if (random_.OneIn(8)) pod.pod_group = "g" + std::to_string(random_.Below(4));
    if (is_about_names_ && random_.OneIn(4)) pod.namespace_name = random_.Coin() ? "ns-2" : "ns-3";
    if (random_.OneIn(12)) pod.subgroup = random_.Coin() ? "s1" : "";
    if (random_.OneIn(12)) pod.created_ns = random_.Between(1, 4) * kSecondNs;
    if (random_.OneIn(12)) {
      constexpr std::string_view kPriority = "kai.scheduler/task-priority";
      std::erase_if(pod.labels, [&](const auto& label) { return label.first == kPriority; });
      if (random_.Coin()) pod.labels.emplace_back(kPriority, std::to_string(random_.Below(3)));
    }
    return pod;
  }

  // A pod group that has started, become stale or lost pods meanwhile.
  PodGroupRow Stamped(PodGroupRow group) {
    const auto some = [&]() -> std::optional<int64_t> {
      if (random_.OneIn(3)) return std::nullopt;
      return kTestNowNs - random_.Between(0, 3) * 60 * kSecondNs;
    };
    if (random_.Coin()) group.last_start_ns = some();
    if (random_.OneIn(4)) group.stale_since_ns = some();
    if (random_.OneIn(4)) group.last_eviction_ns = some();
    return group;
  }

  // Sets a job order, and only actions whose plans it orders exactly (job_order.h).
  void OrderJobs(std::string* config) {
    const auto policy = static_cast<size_t>(random_.Below(kJobPolicyNames.size()));
    const std::string plugin =
        StrCat(R"({"name": "joborder", "arguments": {"policy": ")", kJobPolicyNames[policy],
               R"(", "thresholds": "60,900", "lease": "30s", "maxAge": "30m"}}, )");
    constexpr std::string_view kList = R"("plugins": [)";
    config->insert(config->find(kList) + kList.size(), plugin);
    constexpr std::string_view kOthers = "consolidation, reclaim, ";
    config->erase(config->find(kOthers), kOthers.size());
  }

  // A pod group that its owner edited.
  PodGroupRow Changed(PodGroupRow group) {
    if (random_.OneIn(3)) group = Stamped(std::move(group));
    if (random_.OneIn(8)) group.min_member = random_.Between(1, 3);
    if (random_.OneIn(8))
      group.priority_class = random_.Pick(std::vector<std::string>{"low", "train", "build"});
    if (orders_jobs_) {
      const auto some_ns = [&] { return random_.Between(0, 1000) * 1'000'000'000; };
      if (random_.Coin()) group.estimate_ns = some_ns();
      if (random_.Coin()) group.service.run_ns = group.service.gpu_ns = some_ns();
      if (random_.OneIn(4)) group.last_start_ns = kTestNowNs - some_ns();
    }
    if (random_.OneIn(12)) {  // an invalid value
      SubGroupRow lost;
      lost.name = "s1";
      lost.parent = "nowhere";
      group.sub_groups.push_back(std::move(lost));
    }
    return group;
  }

  Random random_;
  Store& store_;
  std::vector<ClusterRows> sources_;
  bool orders_jobs_ = false;
  std::string config_json_;
  bool is_about_names_ = false;
  int64_t version_ = 1;
  int64_t happened_ = 0;
};

// A simple model of Assumptions, as documented: a list that is searched with every event.
class PlainAssumptions final : public Follower {
 public:
  explicit PlainAssumptions(Store* store) : store_(*store) { store_.Follow(this); }
  PlainAssumptions(const PlainAssumptions&) = delete;
  PlainAssumptions& operator=(const PlainAssumptions&) = delete;
  ~PlainAssumptions() override { store_.Unfollow(this); }

  void Bind(AssumptionId id, BindRequestRow request) {
    const std::string pod = StrCat(request.namespace_name, "/", request.pod);
    std::erase_if(all_, [&](const Assumed& each) { return each.pod == pod && each.request; });
    all_.push_back({.id = id, .pod = pod, .uid = UidOf(pod), .request = std::move(request)});
  }
  void Evict(AssumptionId id, const std::string& pod, int64_t now_ns) {
    std::erase_if(all_, [&](const Assumed& each) { return each.pod == pod && !each.request; });
    all_.push_back({.id = id, .pod = pod, .uid = UidOf(pod), .deleted_ns = now_ns});
  }
  bool Forget(AssumptionId id) {
    return std::erase_if(all_, [&](const Assumed& each) { return each.id == id; }) != 0;
  }

  // The store's objects with the assumptions applied.
  ClusterRows Rows(const ShardParams& params) const {
    ClusterRows rows = store_.Rows();
    rows.params = params;
    for (const Assumed& each : all_) {
      if (each.request) {
        std::erase_if(rows.bind_requests, [&](const BindRequestRow& row) {
          return NameInTable(row) == NameInTable(*each.request);
        });
        rows.bind_requests.push_back(*each.request);
        continue;
      }
      for (PodRow& row : rows.pods) {
        if (NameInTable(row) == each.pod) row.deletion_ns = each.deleted_ns;
      }
    }
    return rows;
  }

 private:
  struct Assumed {
    AssumptionId id = 0;
    std::string pod;
    std::string uid;
    std::optional<BindRequestRow> request = {};  // empty: the pod is deleted
    int64_t deleted_ns = 0;
  };

  std::string UidOf(const std::string& pod) const { return store_.Find<PodRow>(pod)->uid; }

  void Changed(Kind kind, std::string_view name) override {
    std::erase_if(all_, [&](const Assumed& each) {
      if (kind == Kind::kBindRequest) {
        return each.request && NameInTable(*each.request) == name &&
               store_.Find<BindRequestRow>(name) != nullptr;
      }
      if (kind != Kind::kPod || each.pod != name) return false;
      const CompactPod* pod = store_.Find<PodRow>(name);
      if (pod == nullptr || pod->uid != each.uid) return true;
      return each.request ? !pod->node_name.empty() : pod->deletion_ns.has_value();
    });
  }

  Store& store_;
  std::vector<Assumed> all_;
};

// A scheduler that assumes some of its decisions, and withdraws some of them.
class Scheduler {
 public:
  Scheduler(Store* store, Engine* engine) : engine_(*engine), plain_(store) {}

  void CarryOut(const Plan& plan, int64_t now_ns, Random* random) {
    const Cluster& cluster = *plan.cluster;
    std::vector<BindRequestRow> requests;
    std::vector<std::string> deletions;
    const bool all = random->OneIn(3);
    for (const CycleLog::Decision& decision : plan.decisions) {
      if (!all && !random->OneIn(3)) continue;
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
    // The plan must not be read after this.
    for (BindRequestRow& request : requests) {
      ids_.push_back(engine_.AssumeBound(request).value());
      plain_.Bind(ids_.back(), std::move(request));
    }
    for (const std::string& pod : deletions) {
      ids_.push_back(engine_.AssumeEvicted(pod, now_ns).value());
      plain_.Evict(ids_.back(), pod, now_ns);
    }
    if (!ids_.empty() && random->OneIn(4)) {
      const AssumptionId id = random->Pick(ids_);
      EXPECT_EQ(engine_.Forget(id), plain_.Forget(id));
    }
  }
  int64_t assumed() const { return static_cast<int64_t>(ids_.size()); }
  ClusterRows Rows(const ShardParams& params) const { return plain_.Rows(params); }

 private:
  Engine& engine_;
  PlainAssumptions plain_;
  std::vector<AssumptionId> ids_;
};

// The whole content of a plan.
std::string WholeTextOf(const Plan& plan) {
  return StrCat(TextOf(plan), "\n", PlanJson(plan, TableOf(plan), ""));
}

// The plan of a new engine that imports the memory of another one.
std::string PlanOfAFreshEngine(const Store& store, const std::string& memory, const Config& config,
                               const ShardParams& params, int64_t now_ns) {
  ClusterRows rows = store.Rows();
  Store fresh;
  AnyKind([&](const auto& kind) {
    for (auto& row : kind.in(&rows)) fresh.Upsert(std::move(row));
    return false;
  });
  if (store.IsSynced(Kind::kConfigMap)) fresh.Synced(Kind::kConfigMap);
  Engine engine(&fresh, config, params);
  const absl::Status status = engine.ImportMemory(memory);
  EXPECT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(engine.ExportMemory(), memory);
  const absl::StatusOr<Engine::PlanPtr> plan = engine.Plan(now_ns, nullptr);
  EXPECT_TRUE(plan.ok());
  return WholeTextOf(**plan);
}

// An engine without explanations takes the same decisions. A repeated plan may hold for a shorter
// time than a new one.
void ExpectDecidesTheSame(Engine* brief, const std::string& memory, const Plan& plan,
                          bool is_repeated) {
  EXPECT_TRUE(brief->ImportMemory(memory).ok());
  const absl::StatusOr<Engine::PlanPtr> decided = brief->Plan(plan.now_ns, nullptr);
  ASSERT_TRUE(decided.ok());
  EXPECT_EQ(FirstDifference(DecidedText(plan), DecidedText(**decided)), "");
  EXPECT_EQ((*decided)->outcomes, nullptr);
  EXPECT_EQ((*decided)->spent_searches, plan.spent_searches);
  if (is_repeated) return;
  const auto held = [](const CycleTime::Holds& holds) {
    return std::tuple(holds.from_ns, holds.until_ns, holds.then, holds.at_once);
  };
  EXPECT_EQ(held((*decided)->holds), held(plan.holds));
}

// Pods and BindRequests of an export: the objects that assumptions change.
std::vector<std::string> TextsOfAssumable(const ClusterRows& rows) {
  std::vector<std::string> texts;
  for (const PodRow& row : rows.pods) {
    texts.push_back(StrCat(NameInTable(row), " ", row.uid, " ", row.node_name, " ",
                           row.deletion_ns.value_or(0)));
  }
  for (const BindRequestRow& row : rows.bind_requests)
    texts.push_back(StrCat("request ", NameInTable(row), " ", row.pod, " ", row.node));
  std::ranges::sort(texts);
  return texts;
}

std::vector<std::string> TextsOf(const std::vector<Rejection>& rejections) {
  std::vector<std::string> texts;
  for (const Rejection& each : rejections)
    texts.push_back(StrCat(each.kind, " ", each.name, " ", each.field, " ", each.message));
  return texts;
}

// With all switches on, or as KAI.
class EventsTest : public testing::TestWithParam<bool> {};

INSTANTIATE_TEST_SUITE_P(Mode, EventsTest, testing::Bool(), [](const auto& mode) {
  return std::string(mode.param ? "AsKai" : "Fixed");
});

TEST_P(EventsTest, RandomEventsGiveThePlanOfAFreshLoad) {
  const auto [first, end] = Seeds(60);
  Engine::Counts counts;
  int64_t assumed = 0;
  int64_t promised = 0;  // plans that start with promises of earlier ones
  int64_t happened = 0;
  // Updates that rooms cannot follow: with KAI's switches, cycles leave traces on shared GPUs.
  int64_t traced = 0;
  for (uint64_t seed = first; seed < end && !HasFailure(); ++seed) {
    SCOPED_TRACE(SeedTrace(seed));
    Store store;
    Events events(seed, &store);
    const Config config = ParseConfig(events.config_json(), GetParam());
    Engine engine(&store, config, events.params());
    Engine brief(&store, config, events.params(), {.explains = false});
    const Session session(config);
    Random random(seed);
    Scheduler scheduler(&store, &engine);
    events.Load();
    int64_t now_ns = kTestNowNs;
    bool leaves_traces = false;
    for (int step = 0; step < 25 && !HasFailure(); ++step) {
      SCOPED_TRACE(step);
      const std::string memory = engine.ExportMemory();
      const int64_t updated = engine.counts().updated;
      const int64_t repeated = engine.counts().repeated;
      const absl::StatusOr<Engine::PlanPtr> plan = engine.Plan(now_ns, nullptr);
      ASSERT_TRUE(plan.ok());
      if (leaves_traces) traced += engine.counts().updated - updated;
      leaves_traces = GetParam() && (*plan)->cluster->shares_gpus();
      const std::string fresh = PlanOfAFreshEngine(store, memory, config, events.params(), now_ns);
      EXPECT_EQ(FirstDifference(WholeTextOf(**plan), fresh), "");
      ExpectDecidesTheSame(&brief, memory, **plan, engine.counts().repeated > repeated);
      ClusterRows rows = scheduler.Rows(events.params());
      EXPECT_EQ(TextsOfAssumable(engine.Rows()), TextsOfAssumable(rows));
      const kai::Plan loaded = RunPlan(session, std::move(rows).Build(), nullptr, now_ns);
      EXPECT_EQ(TextsOf((*plan)->cluster->rejections()), TextsOf(loaded.cluster->rejections()));
      if (memory.ends_with(kNoPromises)) {
        EXPECT_EQ(FirstDifference(fresh, WholeTextOf(loaded)), "");
      } else {
        ++promised;
      }
      if (random.OneIn(2)) scheduler.CarryOut(**plan, now_ns, &random);
      // Only time passes: up to the moment at which the plan changes, or just before it; or it goes
      // back a little.
      const std::optional<Engine::Wake> wake = engine.NextWake();
      if (random.OneIn(3) && wake && wake->at_ns < 2 * kTestNowNs) {
        now_ns = random.Pick(std::vector<int64_t>{wake->at_ns, wake->at_ns - 1, now_ns - 1});
        continue;
      }
      const int64_t seconds = random.Pick(std::vector<int64_t>{0, 0, 1, 30, 120, 3600, -90});
      now_ns += seconds * 1'000'000'000;
      const int64_t most = random.OneIn(6) ? 20 : 3;
      for (int64_t left = random.Between(0, most); left > 0; --left) events.Happen();
    }
    assumed += scheduler.assumed();
    happened += events.happened();
    counts.built += engine.counts().built;
    counts.updated += engine.counts().updated;
    counts.followed += engine.counts().followed;
    counts.repeated += engine.counts().repeated;
  }
  // Otherwise the test would prove nothing.
  EXPECT_GT(assumed, end - first > 10 ? 10 : -1);
  if (GetParam()) {
    EXPECT_EQ(promised, 0) << "KAI keeps no promises";
  } else {
    EXPECT_GT(promised, end - first > 10 ? 30 : -1);
  }
  EXPECT_GT(counts.updated, end - first > 10 ? 3 * counts.built : -1);
  EXPECT_GT(counts.followed, end - first > 10 ? (counts.updated - traced) / 3 : -1);
  EXPECT_GT(counts.repeated, end - first > 10 ? counts.built / 3 : -1);
  RecordProperty("promised", static_cast<int>(promised));
  RecordProperty("events", std::to_string(happened));
  RecordProperty("updated", static_cast<int>(counts.updated));
  RecordProperty("traced", static_cast<int>(traced));
  RecordProperty("followed", static_cast<int>(counts.followed));
  RecordProperty("repeated", static_cast<int>(counts.repeated));
  RecordProperty("built", static_cast<int>(counts.built));
}

}  // namespace
}  // namespace kai::event_properties_test
