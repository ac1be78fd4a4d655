#include "kai/feed/feed.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "kai/base/text.h"
#include "kai/feed/watch_event.h"

namespace kai::feed_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;
using testing::SizeIs;
using testing::UnorderedElementsAre;

struct PodSpec {
  std::string uid = "u1";
  std::string annotations = R"({"pod-group-name": "g"})";
  std::string node = "";
  std::string phase = "Pending";
  std::string conditions = "[]";
  std::string scheduler = "kai-scheduler";
  std::string gpus = R"(,"nvidia.com/gpu":1)";
};

std::string Pod(std::string_view name, int version, const PodSpec& spec = {}) {
  return StrCat(R"({"kind":"Pod","metadata":{"namespace":"q","name":")", name, R"(","uid":")",
                spec.uid, R"(","resourceVersion":")", version, R"(","annotations":)",
                spec.annotations, R"(},"spec":{"schedulerName":")", spec.scheduler,
                R"(","nodeName":")", spec.node,
                R"(","initContainers":[{"name":"i","resources":{"requests":{"cpu":"7"}}}],)"
                R"("containers":[{"name":"c","resources":{"requests":{"cpu":"500m",)"
                R"("memory":"64Mi")",
                spec.gpus, R"(}}}]},"status":{"phase":")", spec.phase, R"(","conditions":)",
                spec.conditions, "}}");
}

std::string Group(std::string_view name, int version, std::string_view status = "{}",
                  std::string_view priority = "") {
  return StrCat(R"({"metadata":{"namespace":"q","name":")", name,
                R"(","uid":"ug","resourceVersion":")", version,
                R"(","annotations":{"kai.scheduler/last-start-timestamp":"then"}},)"
                R"("spec":{"queue":"leaf","minMember":1,"priorityClassName":")",
                priority, R"("},"status":)", status, "}");
}

std::string Queue(std::string_view name, std::string_view parent, int version = 1) {
  return StrCat(R"({"metadata":{"name":")", name, R"(","resourceVersion":")", version,
                R"("},"spec":{"parentQueue":")", parent, R"("}})");
}

std::string Event(std::string_view type, std::string_view object) {
  return StrCat(R"({"type":")", type, R"(","object":)", object, "}\n");
}

std::string Page(Kind kind, const std::vector<std::string>& items, std::string_view next = "") {
  std::string page =
      StrCat(R"({"kind":")", NameOf(kind),
             R"(List","metadata":{"resourceVersion":"90","continue":")", next, R"("},"items":[)");
  for (const std::string& item : items) page += (&item == &items.front() ? "" : ",") + item;
  return page + "]}";
}

class FeedTest : public testing::Test {
 protected:
  void List(Kind kind, const std::vector<std::string>& items) {
    inbox.BeginList(kind);
    ASSERT_TRUE(inbox.TakePage(kind, Page(kind, items)).ok());
    inbox.EndList(kind);
  }
  Feed::Drained Happen(Kind kind, std::string_view type, std::string_view object) {
    inbox.WatchBytes(kind, Event(type, object));
    return feed.Drain(&inbox);
  }
  static std::vector<std::string> Names(const Feed::Drained& drained) {
    std::vector<std::string> names;
    for (const auto& [name, json] : drained.pods) names.push_back(name);
    return names;
  }

  Store store;
  Inbox inbox;
  Feed feed{&store, "kai-scheduler"};
};

TEST_F(FeedTest, ListsAndWatchesFillTheStore) {
  List(Kind::kPod, {Pod("a", 1), Pod("b", 2)});
  Feed::Drained drained = feed.Drain(&inbox);
  EXPECT_THAT(Names(drained), ElementsAre("q/a", "q/b"));
  EXPECT_THAT(drained.synced, ElementsAre(Kind::kPod));
  EXPECT_THAT(drained.groups, ElementsAre("q/g"));
  EXPECT_EQ(drained.events, 2);
  drained = Happen(Kind::kPod, "DELETED", Pod("a", 9));
  ASSERT_THAT(drained.gone, SizeIs(1));
  EXPECT_EQ(drained.gone[0].uid, "u1");
  EXPECT_FALSE(store.Has(Kind::kPod, "q/a"));
  // A late event, and then a list without the pod.
  EXPECT_THAT(Names(Happen(Kind::kPod, "MODIFIED", Pod("a", 8))), IsEmpty());
  List(Kind::kPod, {});
  EXPECT_THAT(feed.Drain(&inbox).gone, SizeIs(1));
  EXPECT_FALSE(store.Has(Kind::kPod, "q/b"));
}

std::string Sharing(std::string_view name, int version, std::string_view labels,
                    const PodSpec& spec = {}) {
  std::string pod = Pod(name, version, spec);
  return pod.replace(pod.find(R"("annotations")"), 0, StrCat(R"("labels":)", labels, ","));
}

