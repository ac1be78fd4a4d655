#include "kai/store/store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "kai/base/text.h"

namespace kai::store_test {
namespace {

using testing::ElementsAre;
using testing::Field;
using testing::IsEmpty;
using Outcome = Store::Outcome;

std::string Queue(std::string_view name, std::string_view version, std::string_view parent = "") {
  return StrCat(R"({"metadata": {"name": ")", name, R"(", "resourceVersion": ")", version,
                R"("}, "spec": {"parentQueue": ")", parent, R"("}})");
}

std::string BrokenQueue(std::string_view name, std::string_view version) {
  return StrCat(R"({"metadata": {"name": ")", name, R"(", "resourceVersion": ")", version,
                R"("}, "spec": {"parentQueue": 7}})");
}

std::vector<std::string> Names(const Store& store) {
  std::vector<std::string> names;
  for (const QueueRow& row : store.Rows().queues)
    names.push_back(row.parent.empty() ? row.name : StrCat(row.parent, "/", row.name));
  return names;
}

TEST(StoreTest, KeepsTheLatestVersionOfEachObject) {
  Store store;
  EXPECT_EQ(store.Upsert(Kind::kQueue, Queue("q", "5", "old")), Outcome::kApplied);
  EXPECT_EQ(store.Upsert(Kind::kQueue, Queue("a", "6")), Outcome::kApplied);
  EXPECT_EQ(store.Upsert(Kind::kQueue, Queue("q", "7", "new")), Outcome::kApplied);
  EXPECT_EQ(store.Upsert(Kind::kQueue, Queue("q", "6", "late")), Outcome::kStale);
  EXPECT_THAT(Names(store), ElementsAre("a", "new/q"));
  EXPECT_EQ(store.Upsert(Kind::kQueue, Queue("q", "7", "edited")), Outcome::kApplied);
  EXPECT_THAT(Names(store), ElementsAre("a", "edited/q"));
}

TEST(StoreTest, TheUsageOfAQueueAppliesToAllItsVersions) {
  Store store;
  store.Upsert(Kind::kQueue, Queue("a", "5"));
  store.SetPastUsages({{"a", {0, 0, 0.5}}, {"b", {0.25, 0, 0}}});
  store.Upsert(Kind::kQueue, Queue("a", "6", "org"));
  QueueRow made;
  made.name = "b";
  store.Upsert(made);
  EXPECT_EQ(store.Find<QueueRow>("a")->past_usage, (QuotaVector{0, 0, 0.5}));
  EXPECT_EQ(store.Find<QueueRow>("b")->past_usage, (QuotaVector{0.25, 0, 0}));

  store.SetPastUsages({{"b", {0.5, 0, 0}}});
  EXPECT_EQ(store.Find<QueueRow>("a")->past_usage, QuotaVector{});
  EXPECT_EQ(store.Find<QueueRow>("b")->past_usage, (QuotaVector{0.5, 0, 0}));
  EXPECT_EQ(Store(store).Find<QueueRow>("b")->past_usage, (QuotaVector{0.5, 0, 0}));
}

TEST(StoreTest, FollowersAreNotifiedOfChangedUsage) {
  Store store;
  for (const std::string_view name : {"a", "b", "c"}) store.Upsert(Kind::kQueue, Queue(name, "1"));
  store.Reject(Kind::kQueue, {.kind = "Queue", .name = "bad", .field = "", .message = "no"});
  store.SetPastUsages({{"a", {0, 0, 0.5}}});
  struct : Follower {
    void Changed(Kind, std::string_view name) override { names.emplace_back(name); }
    std::vector<std::string> names;
  } follower;
  store.Follow(&follower);
  store.SetPastUsages({{"a", {0, 0, 0.5}}, {"b", {0, 0, 0.1}}, {"bad", {1, 1, 1}}, {"new", {}}});
  store.Unfollow(&follower);
  EXPECT_THAT(follower.names, ElementsAre("b"));
}

TEST(StoreTest, AVersionThatIsNotANumberIsNeverStale) {
  Store store;
  store.Upsert(Kind::kQueue, Queue("q", "7", "one"));
  EXPECT_EQ(store.Upsert(Kind::kQueue, Queue("q", "", "two")), Outcome::kApplied);
  EXPECT_EQ(store.Upsert(Kind::kQueue, Queue("q", "7x", "three")), Outcome::kApplied);
  EXPECT_THAT(Names(store), ElementsAre("three/q"));
}

