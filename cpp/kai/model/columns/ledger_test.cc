// How a pod counts in the ledger of its node (spec 2 S5, spec 3 N3, N4).
#include "kai/model/columns/ledger.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace kai::ledger_test {
namespace {

using ::testing::ElementsAre;

// A node with 8 cores, 8 GPUs and no licences: cpu, memory, gpu, pods, licence.
struct Ledger {
  std::vector<double> allocatable = {8000, 0, 8, 110, 0};
  std::vector<double> idle = allocatable;
  std::vector<double> releasing = std::vector<double>(5);
  std::vector<double> used = std::vector<double>(5);

  void Charge(PodStatus status, double gpus = 2, double sign = 1) {
    const std::vector<double> request = {1000, 500, 2, 1, 3};
    const LedgerWeight weight = sign > 0 ? WeightOf(status) : LedgerWeight() - WeightOf(status);
    ChargeLedger({allocatable, idle, releasing, used}, request, gpus, weight);
  }
};

TEST(LedgerTest, ARunningPodUsesIdleResources) {
  for (const PodStatus status :
       {PodStatus::kRunning, PodStatus::kBound, PodStatus::kBinding, PodStatus::kAllocated}) {
    Ledger ledger;
    ledger.Charge(status);
    EXPECT_THAT(ledger.idle, ElementsAre(7000, 0, 6, 109, 0));
    EXPECT_THAT(ledger.used, ElementsAre(1000, 0, 2, 1, 0));
    EXPECT_THAT(ledger.releasing, ElementsAre(0, 0, 0, 0, 0));
  }
}

TEST(LedgerTest, ATerminatingPodReleasesItsResources) {
  Ledger ledger;
  ledger.Charge(PodStatus::kReleasing);
  EXPECT_THAT(ledger.idle, ElementsAre(7000, 0, 6, 109, 0));
  EXPECT_THAT(ledger.used, ElementsAre(1000, 0, 2, 1, 0));
  EXPECT_THAT(ledger.releasing, ElementsAre(1000, 0, 2, 1, 0));
}

TEST(LedgerTest, AnOverduePodReleasesNothing) {
  Ledger ledger;
  ledger.Charge(PodStatus::kStuckInReleasing);
  EXPECT_THAT(ledger.idle, ElementsAre(7000, 0, 6, 109, 0));
  EXPECT_THAT(ledger.releasing, ElementsAre(0, 0, 0, 0, 0));
}

TEST(LedgerTest, APipelinedPodUsesReleasingResourcesAndMayOverdrawThem) {
  Ledger ledger;
  ledger.Charge(PodStatus::kPipelined);
  EXPECT_THAT(ledger.idle, ElementsAre(8000, 0, 8, 110, 0));
  EXPECT_THAT(ledger.used, ElementsAre(1000, 0, 2, 1, 0));
  EXPECT_THAT(ledger.releasing, ElementsAre(-1000, 0, -2, -1, 0));
}

// spec 3 N3: memory and licences are not offered
TEST(LedgerTest, TracksOnlyResourcesThatTheNodeOffers) {
  Ledger ledger;
  ledger.Charge(PodStatus::kRunning);
  EXPECT_EQ(ledger.idle[1], 0);
  EXPECT_EQ(ledger.used[4], 0);
}

TEST(LedgerTest, TheUsedGpusMayDifferFromTheRequestedGpus) {
  Ledger ledger;
  ledger.Charge(PodStatus::kRunning, /*gpus=*/0);
  EXPECT_EQ(ledger.idle[2], 8);
  EXPECT_EQ(ledger.idle[0], 7000);
}

TEST(LedgerTest, RemovingAPodReversesAddingIt) {
  for (const PodStatus status : {PodStatus::kRunning, PodStatus::kReleasing, PodStatus::kPipelined,
                                 PodStatus::kStuckInReleasing}) {
    Ledger ledger;
    ledger.Charge(status);
    ledger.Charge(status, 2, -1);
    EXPECT_EQ(ledger.idle, ledger.allocatable);
    EXPECT_THAT(ledger.used, ElementsAre(0, 0, 0, 0, 0));
    EXPECT_THAT(ledger.releasing, ElementsAre(0, 0, 0, 0, 0));
  }
}

}  // namespace
}  // namespace kai::ledger_test