TEST_F(FeedTest, ReturnsPodsOnSharedDevicesThatChangeOrAreDeleted) {
  const auto at = [](std::string node, std::string phase) {
    return PodSpec{.node = std::move(node), .phase = std::move(phase)};
  };
  const std::string one = R"({"runai-gpu-group":"g1"})";
  List(Kind::kPod, {Pod("whole", 1), Sharing("half", 2, one)});
  const GpuUser half{.name = "q/half", .uid = "u1", .groups = {"g1"}, .phase = "Pending"};
  EXPECT_THAT(feed.Drain(&inbox).gpu_users, ElementsAre(half));
  EXPECT_THAT(Happen(Kind::kPod, "MODIFIED", Sharing("half", 3, one)).gpu_users, IsEmpty());
  GpuUser runs = half;
  runs.node = "n";
  runs.phase = "Running";
  EXPECT_THAT(Happen(Kind::kPod, "MODIFIED", Sharing("half", 4, one, at("n", "Running"))).gpu_users,
              ElementsAre(runs));
  runs.groups = {"g1", "g2"};
  const std::string two = R"({"runai-gpu-group/g1":"g1","runai-gpu-group/g2":"g2"})";
  EXPECT_THAT(Happen(Kind::kPod, "MODIFIED", Sharing("half", 5, two, at("n", "Running"))).gpu_users,
              ElementsAre(runs));
  const GpuUser gone{.name = "q/half"};
  EXPECT_THAT(Happen(Kind::kPod, "MODIFIED", Pod("half", 6, at("n", "Running"))).gpu_users,
              ElementsAre(gone));
  EXPECT_THAT(Happen(Kind::kPod, "DELETED", Pod("half", 7)).gpu_users, IsEmpty());
  Happen(Kind::kPod, "ADDED", Sharing("half", 8, one));
  EXPECT_THAT(Happen(Kind::kPod, "DELETED", Sharing("half", 9, one)).gpu_users, ElementsAre(gone));
}

TEST_F(FeedTest, ReturnsReservationPodsWithTheirDevice) {
  const std::string labels = R"({"app":"kai-resource-reservation","runai-gpu-group":"g1"})";
  PodSpec spec{.node = "n", .phase = "Running", .scheduler = "default-scheduler"};
  GpuUser user{.name = "q/r",
               .uid = "u1",
               .node = "n",
               .groups = {"g1"},
               .phase = "Running",
               .is_reservation = true};
  const Feed::Drained drained = Happen(Kind::kPod, "ADDED", Sharing("r", 1, labels, spec));
  EXPECT_THAT(drained.gpu_users, ElementsAre(user));
  EXPECT_THAT(drained.nodes, IsEmpty()) << "bindings to the node need no new check";
  spec.annotations = R"({"run.ai/reserve_for_gpu_index":"GPU-1"})";
  user.device = "GPU-1";
  EXPECT_THAT(Happen(Kind::kPod, "MODIFIED", Sharing("r", 2, labels, spec)).gpu_users,
              ElementsAre(user));
}

TEST_F(FeedTest, AScalingPodWithoutANodeShowsThatTheClusterGrows) {  // spec 3 B10
  const auto scaling = [](int version, std::string node) {
    std::string pod = Pod("scale", version, {.node = std::move(node), .scheduler = "default"});
    return pod.replace(pod.find(R"("q")"), 3, R"("kai-scale-adjust")");
  };
  EXPECT_FALSE(Happen(Kind::kPod, "ADDED", Pod("waits", 1)).is_scaling_up);
  EXPECT_TRUE(Happen(Kind::kPod, "ADDED", scaling(2, "")).is_scaling_up);
  EXPECT_TRUE(Happen(Kind::kPod, "ADDED", Pod("other", 3)).is_scaling_up);
  EXPECT_FALSE(Happen(Kind::kPod, "MODIFIED", scaling(4, "n")).is_scaling_up);
  Happen(Kind::kPod, "MODIFIED", scaling(5, ""));
  EXPECT_FALSE(Happen(Kind::kPod, "DELETED", scaling(6, "")).is_scaling_up);
}

std::vector<std::string> Failures(const Feed::Drained& drained) {
  std::vector<std::string> failures;
  for (const Feed::Failed& each : drained.failed) {
    failures.push_back(StrCat(each.name, " ", each.uid, " of ", each.group, " on ", each.node, ": ",
                              each.reason, ", ", each.message));
  }
  return failures;
}

TEST_F(FeedTest, ReturnsAPodThatFailsOnANodeOnce) {
  const auto failed = [](int version, std::string_view node = "n") {
    std::string pod = Pod("a", version, {.node = std::string(node), .phase = "Failed"});
    return pod.insert(pod.find("\"conditions\""), R"("reason":"OutOfcpu","message":"no","x":1,)");
  };
  List(Kind::kPod, {failed(1)});
  EXPECT_THAT(Failures(feed.Drain(&inbox)), IsEmpty()) << "it may have failed long ago";
  Happen(Kind::kPod, "DELETED", failed(2));
  EXPECT_THAT(Failures(Happen(Kind::kPod, "ADDED", Pod("a", 3))), IsEmpty());
  EXPECT_THAT(Failures(Happen(Kind::kPod, "MODIFIED", failed(4))),
              ElementsAre("q/a u1 of q/g on n: OutOfcpu, no"));
  EXPECT_THAT(Failures(Happen(Kind::kPod, "MODIFIED", failed(5))), IsEmpty());
  Happen(Kind::kPod, "DELETED", failed(6));
  EXPECT_THAT(Failures(Happen(Kind::kPod, "ADDED", failed(7))), SizeIs(1)) << "after the list";
  Happen(Kind::kPod, "DELETED", failed(8));
  EXPECT_THAT(Failures(Happen(Kind::kPod, "ADDED", failed(9, ""))), IsEmpty()) << "it has no node";
}

TEST_F(FeedTest, TheNominatedNodeIsAPreferenceUnlessThisSchedulerSetIt) {
  const auto nominated = [](int version, std::string_view manager) {
    std::string pod = Pod("a", version);
    pod.insert(pod.find("\"conditions\""), R"("nominatedNodeName":"n1",)");
    return pod.insert(pod.find("\"uid\""),
                      StrCat(R"("managedFields":[{"manager":")", manager,
                             R"(","fieldsV1":{"f:status":{"f:nominatedNodeName":{}}}}],)"));
  };
  Happen(Kind::kPod, "ADDED", nominated(1, "autoscaler"));
  EXPECT_EQ(store.Find<PodRow>("q/a")->extras->nominated_node, "n1");
  EXPECT_EQ(feed.PodFactsOf("q/a")->verdict->nominated_node, "");
  Happen(Kind::kPod, "MODIFIED", nominated(2, "kai-sched"));
  EXPECT_EQ(store.Find<PodRow>("q/a")->extras->nominated_node, "");
  EXPECT_EQ(feed.PodFactsOf("q/a")->verdict->nominated_node, "n1");
}