TEST(StoreTest, AStaleUpdateDoesNotRestoreADeletedObject) {
  Store store;
  store.Upsert(Kind::kQueue, Queue("q", "5"));
  EXPECT_TRUE(store.Delete(Kind::kQueue, "q", 9));
  EXPECT_EQ(store.Upsert(Kind::kQueue, Queue("q", "8")), Outcome::kStale);
  EXPECT_THAT(Names(store), IsEmpty());
  EXPECT_EQ(store.Upsert(Kind::kQueue, Queue("q", "10")), Outcome::kApplied);
  EXPECT_FALSE(store.Delete(Kind::kQueue, "q", 9)) << "it was created again since";
  EXPECT_FALSE(store.Delete(Kind::kQueue, "never"));
  EXPECT_THAT(Names(store), ElementsAre("q"));
}

TEST(StoreTest, ADeletionMayArriveBeforeTheObject) {
  Store store;
  EXPECT_FALSE(store.Delete(Kind::kQueue, "q", 9));
  EXPECT_EQ(store.Upsert(Kind::kQueue, Queue("q", "5")), Outcome::kStale);
}

TEST(StoreTest, OldDeletionsAreDropped) {
  Store store;
  store.Delete(Kind::kQueue, "q", 9);
  for (int i = 0; i < 20'000; ++i) store.Delete(Kind::kQueue, StrCat("other-", i), 10);
  EXPECT_EQ(store.Upsert(Kind::kQueue, Queue("q", "5")), Outcome::kApplied);
}

TEST(StoreTest, AnInvalidObjectIsRejectedUntilItIsValid) {
  Store store;
  store.Upsert(Kind::kQueue, Queue("q", "5"));
  EXPECT_EQ(store.Upsert(Kind::kQueue, BrokenQueue("q", "6")), Outcome::kRejected);
  EXPECT_THAT(Names(store), IsEmpty()) << "the previous version is not kept";
  EXPECT_THAT(store.rejections(),
              ElementsAre(Rejection{.kind = "Queue",
                                    .name = "q",
                                    .field = "spec.parentQueue",
                                    .message = "expected a string, found a number"}));
  EXPECT_EQ(store.Upsert(Kind::kQueue, Queue("q", "5")), Outcome::kStale);
  EXPECT_EQ(store.Upsert(Kind::kQueue, Queue("q", "7")), Outcome::kApplied);
  EXPECT_THAT(store.rejections(), IsEmpty());

  store.Upsert(Kind::kQueue, BrokenQueue("q", "8"));
  EXPECT_TRUE(store.Delete(Kind::kQueue, "q", 9));
  EXPECT_THAT(store.rejections(), IsEmpty());
}

TEST(StoreTest, AnObjectWithoutANameIsRejectedUntilTheNextList) {
  Store store;
  EXPECT_EQ(store.Upsert(Kind::kQueue, "{"), Outcome::kRejected);
  EXPECT_EQ(store.Upsert(Kind::kQueue, "{}"), Outcome::kRejected);
  EXPECT_THAT(store.rejections(),
              ElementsAre(Field(&Rejection::field, ""), Field(&Rejection::field, "metadata.name")));
  store.BeginList(Kind::kPod);
  store.EndList(Kind::kPod);
  EXPECT_EQ(store.rejections().size(), 2);
  store.BeginList(Kind::kQueue);
  store.EndList(Kind::kQueue);
  EXPECT_THAT(store.rejections(), IsEmpty());
}

TEST(StoreTest, ObjectsMissingInAListAreDeleted) {
  Store store;
  store.Upsert(Kind::kQueue, Queue("stays", "5"));
  store.Upsert(Kind::kQueue, Queue("goes", "6"));
  store.Upsert(Kind::kQueue, BrokenQueue("broken", "7"));
  store.BeginList(Kind::kQueue);
  store.Upsert(Kind::kQueue, Queue("stays", "5"));
  store.Upsert(Kind::kQueue, Queue("new", "8"));
  EXPECT_THAT(Names(store), ElementsAre("goes", "new", "stays")) << "until the list ends";
  store.EndList(Kind::kQueue);
  EXPECT_THAT(Names(store), ElementsAre("new", "stays"));
  EXPECT_THAT(store.rejections(), IsEmpty());
}

// An API server that was restored from a backup has lower versions.
TEST(StoreTest, AListReplacesObjectsOfAnyVersion) {
  Store store;
  store.Upsert(Kind::kQueue, Queue("q", "500", "old"));
  store.Delete(Kind::kQueue, "r", 400);
  store.BeginList(Kind::kQueue);
  EXPECT_EQ(store.Upsert(Kind::kQueue, Queue("q", "5", "restored")), Outcome::kApplied);
  EXPECT_EQ(store.Upsert(Kind::kQueue, Queue("r", "6")), Outcome::kApplied);
  store.EndList(Kind::kQueue);
  EXPECT_EQ(store.Upsert(Kind::kQueue, Queue("q", "4", "late")), Outcome::kStale);
  EXPECT_THAT(Names(store), ElementsAre("restored/q", "r"));
}

TEST(StoreTest, EqualNamesInTwoNamespacesAreDistinguished) {
  Store store;
  const auto group = [](std::string_view name) {
    return StrCat(R"({"metadata": {"namespace": ")", name, R"(", "name": "g"}, "spec": {}})");
  };
  store.Upsert(Kind::kPodGroup, group("one"));
  store.Upsert(Kind::kPodGroup, group("two"));
  EXPECT_TRUE(store.Delete(Kind::kPodGroup, "one/g"));
  const ClusterRows rows = store.Rows();
  EXPECT_THAT(rows.pod_groups, ElementsAre(Field(&PodGroupRow::namespace_name, "two")));
}

TEST(StoreTest, AnEmptyKindIsKnownToBeEmptyOnceItIsSynced) {
  Store store;
  EXPECT_FALSE(store.Rows().config_maps.has_value());
  EXPECT_FALSE(store.Rows().ServesClaims());
  store.Synced(Kind::kConfigMap);
  store.Synced(Kind::kResourceClaim);
  EXPECT_TRUE(store.Rows().config_maps.has_value());
  EXPECT_TRUE(store.Rows().ServesClaims());
}

class Counter final : public Follower {
 public:
  void Changed(Kind, std::string_view) override { ++changes; }
  int changes = 0;
};

TEST(StoreTest, FollowersAreNotifiedOnlyOfChangedRows) {
  Store store;
  Counter counter;
  store.Follow(&counter);
  store.Upsert(Kind::kQueue, Queue("q", "5"));
  EXPECT_EQ(counter.changes, 1);
  store.Upsert(Kind::kQueue, Queue("q", "6"));  // for example, its status changed
  store.Upsert(Kind::kQueue, Queue("q", "5"));
  store.Delete(Kind::kQueue, "never");
  EXPECT_EQ(counter.changes, 1);
  store.Synced(Kind::kQueue);
  EXPECT_EQ(counter.changes, 2) << "it was known to be complete already";
  store.BeginList(Kind::kQueue);
  store.Upsert(Kind::kQueue, Queue("q", "6"));
  store.EndList(Kind::kQueue);
  EXPECT_EQ(counter.changes, 2) << "the list contains what is known";
  store.Upsert(Kind::kQueue, Queue("q", "7", "org"));
  store.Upsert(Kind::kQueue, BrokenQueue("q", "8"));
  store.Delete(Kind::kQueue, "q");
  EXPECT_EQ(counter.changes, 5);
  store.Unfollow(&counter);
  store.Upsert(Kind::kQueue, Queue("q", "9"));
  EXPECT_EQ(counter.changes, 5);
}

TEST(StoreTest, RejectAddsARejection) {
  Store store;
  store.Reject(Kind::kQueue, {.kind = "Queue", .name = "q", .field = "spec", .message = "is bad"});
  store.Reject(Kind::kQueue, {.kind = "Queue", .name = "", .field = "", .message = "has no name"});
  EXPECT_EQ(store.rejections().size(), 2);
  EXPECT_TRUE(store.Has(Kind::kQueue, "q"));
  EXPECT_FALSE(store.Has(Kind::kNode, "q"));
  EXPECT_EQ(store.Upsert(Kind::kQueue, Queue("q", "1")), Outcome::kApplied);
  EXPECT_THAT(store.rejections(), ElementsAre(Field(&Rejection::message, "has no name")));
}

TEST(StoreTest, ServeClaimsOverridesTheDefault) {
  Store store;
  EXPECT_FALSE(store.Rows().ServesClaims());
  store.Synced(Kind::kResourceClaim);
  EXPECT_TRUE(store.Rows().ServesClaims());
  store.ServeClaims(false);
  EXPECT_FALSE(store.Rows().ServesClaims());
}

TEST(StoreTest, RowsCanBeAddedWithoutJson) {
  Store store;
  QueueRow row;
  row.name = "q";
  EXPECT_EQ(store.Upsert(row, 5), Outcome::kApplied);
  EXPECT_EQ(store.Upsert(row, 4), Outcome::kStale);
  EXPECT_EQ(store.Upsert(row), Outcome::kApplied);
  EXPECT_THAT(Names(store), ElementsAre("q"));
}

TEST(StoreTest, ACopyIsIndependent) {
  Store store;
  store.Upsert(Kind::kQueue, Queue("q", "5"));
  store.Upsert(Kind::kQueue, BrokenQueue("broken", "5"));
  store.Upsert(Kind::kQueue, Queue("gone", "5"));
  store.Delete(Kind::kQueue, "gone", 6);

  Store copy(store);
  EXPECT_THAT(Names(copy), ElementsAre("q"));
  EXPECT_EQ(copy.rejections(), store.rejections());
  EXPECT_EQ(copy.Upsert(Kind::kQueue, Queue("q", "4", "late")), Outcome::kStale);
  EXPECT_EQ(copy.Upsert(Kind::kQueue, Queue("gone", "5")), Outcome::kStale);

  copy.Upsert(Kind::kQueue, Queue("new", "7"));
  copy.Delete(Kind::kQueue, "q");
  EXPECT_THAT(Names(copy), ElementsAre("new"));
  EXPECT_THAT(Names(store), ElementsAre("q"));
}

// ---- planned objects and assigned pods ----------------------------------------------------------

class PlanningTest : public testing::Test {
 protected:
  Outcome Planned(std::string_view json) {
    return store.UpsertPlanned(Kind::kQueue, *document.Parse(json));
  }
  void ListAnew(std::initializer_list<std::string> queues) {
    store.BeginList(Kind::kQueue);
    for (const std::string& queue : queues) store.Upsert(Kind::kQueue, queue);
    store.EndList(Kind::kQueue);
  }
  void Pod(std::string_view version, std::string_view uid, std::string_view group = "") {
    store.Upsert(Kind::kPod,
                 StrCat(R"({"metadata": {"namespace": "q", "name": "p", "uid": ")", uid,
                        R"(", "resourceVersion": ")", version,
                        R"(", "labels": {"kai.scheduler/subgroup-name": "own"}, "annotations": {)",
                        group.empty() ? "" : StrCat(R"("pod-group-name": ")", group, "\""),
                        R"(}}, "status": {"phase": "Pending"}})"));
  }
  std::string GroupOfPod() const {
    const CompactPod* pod = store.Find<PodRow>("q/p");
    return pod == nullptr ? "gone" : StrCat(pod->pod_group, "/", pod->spec->subgroup);
  }

  Store store;
  JsonDocument document;
};

