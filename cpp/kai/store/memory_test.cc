// A store frees the memory of deleted objects, and Store::Memory() counts all of its memory.
#include <gtest/gtest.h>
#include <malloc.h>

#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "kai/base/text.h"
#include "kai/store/fill_store.h"
#include "kai/store/store.h"
#include "kai/testing/makers/random_cluster.h"

namespace kai::memory_test {
namespace {

size_t BytesOf(const MemoryReport& report, std::string_view part, std::string_view column) {
  size_t bytes = 0;
  for (const MemoryReport::Column& each : report.columns)
    bytes += each.part == part && each.column == column ? each.bytes : 0;
  return bytes;
}

PodRow SomePod(const std::string& name) {
  PodRow pod;
  pod.namespace_name = "namespace-of-a-team";
  pod.name = name;
  pod.uid = StrCat("uid-of-", name);
  pod.scheduler_name = "kai-scheduler";
  pod.requests = {{"cpu", 1000}, {"memory", 1 << 30}};
  pod.labels = {{"app", "a-service-of-ours"}, {"pod", StrCat("label-of-", name)}};
  return pod;
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
// Bytes that the allocator has handed out.
size_t AllocatedBytes() {
  const struct mallinfo2 info = mallinfo2();
  return info.uordblks + info.hblkhd;
}

TEST(MemoryTest, CountsTheBytesOfTheAllocator) {
  RandomClusterOptions options{.max_nodes = 60, .max_groups = 200, .max_running_groups = 200};
  options.sub_groups = true;
  options.topology = RandomTopologyOptions();
  for (uint64_t seed = 0; seed < 3; ++seed) {
    SCOPED_TRACE(SeedTrace(seed));
    const ClusterRows rows = MakeRandomCluster(seed, options);
    const size_t before = AllocatedBytes();
    auto store = std::make_unique<Store>();
    AnyKind([&]<typename Row>(const KindEntry<Row>& kind) {
      for (const Row& row : kind.in(const_cast<ClusterRows*>(&rows))) store->Upsert(row);
      return false;
    });
    for (int i = 0; i < 3000; ++i) {
      store->Upsert(SomePod(StrCat("pod-", i)), 1);
      if (i % 3 == 0) store->Delete(Kind::kPod, StrCat("namespace-of-a-team/pod-", i), 2);
      if (i % 50 == 0) {
        store->Reject(Kind::kQueue, {.kind = "Queue",
                                     .name = StrCat("queue-of-a-team-", i),
                                     .field = "spec.parentQueue",
                                     .message = "should have been a string, and is none"});
      }
    }
    const auto allocated = static_cast<double>(AllocatedBytes() - before - sizeof(Store));
    const auto counted = static_cast<double>(store->Memory().bytes());
    EXPECT_NEAR(counted / allocated, 1, 0.02) << counted << " of " << allocated;
  }
}
#endif

// 4,000 pods that stay, and rounds in which 4,000 others come and go. KAI_ROUNDS is the number of
// rounds; 250 are a million pods.
class RoundsTest : public testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(Versions, RoundsTest, testing::Bool(), [](const auto& has_versions) {
  return std::string(has_versions.param ? "Known" : "Unknown");
});

TEST_P(RoundsTest, DoNotGrowTheMemory) {
  const char* const rounds_text = std::getenv("KAI_ROUNDS");
  const int rounds = rounds_text == nullptr ? 10 : std::atoi(rounds_text);
  constexpr int kPods = 4'000;
  Store store;
  Version version = GetParam() ? 1 : 0;
  const auto next_version = [&] { return version == 0 ? 0 : version++; };
  for (int i = 0; i < kPods; ++i) store.Upsert(SomePod(StrCat("stays-", i)), next_version());
  int64_t made = 0;
  const auto play = [&] {
    const int64_t first = made;
    for (int i = 0; i < kPods; ++i) {
      PodRow pod = SomePod(StrCat("pod-", 10'000'000 + made++));
      pod.pod_group = pod.name;
      store.Upsert(std::move(pod), next_version());
    }
    for (int64_t i = first; i < made; ++i) {
      store.Delete(Kind::kPod, StrCat("namespace-of-a-team/pod-", 10'000'000 + i), next_version());
    }
  };
  // Names of deleted pods are kept if their versions are known; five rounds reach the limit.
  for (int i = 0; i < (GetParam() ? 5 : 0); ++i) play();
  const MemoryReport before = store.Memory();
  for (int round = 1; round <= rounds; ++round) {
    play();
    const MemoryReport now = store.Memory();
    EXPECT_NEAR(static_cast<double>(now.bytes()), static_cast<double>(before.bytes()),
                0.01 * static_cast<double>(before.bytes()))
        << "after round " << round;
    EXPECT_EQ(BytesOf(now, "Pod", "labels"), BytesOf(before, "Pod", "labels"));
    EXPECT_EQ(BytesOf(now, "Pod", "texts"), BytesOf(before, "Pod", "texts"));
    if (HasFailure()) break;
  }
  RecordProperty("pods", std::to_string(made));
  RecordProperty("bytes_before", std::to_string(before.bytes()));
  RecordProperty("bytes_after", std::to_string(store.Memory().bytes()));
}

TEST(MemoryTest, TablesGrowAndShrink) {
  Store store;
  for (int i = 0; i < 1000; ++i) store.Upsert(SomePod(StrCat("stays-", i)));
  const size_t before = store.Memory().bytes();
  for (int i = 0; i < 20'000; ++i) store.Upsert(SomePod(StrCat("pod-", i)));
  EXPECT_GT(store.Memory().bytes(), 15 * before);
  for (int i = 0; i < 20'000; ++i) store.Delete(Kind::kPod, StrCat("namespace-of-a-team/pod-", i));
  EXPECT_NEAR(static_cast<double>(store.Memory().bytes()), static_cast<double>(before),
              0.01 * static_cast<double>(before));
}

TEST(MemoryTest, PartsAreFreedWhenRowsChangeOrAreDeleted) {
  Store store;
  const auto parts = [&] {
    const MemoryReport report = store.Memory();
    return BytesOf(report, "Pod", "labels") + BytesOf(report, "Pod", "specs");
  };
  constexpr int kPods = 1000;
  for (int i = 0; i < kPods; ++i) store.Upsert(SomePod(StrCat("pod-", i)));
  const size_t before = parts();
  for (int i = 0; i < kPods; ++i) {
    PodRow pod = SomePod(StrCat("pod-", i));
    pod.labels = SomePod(StrCat("new-", i)).labels;
    store.Upsert(std::move(pod));
  }
  EXPECT_EQ(parts(), before) << "each pod gets other labels of the same size";
  for (int i = 0; i < kPods / 2; ++i) {
    store.Reject(Kind::kPod, {.kind = "Pod",
                              .name = StrCat("namespace-of-a-team/pod-", i),
                              .field = "spec",
                              .message = "is invalid"});
  }
  EXPECT_LT(parts(), before);
  store.BeginList(Kind::kPod);
  store.Upsert(SomePod("pod-0"));
  store.EndList(Kind::kPod);
  EXPECT_LT(parts(), before / 5);
}

}  // namespace
}  // namespace kai::memory_test