TEST_F(FeedTest, ReturnsAPodWhenFieldsThatTheGrouperReadsChange) {
  EXPECT_THAT(Names(Happen(Kind::kPod, "ADDED", Pod("a", 1))), ElementsAre("q/a"));
  EXPECT_THAT(Names(Happen(Kind::kPod, "MODIFIED", Pod("a", 2, {.phase = "Running"}))), IsEmpty());
  EXPECT_THAT(Names(Happen(Kind::kPod, "MODIFIED", Pod("a", 3, {.annotations = "{}"}))),
              ElementsAre("q/a"));
  EXPECT_THAT(Names(Happen(Kind::kPod, "ADDED", Pod("o", 4, {.scheduler = "other"}))), IsEmpty());
  const Feed::Drained drained = Happen(Kind::kPod, "MODIFIED", Pod("a", 5, {.uid = "u2"}));
  EXPECT_THAT(Names(drained), ElementsAre("q/a"));
  ASSERT_THAT(drained.gone, SizeIs(1));
  EXPECT_EQ(drained.gone[0].uid, "u1");
}

TEST_F(FeedTest, HasTheConditionsOfWaitingPods) {
  Happen(Kind::kPod, "ADDED", Pod("a", 1));
  const Feed::Drained drained =
      Happen(Kind::kPod, "MODIFIED",
             Pod("a", 2,
                 {.conditions = R"([{"type":"Ready","status":"False"},{"type":"PodScheduled",)"
                                R"("status":"False","reason":"Unschedulable","message":"no"}])"}));
  EXPECT_THAT(drained.groups, ElementsAre("q/g"));
  std::optional<PodFacts> facts = feed.PodFactsOf("q/a");
  ASSERT_TRUE(facts.has_value());
  EXPECT_EQ(facts->uid, "u1");
  EXPECT_EQ(facts->verdict->reason, "Unschedulable");
  EXPECT_EQ(facts->verdict->message, "no");
  Happen(Kind::kPod, "MODIFIED", Pod("a", 3, {.node = "n"}));
  facts = feed.PodFactsOf("q/a");
  EXPECT_EQ(facts->node, "n");
  EXPECT_EQ(facts->verdict->message, "");
  EXPECT_FALSE(feed.PodFactsOf("q/none").has_value());
}

TEST_F(FeedTest, ReadsWhetherPodsOfAGroupAreMarkedUnschedulable) {
  Happen(Kind::kPod, "ADDED", Pod("a", 1));
  EXPECT_TRUE(feed.PodFactsOf("q/a")->is_marked);
  Happen(Kind::kPodGroup, "ADDED",
         R"({"metadata":{"namespace":"q","name":"g","uid":"ug","resourceVersion":"2"},)"
         R"("spec":{"queue":"q","markUnschedulable":false}})");
  EXPECT_FALSE(feed.PodFactsOf("q/a")->is_marked);
}

TEST_F(FeedTest, HasTheStatusOfPodGroups) {
  const Feed::Drained drained =
      Happen(Kind::kPodGroup, "ADDED",
             Group("g", 1, R"({"schedulingConditions":[1, 2],"resourcesStatus":{"a":"b"}})"));
  EXPECT_THAT(drained.groups, ElementsAre("q/g"));
  const GroupFacts* facts = feed.GroupFactsOf("q/g");
  ASSERT_NE(facts, nullptr);
  EXPECT_EQ(facts->conditions, "[1, 2]");
  EXPECT_EQ(facts->resources_status, R"({"a":"b"})");
  EXPECT_EQ(facts->last_start, "then");
  const Feed::Drained after = Happen(Kind::kPodGroup, "DELETED", Group("g", 2));
  ASSERT_THAT(after.gone, SizeIs(1));
  EXPECT_EQ(after.gone[0].uid, "ug");
  EXPECT_EQ(feed.GroupFactsOf("q/g"), nullptr);
}

TEST_F(FeedTest, SumsTheResourcesOfGroupsAndQueues) {  // spec 6 C32, C34
  List(Kind::kQueue, {Queue("top", ""), Queue("leaf", "top"), Queue("round", "round")});
  List(Kind::kPodGroup, {Group("g", 1), Group("h", 2, "{}", "high")});
  List(Kind::kPriorityClass, {R"({"metadata":{"name":"high"},"value":100})"});
  List(Kind::kPod, {Pod("a", 1, {.node = "n"}), Pod("b", 2), Pod("c", 3, {.phase = "Succeeded"}),
                    Pod("d", 4, {.annotations = R"({"pod-group-name":"h"})", .phase = "Running"})});
  feed.Drain(&inbox);
  const auto group = feed.GroupStatusOf("q/g");
  ASSERT_TRUE(group.has_value());
  EXPECT_THAT(group->requested,
              ElementsAre(Pair("cpu", "1"), Pair("memory", "128Mi"), Pair("nvidia.com/gpu", "2")));
  EXPECT_THAT(group->allocated, ElementsAre(Pair("cpu", "500m"), Pair("memory", "64Mi"),
                                            Pair("nvidia.com/gpu", "1")));
  EXPECT_TRUE(group->is_preemptible);
  EXPECT_THAT(group->allocated_non_preemptible, IsEmpty());
  EXPECT_FALSE(feed.GroupStatusOf("q/none").has_value());
  EXPECT_THAT(feed.GroupStatusOf("q/h")->allocated_non_preemptible, SizeIs(3));
  const auto queues = feed.QueueStatuses();
  const Feed::QueueStatus& top = queues.at("top");
  EXPECT_THAT(top.children, ElementsAre("leaf"));
  EXPECT_EQ(top.requested.at("cpu"), "1500m");
  EXPECT_EQ(top.allocated.at("nvidia.com/gpu"), "2");
  EXPECT_EQ(top.allocated_non_preemptible.at("cpu"), "500m");
  EXPECT_THAT(queues.at("round").children, ElementsAre("round"));
  // Changes that other code makes to the store count, too.
  store.Assign("q/b", "u1", "h", "");
  EXPECT_EQ(feed.GroupStatusOf("q/g")->requested.at("cpu"), "500m");
  EXPECT_EQ(feed.GroupStatusOf("q/h")->requested.at("cpu"), "1");
  Happen(Kind::kPod, "DELETED", Pod("b", 9));
  EXPECT_EQ(feed.GroupStatusOf("q/h")->requested.at("cpu"), "500m");
}