TEST_F(PlanningTest, APlannedObjectIsUsedUntilTheServerHasIt) {
  const std::string planned = Queue("q", "7", "planned");
  EXPECT_EQ(Planned(planned), Outcome::kApplied);
  ListAnew({Queue("a", "1")});
  EXPECT_FALSE(store.Delete(Kind::kQueue, "q", 5));  // an earlier object of its name
  EXPECT_THAT(Names(store), ElementsAre("a", "planned/q"));
  store.Upsert(Kind::kQueue, Queue("q", "6", "real"));
  EXPECT_EQ(Planned(planned), Outcome::kStale);
  EXPECT_FALSE(store.Withdraw(Kind::kQueue, "q"));
  EXPECT_THAT(Names(store), ElementsAre("a", "real/q"));
  ListAnew({});
  EXPECT_THAT(Names(store), IsEmpty());
}

TEST_F(PlanningTest, APlannedObjectCanBeWithdrawn) {
  const std::string planned = Queue("q", "");
  Planned(planned);
  Store copy(store);
  EXPECT_TRUE(store.Withdraw(Kind::kQueue, "q"));
  EXPECT_FALSE(store.Withdraw(Kind::kQueue, "q"));
  EXPECT_THAT(Names(store), IsEmpty());
  EXPECT_TRUE(copy.Withdraw(Kind::kQueue, "q"));
}

