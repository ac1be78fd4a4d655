#include "kai/ingest/pod_requests.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

namespace kai::pod_requests_test {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

ContainerRequest Cpu(int64_t millicores, int64_t gpus = 0) {
  ContainerRequest request;
  request.amounts = {{"cpu", millicores}};
  if (gpus > 0) request.gpus = WholeGpus::Requested(gpus);
  return request;
}

TEST(PodRequestsTest, AddsUpTheWorkedExample) {  // spec 3 R2
  PodRequests requests;
  requests.AddContainer(Cpu(1000, 1));
  requests.AddInitContainer(Cpu(500), /*sidecar=*/true);
  requests.AddInitContainer(Cpu(2000, 2), /*sidecar=*/false);
  requests.AddInitContainer(Cpu(1000), /*sidecar=*/true);
  const ContainerRequest total = std::move(requests).Total();
  EXPECT_THAT(total.amounts, ElementsAre(Pair("cpu", 2500)));
  EXPECT_EQ(total.gpus, WholeGpus::Requested(2));
}

TEST(PodRequestsTest, TakesTheMaximumOfEachResourceSeparately) {
  PodRequests requests;
  ContainerRequest setup = Cpu(100, 4);
  setup.amounts.emplace_back("memory", 50);
  setup.mig = {{"nvidia.com/mig-1g.5gb", 1}};
  requests.AddInitContainer(setup, /*sidecar=*/false);
  ContainerRequest main = Cpu(300, 1);
  main.mig = {{"nvidia.com/mig-1g.5gb", 2}};
  requests.AddContainer(main);
  requests.AddContainer(main);
  const ContainerRequest total = std::move(requests).Total();
  EXPECT_THAT(total.amounts, UnorderedElementsAre(Pair("cpu", 600), Pair("memory", 50)));
  EXPECT_THAT(total.mig, ElementsAre(Pair("nvidia.com/mig-1g.5gb", 4)));
  EXPECT_EQ(total.gpus, WholeGpus::Requested(4));
}

TEST(PodRequestsTest, AddsToAnInitContainerTheSidecarsBeforeIt) {
  PodRequests requests;
  requests.AddInitContainer(Cpu(2000), /*sidecar=*/false);
  requests.AddInitContainer(Cpu(1000), /*sidecar=*/true);
  requests.AddContainer(Cpu(100));
  EXPECT_THAT(std::move(requests).Total().amounts, ElementsAre(Pair("cpu", 2000)));
}

TEST(PodRequestsTest, SaturatesInsteadOfWrapping) {
  PodRequests requests;
  requests.AddContainer(Cpu(std::numeric_limits<int64_t>::max()));
  requests.AddContainer(Cpu(1));
  EXPECT_THAT(std::move(requests).Total().amounts,
              ElementsAre(Pair("cpu", std::numeric_limits<int64_t>::max())));
}

TEST(PodRequestsTest, IsEmptyWithoutContainers) {
  const ContainerRequest total = PodRequests().Total();
  EXPECT_TRUE(total.amounts.empty());
  EXPECT_EQ(total.gpus, WholeGpus());
}

}  // namespace
}  // namespace kai::pod_requests_test