std::string NodeWithMemory(std::string_view name, int version, std::string_view mib) {
  const std::string label = mib.empty() ? "" : StrCat(R"("nvidia.com/gpu.memory":")", mib, "\"");
  return StrCat(R"({"metadata":{"name":")", name, R"(","resourceVersion":")", version,
                R"(","labels":{)", label, R"(}},"status":{"allocatable":{"nvidia.com/gpu":"2"}}})");
}

std::string WithMemory(std::string_view name, int version, PodSpec spec, std::string_view mib,
                       std::string_view devices = "1") {
  spec.annotations = StrCat(R"({"pod-group-name":"g","gpu-memory":")", mib,
                            R"(","gpu-fraction-num-devices":")", devices, "\"}");
  spec.gpus = "";
  return Pod(name, version, spec);
}

TEST_F(FeedTest, HeldGpuMemoryIsCountedAsAFractionOfTheNodesGpu) {  // spec 6 C32
  const auto gpus = [&] {
    const Feed::Texts held = feed.GroupStatusOf("q/g")->allocated;
    const auto of = [&](std::string_view name) {
      const auto found = held.find(std::string(name));
      return found == held.end() ? "-" : found->second;
    };
    return StrCat(of("nvidia.com/gpu"), " ", of("run.ai/gpu.memory"));
  };
  List(Kind::kQueue, {Queue("leaf", "")});
  List(Kind::kPodGroup, {Group("g", 1)});
  List(Kind::kNode, {NodeWithMemory("n", 1, "23028")});
  List(Kind::kPod, {WithMemory("a", 2, {.uid = "u2", .node = "n"}, "8000"),
                    WithMemory("b", 3, {.uid = "u3", .node = "n", .phase = "Running"}, "12000"),
                    WithMemory("waits", 4, {.uid = "u4"}, "8000")});
  feed.Drain(&inbox);
  EXPECT_EQ(gpus(), "868507905n -") << "347403162n and 521104743n, each rounded up";
  EXPECT_EQ(feed.GroupStatusOf("q/g")->requested.at("run.ai/gpu.memory"), "28k");
  EXPECT_EQ(feed.QueueStatuses().at("leaf").allocated.at("nvidia.com/gpu"), "868507905n");
  Happen(Kind::kPod, "DELETED", WithMemory("b", 5, {.uid = "u3", .node = "n"}, "12000"));
  EXPECT_EQ(gpus(), "347403162n -");
  EXPECT_THAT(Happen(Kind::kNode, "MODIFIED", NodeWithMemory("n", 6, "16000")).groups,
              ElementsAre("q/g"));
  EXPECT_EQ(gpus(), "500m -");
  Happen(Kind::kPod, "ADDED", WithMemory("two", 7, {.uid = "u5", .node = "n"}, "4000", "2"));
  EXPECT_EQ(gpus(), "1 -") << "a quarter of each of two devices";
  Happen(Kind::kNode, "MODIFIED", NodeWithMemory("n", 8, ""));
  EXPECT_EQ(gpus(), "- 16k") << "the node has no label with the memory of its devices";
  Happen(Kind::kNode, "DELETED", NodeWithMemory("n", 9, ""));
  EXPECT_EQ(gpus(), "- 16k");
  Happen(Kind::kNode, "ADDED", NodeWithMemory("n", 10, "16777216000"));
  EXPECT_EQ(gpus(), "1 -") << "this label is in bytes";
}

TEST_F(FeedTest, SumsEqualThoseOfANewFeedAfterAnyNodeEvents) {
  constexpr uint64_t kSeed = 7;
  SCOPED_TRACE(kSeed);
  std::mt19937_64 random(kSeed);
  const auto below = [&](uint64_t bound) { return random() % bound; };
  List(Kind::kPodGroup, {Group("g", 1)});
  constexpr std::string_view kSizes[] = {"", "16000", "23028", "81920"};
  for (int i = 0; i < 400; ++i) {
    const std::string node = StrCat("n", below(3));
    if (below(3) == 0) {
      Happen(Kind::kNode, below(4) == 0 ? "DELETED" : "MODIFIED",
             NodeWithMemory(node, 10 + i, kSizes[below(4)]));
    } else {
      const std::string name = StrCat("p", below(6));
      PodSpec spec{.uid = name, .node = below(2) == 0 ? node : ""};
      if (below(4) == 0) spec.phase = "Succeeded";
      const std::string mib = StrCat(1000 * (1 + below(9)));
      Happen(Kind::kPod, below(5) == 0 ? "DELETED" : "MODIFIED",
             below(3) == 0 ? Pod(name, 10 + i, spec)
                           : WithMemory(name, 10 + i, spec, mib, below(2) == 0 ? "1" : "2"));
    }
    Feed anew(&store, "kai-scheduler");
    ASSERT_EQ(feed.GroupStatusOf("q/g")->allocated, anew.GroupStatusOf("q/g")->allocated) << i;
    ASSERT_EQ(feed.GroupStatusOf("q/g")->requested, anew.GroupStatusOf("q/g")->requested) << i;
  }
}