TEST_F(PlanningTest, AGroupKeepsTheAgeOfItsPlannedObject) {
  const auto group = [](std::string_view second, std::string_view version) {
    return StrCat(
        R"({"metadata":{"namespace":"q","name":"g","creationTimestamp":"2026-01-01T00:00:)", second,
        R"(Z","resourceVersion":")", version, R"("},"spec":{"queue":"q"}})");
  };
  const auto second = [&] {
    return (*store.Find<PodGroupRow>("q/g")->created_ns - 1'767'225'600'000'000'000) /
           1'000'000'000;
  };
  store.UpsertPlanned(Kind::kPodGroup, *document.Parse(group("01", "")));
  store.Upsert(Kind::kPodGroup, group("02", "5"));
  EXPECT_EQ(second(), 1);
  store.Upsert(Kind::kPodGroup, group("02", "6"));
  EXPECT_EQ(second(), 1);
  store.Upsert(Kind::kPodGroup, group("30", "7"));
  EXPECT_EQ(second(), 30) << "another group of this name";
  store.Delete(Kind::kPodGroup, "q/g");
  store.Upsert(Kind::kPodGroup, group("02", "8"));
  EXPECT_EQ(second(), 2);
}

TEST_F(PlanningTest, APodBelongsToTheGroupItIsAssignedTo) {
  EXPECT_FALSE(store.Assign("q/p", "u", "g", ""));
  Pod("5", "u");
  EXPECT_FALSE(store.Assign("q/p", "other", "g", ""));
  EXPECT_TRUE(store.Assign("q/p", "u", "g", "sub"));
  EXPECT_EQ(GroupOfPod(), "g/sub");
  Pod("6", "u");
  EXPECT_EQ(GroupOfPod(), "g/sub");
  EXPECT_TRUE(store.Assign("q/p", "u", "h", ""));
  EXPECT_EQ(GroupOfPod(), "h/own");
  Pod("7", "u", "named");
  EXPECT_EQ(GroupOfPod(), "named/own");
  Pod("8", "u");
  EXPECT_EQ(GroupOfPod(), "/own");
}

