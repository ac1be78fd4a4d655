#include <gtest/gtest.h>

#include "kai/model/changes/statement.h"
#include "kai/placement/filters/filter_for_test.h"
#include "kai/placement/filters/filters.h"
#include "kai/placement/rooms_for_test.h"

namespace kai::host_ports_test {
namespace {

constexpr char kTaken[] = "node(s) didn't have free ports for the requested pod ports";

HostPort Port(int32_t port, std::string address = "", std::string protocol = "TCP") {
  return {.port = port, .protocol = std::move(protocol), .address = std::move(address)};
}

// The filter's answer for a pod that requests `wanted` beside a pod with `there`.
std::string AnswerBeside(const HostPort& there, const HostPort& wanted) {
  const auto cluster = MakeCluster()
                           .Node("n")
                           .Running("ns/there", {.node = "n", .host_ports = {there}})
                           .Pending("ns/p", {.host_ports = {wanted}})
                           .Build();
  return AnswerOf(*MakeHostPortFilter(*cluster, Leaving::kMakeRoom), *cluster, "ns/p-0", "n");
}

TEST(HostPortFilterTest, AHostPortIsUsedByOnePod) {
  EXPECT_EQ(AnswerBeside(Port(80), Port(80)), kTaken);
  EXPECT_EQ(AnswerBeside(Port(80), Port(81)), "");
}

TEST(HostPortFilterTest, ProtocolsHaveTheirOwnPorts) {
  EXPECT_EQ(AnswerBeside(Port(53), Port(53, "", "UDP")), "");
  EXPECT_EQ(AnswerBeside(Port(53, "", ""), Port(53)), kTaken) << "TCP is the default";
}

TEST(HostPortFilterTest, AddressesHaveTheirOwnPortsAndTheWildcardConflictsWithAll) {
  EXPECT_EQ(AnswerBeside(Port(80, "10.0.0.1"), Port(80, "10.0.0.2")), "");
  EXPECT_EQ(AnswerBeside(Port(80, "10.0.0.1"), Port(80, "10.0.0.1")), kTaken);
  EXPECT_EQ(AnswerBeside(Port(80), Port(80, "10.0.0.1")), kTaken);
  EXPECT_EQ(AnswerBeside(Port(80, "10.0.0.1"), Port(80, "0.0.0.0")), kTaken);
}

TEST(HostPortFilterTest, IsSkippedForPodsWithoutPorts) {
  const auto cluster = MakeCluster()
                           .Node("n")
                           .Pending("ns/p")
                           .Pending("ns/port", {.host_ports = {Port(80)}})
                           .Build();
  const auto filter = MakeHostPortFilter(*cluster, Leaving::kMakeRoom);
  EXPECT_EQ(ScopeOf(*filter, *cluster, "ns/p-0"), Filter::Scope::kNothing);
  EXPECT_EQ(ScopeOf(*filter, *cluster, "ns/port-0"), Filter::Scope::kNode);
  EXPECT_FALSE(filter->LooksBeyondNode(cluster->pods().pod_class[PodNamed(*cluster, "ns/port-0")]));
}

TEST(HostPortFilterTest, WithoutAnyPortsNothingIsCounted) {
  const auto cluster = MakeCluster().Node("n").Pending("ns/p").Build();
  EXPECT_EQ(MakeHostPortFilter(*cluster, Leaving::kMakeRoom)->listener(), nullptr);
}

TEST(HostPortFilterTest, PodsOfOneGroupSpreadOverNodesAndTheNextOneWaits) {
  Rooms rooms(MakeCluster()
                  .Node("n1")
                  .Node("n2")
                  .Pending("ns/p", {.pods = 3, .host_ports = {Port(80)}})
                  .Build());
  EXPECT_EQ(rooms.Find("ns/p-0"), "n1");
  rooms.Place("ns/p-0", "n1");
  EXPECT_EQ(rooms.Find("ns/p-1"), "n2");
  rooms.Place("ns/p-1", "n2");
  EXPECT_EQ(rooms.Find("ns/p-2"), "nowhere");
  EXPECT_EQ(rooms.Explain("ns/p-2"),
            std::string("no nodes with enough resources were found: 2 ") + kTaken + ".");
  rooms.statement().RollBackTo(0);
  EXPECT_EQ(rooms.Find("ns/p-2"), "n1");
}

TEST(HostPortFilterTest, AnEvictedPodFreesItsPortForOneThatWaits) {  // spec 2 W11
  const auto cluster = [] {
    return MakeCluster()
        .Node("n")
        .Running("ns/there", {.node = "n", .host_ports = {Port(80)}})
        .Pending("ns/p", {.host_ports = {Port(80)}})
        .Build();
  };
  for (const bool always : {false, true}) {
    Rooms rooms(cluster(), {.always_scan = always});
    EXPECT_EQ(rooms.Find("ns/p-0"), "nowhere");
    rooms.Evict("ns/there-0");
    EXPECT_EQ(rooms.Find("ns/p-0"), "n later") << "although there is room now";
    rooms.Pipeline("ns/p-0", "n");
    rooms.statement().RollBackTo(0);
    EXPECT_EQ(rooms.Find("ns/p-0"), "nowhere");
  }
  Rooms as_kai(cluster(), {.leaving = Leaving::kStillCount});
  as_kai.Evict("ns/there-0");
  EXPECT_EQ(as_kai.Find("ns/p-0"), "nowhere");
}

TEST(HostPortFilterTest, APipelinedPodUsesItsPort) {
  Rooms rooms(MakeCluster()
                  .Node("n")
                  .Releasing("ns/there", {.node = "n", .host_ports = {Port(80)}})
                  .Pending("ns/p", {.pods = 2, .host_ports = {Port(80)}})
                  .Build());
  EXPECT_EQ(rooms.Find("ns/p-0"), "n later");
  rooms.Pipeline("ns/p-0", "n");
  EXPECT_EQ(rooms.Find("ns/p-1"), "nowhere");
}

TEST(HostPortFilterTest, AnOverduePodKeepsItsPort) {
  Rooms rooms(MakeCluster()
                  .Node("n")
                  .Releasing("ns/there", {.node = "n", .host_ports = {Port(80)}})
                  .Pending("ns/p", {.host_ports = {Port(80)}})
                  .Build());
  rooms.statement().MarkStuck(rooms.Pod("ns/there-0"));
  EXPECT_EQ(rooms.Find("ns/p-0"), "nowhere");
}

TEST(HostPortFilterTest, APodThatMovesUsesThePortOfItsNewNodeAndFreesTheOldOne) {
  Rooms rooms(MakeCluster()
                  .Node("n1")
                  .Node("n2")
                  .Running("ns/there", {.node = "n1", .host_ports = {Port(80)}})
                  .Pending("ns/p", {.host_ports = {Port(80)}})
                  .Build());
  rooms.Evict("ns/there-0");
  rooms.Pipeline("ns/there-0", "n2");
  EXPECT_EQ(rooms.Find("ns/p-0"), "n1 later");
}

}  // namespace
}  // namespace kai::host_ports_test