TEST_F(FeedTest, PodsWithoutTheirPodGroupAreStranded) {
  List(Kind::kPodGroup, {Group("g", 1)});
  List(Kind::kPod,
       {Pod("in", 2), Pod("out", 3, {.annotations = R"({"pod-group-name": "gone"})"}),
        Pod("free", 4, {.annotations = "{}"}),
        Pod("on", 5, {.annotations = R"({"pod-group-name": "gone"})", .node = "n1"}),
        Pod("other", 6,
            {.annotations = R"({"pod-group-name": "gone"})", .scheduler = "default-scheduler"})});
  feed.Drain(&inbox);
  EXPECT_THAT(feed.Stranded(), ElementsAre(Pair("q/out", "q/gone")));
  Happen(Kind::kPodGroup, "ADDED", Group("gone", 7));
  EXPECT_THAT(feed.Stranded(), IsEmpty());
  Happen(
      Kind::kPodGroup, "MODIFIED",
      R"({"metadata":{"namespace":"q","name":"g","resourceVersion":"8"},"spec":{"minMember":-1}})");
  EXPECT_THAT(feed.Stranded(), ElementsAre(Pair("q/in", "q/g")));
}

TEST_F(FeedTest, InvalidEventsAreRejectedAndTheNextOnesAreRead) {
  inbox.WatchBytes(Kind::kQueue,
                   StrCat("no JSON\n", "{\"type\":\"ODD\",\"object\":{}}\n",
                          Event("ADDED", R"({"metadata":{"name":"bad"},"spec":7})"),
                          Event("DELETED", "{}"), "\n", Event("ADDED", Queue("good", ""))));
  const Feed::Drained drained = feed.Drain(&inbox);
  ASSERT_THAT(drained.rejected, SizeIs(4));
  EXPECT_THAT(drained.rejected[0].message, HasSubstr("a line of a watch is not"));
  EXPECT_THAT(drained.rejected[1].message, HasSubstr("ODD"));
  EXPECT_EQ(drained.rejected[2].name, "bad");
  EXPECT_THAT(drained.rejected[3].message, HasSubstr("no metadata.name"));
  EXPECT_TRUE(store.Has(Kind::kQueue, "good"));
}

// ---- the inbox ----------------------------------------------------------------------------------

std::string WithClaim(std::string pod, std::string_view claim) {
  const std::string uses =
      StrCat(R"("resourceClaims":[{"name":"g","resourceClaimName":")", claim, R"("}],)");
  return pod.insert(pod.find("\"initContainers\""), uses);
}

std::string Claim(std::string_view name, int version, int count) {
  return StrCat(R"({"metadata":{"namespace":"q","name":")", name, R"(","resourceVersion":")",
                version, R"("},"spec":{"devices":{"requests":[{"name":"r","exactly":)",
                R"({"deviceClassName":"gpu.nvidia.com","count":)", count, "}}]}}}");
}

TEST_F(FeedTest, DevicesOfClaimsCountByTheirClassInAnyOrderOfEvents) {
  const auto devices = [&] {
    const auto status = feed.GroupStatusOf("q/g");
    const auto found = status->requested.find("gpu.nvidia.com");
    return found == status->requested.end() ? "" : found->second;
  };
  List(Kind::kPodGroup, {Group("g", 1)});
  List(Kind::kPod, {WithClaim(Pod("a", 1), "c"), WithClaim(Pod("b", 2, {.uid = "u2"}), "c")});
  feed.Drain(&inbox);
  EXPECT_EQ(devices(), "");
  EXPECT_THAT(Happen(Kind::kResourceClaim, "ADDED", Claim("c", 3, 2)).groups, ElementsAre("q/g"));
  EXPECT_EQ(devices(), "4") << "each pod that names the claim requests its devices";
  Happen(Kind::kResourceClaim, "MODIFIED", Claim("c", 4, 3));
  EXPECT_EQ(devices(), "6");
  Happen(Kind::kPod, "MODIFIED", WithClaim(Pod("a", 5, {.node = "n"}), "c"));
  EXPECT_EQ(feed.GroupStatusOf("q/g")->allocated.at("gpu.nvidia.com"), "3");
  Happen(Kind::kPod, "MODIFIED", WithClaim(Pod("a", 6, {.node = "n", .phase = "Succeeded"}), "c"));
  EXPECT_EQ(devices(), "3");
  EXPECT_THAT(Happen(Kind::kResourceClaim, "DELETED", Claim("c", 7, 3)).groups, ElementsAre("q/g"));
  EXPECT_EQ(devices(), "");
  Happen(Kind::kResourceClaim, "ADDED", Claim("c", 8, 1));
  Happen(Kind::kPod, "DELETED", WithClaim(Pod("b", 9, {.uid = "u2"}), "c"));
  EXPECT_EQ(devices(), "");
  EXPECT_THAT(Happen(Kind::kResourceClaim, "MODIFIED", Claim("c", 10, 5)).groups,
              ElementsAre("q/g"))
      << "a pod that has ended still names it";
  EXPECT_EQ(devices(), "");
}

TEST_F(FeedTest, APodWaitsForVolumesUntilItsClaimsAreBound) {
  const auto claim = [](int version, std::string_view annotations, std::string_view volume) {
    return StrCat(R"({"metadata":{"namespace":"q","name":"data","resourceVersion":")", version,
                  R"(","annotations":)", annotations, R"(},"spec":{"volumeName":")", volume,
                  R"("}})");
  };
  std::string pod = Pod("a", 1);
  pod.insert(pod.find("\"initContainers\""),
             R"("volumes":[{"name":"d","persistentVolumeClaim":{"claimName":"data"}}],)");
  List(Kind::kPod, {pod, Pod("b", 2, {.uid = "u2"})});
  feed.Drain(&inbox);
  EXPECT_TRUE(feed.WaitsForVolumes("q/a"));
  EXPECT_FALSE(feed.WaitsForVolumes("q/b"));
  EXPECT_FALSE(feed.WaitsForVolumes("q/nothing"));
  Happen(Kind::kPersistentVolumeClaim, "ADDED", claim(3, "{}", "pv"));
  EXPECT_TRUE(feed.WaitsForVolumes("q/a"));
  Happen(Kind::kPersistentVolumeClaim, "MODIFIED",
         claim(4, R"({"pv.kubernetes.io/bind-completed":"yes"})", "pv"));
  EXPECT_FALSE(feed.WaitsForVolumes("q/a"));
}