TEST_F(PlanningTest, AnAssignedPodBelongsToItsGroupAndNotToTheNamedOne) {
  Pod("5", "u", "named");
  EXPECT_TRUE(store.Assign("q/p", "u", "", ""));
  EXPECT_EQ(GroupOfPod(), "/own") << "it belongs to no group";
  Pod("6", "u", "named");
  EXPECT_EQ(GroupOfPod(), "/own");
  EXPECT_TRUE(store.Assign("q/p", "u", "g", "sub"));
  Pod("7", "u", "named");
  EXPECT_EQ(GroupOfPod(), "g/sub");
  EXPECT_TRUE(store.Assign("q/p", "u", "named", ""));
  EXPECT_EQ(GroupOfPod(), "named/own");
  EXPECT_TRUE(store.Assign("q/p", "u", "g", ""));
  Pod("8", "u", "another");
  EXPECT_EQ(GroupOfPod(), "another/own") << "its own annotation changed";
  store.Assign("q/p", "u", "g", "");
  Pod("9", "u", "g");
  Pod("10", "u", "another");
  EXPECT_EQ(GroupOfPod(), "another/own") << "it has named this group before";
  store.Assign("q/p", "u", "another", "own");
  PodRow row = store.Find<PodRow>("q/p")->Row();
  row.subgroup = "other";
  store.Upsert(row, 11);
  EXPECT_EQ(GroupOfPod(), "another/other") << "it has named both before";
}

TEST_F(PlanningTest, APodAvoidsTheNodesOfItsGroupUntilItHasOne) {
  const auto avoided = [&] { return store.Find<PodRow>("q/p")->spec->avoided_nodes; };
  store.Avoid("q/g", {"b", "a"});
  Pod("5", "u");
  EXPECT_THAT(avoided(), testing::IsEmpty());
  store.Assign("q/p", "u", "g", "");
  EXPECT_THAT(avoided(), testing::ElementsAre("a", "b"));
  const Store copy(store);
  store.Avoid("q/g", {"c"});
  EXPECT_THAT(avoided(), testing::ElementsAre("c"));
  PodRow bound = store.Find<PodRow>("q/p")->Row();
  bound.node_name = "a";
  store.Upsert(bound, 6);
  EXPECT_THAT(avoided(), testing::IsEmpty());
  EXPECT_THAT(copy.Find<PodRow>("q/p")->spec->avoided_nodes, testing::ElementsAre("a", "b"));
}

TEST_F(PlanningTest, AnotherPodOfTheNameIsNotAssigned) {
  Pod("5", "u");
  store.Assign("q/p", "u", "g", "");
  Pod("6", "u2");
  EXPECT_EQ(GroupOfPod(), "/own");
  store.Assign("q/p", "u2", "g", "");
  store.Delete(Kind::kPod, "q/p", 7);
  Pod("8", "u2");
  EXPECT_EQ(GroupOfPod(), "/own");
}

TEST_F(PlanningTest, AssigningAPodDoesNotMarkItAsListed) {
  Pod("5", "u");
  store.BeginList(Kind::kPod);
  store.Assign("q/p", "u", "g", "");
  store.EndList(Kind::kPod);
  EXPECT_EQ(GroupOfPod(), "gone");
}

}  // namespace
}  // namespace kai::store_test
