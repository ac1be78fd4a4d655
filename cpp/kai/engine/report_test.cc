#include "kai/engine/report.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "kai/base/text.h"
#include "kai/engine/engine.h"
#include "kai/session/plans_for_test.h"
#include "kai/testing/makers/cluster_maker.h"

namespace kai::report_test {
namespace {

class ReportTest : public testing::Test {
 protected:
  void Put(const ClusterMaker& maker) {
    const ClusterRows rows = maker.Rows();
    for (const NodeRow& row : rows.nodes) store_.Upsert(row);
    for (const QueueRow& row : rows.queues) store_.Upsert(row);
    for (const PodGroupRow& row : rows.pod_groups) store_.Upsert(row);
    for (const PodRow& row : rows.pods) store_.Upsert(row);
  }
  void Plan() { ASSERT_TRUE(engine_.Plan(now_ns_, nullptr).ok()); }

  Store store_;
  Engine engine_{&store_, ParseConfig("{}"), ShardParams()};
  int64_t now_ns_ = kTestNowNs;
};

ClusterMaker OneNode() { return MakeCluster().Queue("q").Node("n", {.gpus = 2}); }

TEST_F(ReportTest, DescribesTheDecisionsAndStaysValid) {
  EXPECT_EQ(engine_.report(), nullptr);
  Put(OneNode().Pending("q/a", {.gpus = 2}).Pending("q/b", {.gpus = 2}));
  Plan();
  std::shared_ptr<const Report> report = engine_.report();  // null: none was made yet
  ASSERT_NE(report, nullptr);
  store_.Delete(Kind::kPod, "q/a-0");
  store_.Delete(Kind::kNode, "n");
  Plan();
  ASSERT_EQ(report->decisions.size(), 1);
  EXPECT_EQ(report->decisions.pod[0], "q/a-0");
  EXPECT_EQ(report->decisions.node.Text(0), "n");
  ASSERT_EQ(report->groups.size(), 2);
  const Report::Group& waits = report->groups[report->groups[0].name == "q/b" ? 0 : 1];
  EXPECT_EQ(waits.name, "q/b");
  EXPECT_EQ(waits.queue, "q");
  EXPECT_EQ(waits.verdict, Verdict::kUnschedulable);
  ASSERT_EQ(report->queues.size(), 1);
  EXPECT_EQ(report->queues[0].name, "q");
  const auto& request = report->queues[0].numbers[kQuotaGpu][5];
  EXPECT_EQ(request.first, "request");
  EXPECT_EQ(request.second, 4);
  EXPECT_EQ(report->nodes, 1);
  EXPECT_EQ(report->pods, 2);
  EXPECT_EQ(report->pod_groups, 2);
  EXPECT_EQ(report->now_ns, now_ns_);

  const std::shared_ptr<const Report> later = engine_.report();
  EXPECT_EQ(later->decisions.size(), 0);
  EXPECT_EQ(later->nodes, 0);
}

TEST_F(ReportTest, IsMadeOnlyAfterTheFirstRequest) {
  Put(OneNode());
  Plan();
  EXPECT_EQ(engine_.report(), nullptr) << "the first call was after the plan";
  Plan();
  const std::shared_ptr<const Report> report = engine_.report();
  ASSERT_NE(report, nullptr) << "a repeated plan is reported, too";
  now_ns_ += 1;
  Plan();
  EXPECT_EQ(engine_.report(), report) << "nothing has changed";
  EXPECT_EQ(engine_.counts().repeated, 2);
}

// Under the thread sanitizer (tools/test.sh threads) this finds data that readers and the writer
// share.
TEST_F(ReportTest, MayBeReadDuringEventsAndPlans) {
  engine_.report();
  ClusterMaker maker = OneNode();
  for (int i = 0; i < 20; ++i) maker.Pending(StrCat("q/group-", i), {.gpus = 1});
  Put(maker);
  Plan();
  const ClusterRows rows = maker.Rows();

  std::atomic<bool> is_done = false;
  std::atomic<int> reading = 0;
  const auto read = [&] {
    std::shared_ptr<const Report> last;
    do {
      std::shared_ptr<const Report> report = engine_.report();
      if (report == last) continue;
      if (last == nullptr) ++reading;
      size_t letters = 0;
      for (size_t row = 0; row < report->decisions.size(); ++row)
        letters += report->decisions.pod[row].size();
      for (const Report::Group& group : report->groups) letters += group.name.size();
      for (const Report::Queue& queue : report->queues)
        letters += queue.name.size() + queue.numbers[kQuotaGpu][0].first.size();
      EXPECT_GT(letters, 0);
      EXPECT_EQ(report->nodes, 1);
      EXPECT_LE(report->pods, 20);
      last = std::move(report);
    } while (!is_done);
  };
  std::thread readers[] = {std::thread(read), std::thread(read), std::thread(read)};
  while (reading < 3) std::this_thread::yield();
  for (int i = 0; i < 300; ++i) {
    const PodRow& pod = rows.pods[static_cast<size_t>(i) / 2 % rows.pods.size()];
    if (i % 2 == 0) {
      store_.Delete(Kind::kPod, NameInTable(pod));
    } else {
      store_.Upsert(pod);
    }
    Plan();
  }
  is_done = true;
  for (std::thread& reader : readers) reader.join();
  EXPECT_EQ(engine_.counts().built, 1);
  EXPECT_EQ(engine_.counts().updated, 300);
}

}  // namespace
}  // namespace kai::report_test