// ---- what lists and watches have shown ----------------------------------------------------------

std::string ShownOf(Kind kind, const Feed::Drained& drained) {
  for (const ShownObjects::State& each : drained.shown) {
    if (each.kind == kind) return StrCat(each.objects, " at ", each.version);
  }
  return "unknown";
}

TEST_F(FeedTest, CountsTheObjectsThatTheWatchHasShownAtItsVersion) {
  inbox.BeginList(Kind::kQueue);
  ASSERT_TRUE(inbox.TakePage(Kind::kQueue, Page(Kind::kQueue, {Queue("a", "")}, "more")).ok());
  EXPECT_EQ(ShownOf(Kind::kQueue, feed.Drain(&inbox)), "unknown");
  ASSERT_TRUE(inbox.TakePage(Kind::kQueue, Page(Kind::kQueue, {Queue("b", "")})).ok());
  inbox.EndList(Kind::kQueue);
  EXPECT_EQ(ShownOf(Kind::kQueue, feed.Drain(&inbox)), "2 at 90");
  EXPECT_EQ(ShownOf(Kind::kQueue, Happen(Kind::kQueue, "ADDED", Queue("c", "", 91))), "3 at 91");
  EXPECT_EQ(ShownOf(Kind::kQueue, Happen(Kind::kQueue, "MODIFIED", Queue("c", "a", 92))),
            "3 at 92");
  EXPECT_EQ(ShownOf(Kind::kQueue, Happen(Kind::kQueue, "DELETED", Queue("a", "", 93))), "2 at 93");
  const std::string_view bookmark = R"({"metadata":{"resourceVersion":"99"}})";
  EXPECT_EQ(ShownOf(Kind::kQueue, Happen(Kind::kQueue, "BOOKMARK", bookmark)), "2 at 99");
  // An object that cannot be used exists all the same, and one that is planned does not.
  const std::string_view unusable =
      R"({"metadata":{"name":"d","resourceVersion":"100"},"spec":[]})";
  EXPECT_EQ(ShownOf(Kind::kQueue, Happen(Kind::kQueue, "ADDED", unusable)), "3 at 100");
  JsonDocument document;
  store.UpsertPlanned(Kind::kPodGroup, *document.Parse(Group("g", 0)));
  List(Kind::kPodGroup, {});
  EXPECT_EQ(ShownOf(Kind::kPodGroup, feed.Drain(&inbox)), "0 at 90");
}

TEST_F(FeedTest, ALaterListTellsWhatWasLost) {
  List(Kind::kQueue, {Queue("a", ""), Queue("b", ""), Queue("c", "")});
  EXPECT_THAT(feed.Drain(&inbox).relisted, IsEmpty());
  inbox.BeginList(Kind::kQueue);  // this one breaks off
  ASSERT_TRUE(inbox.TakePage(Kind::kQueue, Page(Kind::kQueue, {Queue("x", "")}, "more")).ok());
  List(Kind::kQueue, {Queue("a", ""), Queue("b", "a", 5), Queue("d", "", 6)});
  const Feed::Drained drained = feed.Drain(&inbox);
  ASSERT_THAT(drained.relisted, SizeIs(1));
  const ShownObjects::Relisted& relisted = drained.relisted[0];
  EXPECT_EQ(std::tuple(relisted.added, relisted.changed, relisted.gone), std::tuple(1, 1, 1));
  EXPECT_THAT(relisted.names, ElementsAre("b", "d", "c", "x"));
  EXPECT_EQ(ShownOf(Kind::kQueue, drained), "3 at 90");
}

TEST_F(FeedTest, AnObjectThatIsReadByItselfCountsLikeAnEvent) {
  List(Kind::kPod, {Pod("a", 1)});
  feed.Drain(&inbox);
  feed.Show(Kind::kPod, Pod("a", 3, {.node = "n"}));
  EXPECT_EQ(feed.PodFactsOf("q/a")->node, "n");
  EXPECT_THAT(feed.Drain(&inbox).groups, ElementsAre("q/g"));
  Happen(Kind::kPod, "MODIFIED", Pod("a", 2));  // late
  EXPECT_EQ(feed.PodFactsOf("q/a")->node, "n");
  feed.Show(Kind::kPod, "{");
  EXPECT_THAT(feed.Drain(&inbox).rejected, SizeIs(1));
}

TEST_F(FeedTest, APageIsComparedWithTheVersionsThatTheWatchHasShown) {
  List(Kind::kQueue, {Queue("a", "", 3), Queue("b", "", 4)});
  feed.Drain(&inbox);
  const std::string page =
      Page(Kind::kQueue, {Queue("a", "", 3), Queue("b", "", 7), Queue("c", "", 8)});
  EXPECT_THAT(*feed.Behind(Kind::kQueue, page), ElementsAre("b"));  // c may be deleted
  Happen(Kind::kQueue, "MODIFIED", Queue("b", "", 9));
  EXPECT_THAT(*feed.Behind(Kind::kQueue, page), IsEmpty());
  EXPECT_FALSE(feed.Behind(Kind::kQueue, "<html>").ok());
}

TEST(InboxTest, ReturnsTheVersionTheNextPageAndTheNumberOfItems) {
  Inbox inbox;
  inbox.BeginList(Kind::kQueue);
  const std::string page = Page(Kind::kQueue, {Queue("a", ""), Queue("b", "")}, "more");
  const absl::StatusOr<Inbox::Page> read = inbox.TakePage(Kind::kQueue, page);
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read->version, "90");
  EXPECT_EQ(read->next, "more");
  EXPECT_EQ(read->items, 2);
  inbox.EndList(Kind::kQueue);
  EXPECT_FALSE(inbox.TakePage(Kind::kQueue, R"({"kind":"Status"})").ok());
  for (const std::string_view odd :
       {"<html>", "", "{}", "null", R"({"kind":"QueueList","metadata":{"resourceVersion":"9"}})",
        R"({"kind":"QueueList","metadata":{},"items":[]})",
        R"({"kind":"PodList","metadata":{"resourceVersion":"9"},"items":[]})",
        R"({"kind":"QueueList","metadata":{"resourceVersion":"9"},"items":[)"})
    EXPECT_FALSE(inbox.TakePage(Kind::kQueue, odd).ok()) << odd;

  const std::string bookmark = Event(
      "BOOKMARK",
      R"({"metadata":{"resourceVersion":"95","annotations":{"k8s.io/initial-events-end":"true"}}})");
  const std::string chunk = StrCat(bookmark, Event("ADDED", Queue("c", "", 97)), "{\"type\"");
  Inbox::Progress progress = inbox.WatchBytes(Kind::kQueue, chunk);
  EXPECT_EQ(progress.version, "97");
  EXPECT_TRUE(progress.synced);
  EXPECT_EQ(progress.error, "");
  inbox.WatchEnded(Kind::kQueue);
  progress = inbox.WatchBytes(Kind::kQueue, Event("ERROR", R"({"code": 410})"));
  EXPECT_EQ(progress.error, R"({"code": 410})");
  EXPECT_EQ(progress.version, "");
  EXPECT_FALSE(progress.synced);

  std::deque<Inbox::Item> items = inbox.TakeAll();
  EXPECT_THAT(items, SizeIs(5));
  EXPECT_EQ(items[3].bytes, StrCat(bookmark, Event("ADDED", Queue("c", "", 97))));
}

TEST(InboxTest, IsFullUntilTheWaitingItemsAreDone) {
  Inbox inbox;
  const std::string line = Event("ADDED", StrCat("{\"a\":\"", std::string(1 << 20, 'x'), "\"}"));
  for (int i = 0; i < 64; ++i) inbox.WatchBytes(Kind::kQueue, line);
  EXPECT_TRUE(inbox.is_full());
  for (const Inbox::Item& item : inbox.TakeAll()) inbox.Done(item.bytes.size());
  EXPECT_FALSE(inbox.is_full());
}

TEST(InboxTest, ALineThatIsTooLongIsCutShort) {
  Inbox inbox;
  const std::string part(Inbox::kLongestLine / 2 + 1, 'x');
  inbox.WatchBytes(Kind::kQueue, part);
  inbox.WatchBytes(Kind::kQueue, part);
  inbox.WatchBytes(Kind::kQueue, part);
  inbox.WatchBytes(Kind::kQueue, StrCat("xx\n", Event("ADDED", Queue("a", "", 5)), "{"));
  const std::deque<Inbox::Item> items = inbox.TakeAll();
  ASSERT_THAT(items, SizeIs(1));
  EXPECT_EQ(items[0].bytes.find('\n'), 200u);
  EXPECT_TRUE(items[0].bytes.ends_with(Event("ADDED", Queue("a", "", 5))));
}

TEST(WatchEventTest, LinesAndPagesAreParsedWithoutCopies) {
  JsonDocument document;
  const std::string line = R"({"object":{"x":[1, {"y":2}]},"type":"DELETED"})";
  const absl::StatusOr<WatchEvent> event = ReadWatchEvent(line, &document);
  ASSERT_TRUE(event.ok());
  EXPECT_EQ(event->type, WatchEventType::kDeleted);
  EXPECT_EQ(RawJson(event->object), R"({"x":[1, {"y":2}]})");
  const std::string bytes = R"({"kind":"PodList","metadata":{"resourceVersion":"9"},"items":null})";
  const absl::StatusOr<ListPage> page = ReadListPage(bytes, "Pod", &document);
  ASSERT_TRUE(page.ok());
  EXPECT_FALSE(page->has_items);
}

TEST(ObjectFactsTest, UnreadableFieldsAreEmpty) {
  JsonDocument document;
  const std::string odd = R"({"metadata":7,"spec":[],"status":{"conditions":{}}})";
  const JsonObject object = *document.Parse(odd);
  const PodReading reading = ReadPodReading(object);
  EXPECT_EQ(reading.uid, "");
  const GroupFacts facts = ReadGroupFacts(object);
  EXPECT_EQ(facts, GroupFacts());
}

TEST(StatusSumsTest, SubtractingRestoresTheEarlierSums) {
  RowParts parts;
  PodRow row;
  row.namespace_name = "ns";
  row.name = "p";
  row.pod_group = "g";
  row.phase = Phase::kRunning;
  row.requests = {{"cpu", 1500}, {"memory", 3 << 20}, {"example.com/x", 2000}};
  row.gpu.kind = GpuRequestKind::kFraction;
  row.gpu.count = 2;
  row.gpu.portion = 0.25;
  const CompactPod pod = parts.Compact(row);
  StatusSums sums;
  const PodShare share = ShareOf(pod);
  sums.Add(share);
  sums.Add(share);
  sums.Subtract(share);
  EXPECT_THAT(TextsOf(sums.Of("ns/g").allocated),
              ElementsAre(Pair("cpu", "1500m"), Pair("example.com/x", "2"), Pair("memory", "3Mi"),
                          Pair("nvidia.com/gpu", "500m")));
  row.gpu.kind = GpuRequestKind::kMemory;
  row.gpu.memory_mib = 4000;
  row.requests = {{"cpu", 4'000'000}};
  EXPECT_THAT(TextsOf(ShareOf(parts.Compact(row)).requested),
              ElementsAre(Pair("cpu", "4k"), Pair("run.ai/gpu.memory", "8k")));
  sums.Subtract(share);
  EXPECT_THAT(sums.all(), IsEmpty());
}

// ---- streams in random chunks -------------------------------------------------------------------

class Stream {
 public:
  explicit Stream(uint64_t seed) : random_(seed) {}
  int64_t Below(int64_t end) { return std::uniform_int_distribution<int64_t>(0, end - 1)(random_); }

  std::string Next(int version) {
    const std::string name = StrCat("p", Below(12));
    switch (Below(12)) {
      case 0:
        return "{\"type\":\"ADDED\",\"object\"}\n";
      case 1:
        return Event("BOOKMARK", StrCat(R"({"metadata":{"resourceVersion":")", version, "\"}}"));
      case 2:
      case 3:
        return Event("DELETED", Pod(name, version));
      default:
        return Event(Below(2) == 0 ? "ADDED" : "MODIFIED", SomePod(name, version));
    }
  }

 private:
  std::string SomePod(std::string_view name, int version) {
    PodSpec spec;
    spec.uid = StrCat("u", Below(3));
    spec.annotations = Below(3) == 0 ? "{}" : StrCat(R"({"pod-group-name":"g)", Below(3), "\"}");
    if (Below(2) == 0) spec.node = "n";
    spec.phase = Below(3) == 0 ? "Pending" : Below(2) == 0 ? "Running" : "Succeeded";
    if (Below(9) == 0) spec.conditions = "7";
    if (Below(9) == 0) spec.scheduler = "other";
    if (Below(9) == 0) spec.annotations = R"({"gpu-fraction":"NaN"})";
    return Pod(name, static_cast<int>(version - Below(4)), spec);
  }

  std::mt19937_64 random_;
};

std::string Seen(const Store& store) {
  std::string seen;
  for (const PodRow& row : store.Rows().pods) {
    seen += StrCat(row.name, " ", row.uid, " ", row.pod_group, " ", row.node_name, " ",
                   static_cast<int>(row.phase), "\n");
  }
  for (const Rejection& each : store.rejections()) seen += StrCat(each.name, each.message, "\n");
  return seen;
}

TEST(FeedPropertiesTest, AnyChunkingGivesTheSameStore) {
  for (uint64_t seed = 0; seed < 40; ++seed) {
    SCOPED_TRACE(seed);
    Stream stream(seed);
    Store one_by_one, in_chunks;
    Inbox first, second;
    Feed plain(&one_by_one, "kai-scheduler"), chunked(&in_chunks, "kai-scheduler");
    std::string bytes, version;
    std::set<std::string> handed, handed_in_chunks;
    const auto take = [](const Feed::Drained& drained, std::set<std::string>* out) {
      for (const auto& [name, json] : drained.pods) out->insert(json);
    };
    for (int i = 0; i < 200; ++i) {
      const std::string line = stream.Next(10 + i);
      bytes += line;
      const Inbox::Progress progress = first.WatchBytes(Kind::kPod, line);
      if (!progress.version.empty()) version = progress.version;
      take(plain.Drain(&first), &handed);
    }
    std::string_view left(bytes);
    std::string version_in_chunks;
    while (!left.empty()) {
      const size_t size = std::min(left.size(), static_cast<size_t>(1 + stream.Below(2000)));
      const Inbox::Progress progress = second.WatchBytes(Kind::kPod, left.substr(0, size));
      if (!progress.version.empty()) version_in_chunks = progress.version;
      left.remove_prefix(size);
      if (stream.Below(3) == 0) take(chunked.Drain(&second), &handed_in_chunks);
    }
    take(chunked.Drain(&second), &handed_in_chunks);
    EXPECT_EQ(Seen(one_by_one), Seen(in_chunks));
    EXPECT_EQ(version, version_in_chunks);
    EXPECT_EQ(handed, handed_in_chunks);
    // The sums also equal those of the store's rows.
    StatusSums anew;
    for (const CompactPod* pod : in_chunks.RowsOfMany().pods) anew.Add(ShareOf(*pod));
    for (int i = 0; i < 3; ++i) {
      const std::string group = StrCat("q/g", i);
      in_chunks.Upsert(Kind::kPodGroup, Group(StrCat("g", i), 1));
      EXPECT_EQ(chunked.GroupStatusOf(group)->requested, TextsOf(anew.Of(group).requested));
      EXPECT_EQ(chunked.GroupStatusOf(group)->allocated, TextsOf(anew.Of(group).allocated));
    }
  }
}

}  // namespace
}  // namespace kai::feed_test
