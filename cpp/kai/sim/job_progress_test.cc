#include "kai/sim/job_progress.h"

#include <gtest/gtest.h>

namespace kai::job_progress_test {
namespace {

JobProgress::Pods Running(int32_t pods, double speed = 1) {
  return {.held = pods, .running = pods, .speed = speed};
}

TEST(JobProgressTest, TwoPodsDoTheWorkOfBothAtOnce) {
  JobProgress job({.work_ns = 100, .min_pods = 2});
  EXPECT_EQ(job.EndNs(), JobProgress::kNever);
  job.SetPods(Running(2), 10);
  EXPECT_EQ(job.EndNs(), 60);
  job.Finish(60);
  EXPECT_EQ(job.held_ns(), 100);
  EXPECT_EQ(job.kept_ns(), 100);
  EXPECT_EQ(job.idle_ns(), 0);
  EXPECT_EQ(job.working_ns(), 50);
}

TEST(JobProgressTest, AnElasticJobWithFewerPodsIsSlower) {
  JobProgress job({.work_ns = 100, .min_pods = 1});
  job.SetPods(Running(2), 0);
  job.SetPods(Running(1), 20);
  EXPECT_EQ(job.EndNs(), 80);
  EXPECT_EQ(job.restarts(), 0);
}

TEST(JobProgressTest, AJobBelowItsMinimumMakesNoProgress) {
  JobProgress job({.work_ns = 100, .min_pods = 2});
  job.SetPods(Running(1), 0);
  job.SetPods(Running(2), 30);
  EXPECT_EQ(job.EndNs(), 80);
  job.Finish(80);
  EXPECT_EQ(job.idle_ns(), 30);
}

TEST(JobProgressTest, UnsavedWorkIsLost) {
  JobProgress job({.work_ns = 100, .min_pods = 1, .checkpoint_ns = 10});
  job.SetPods(Running(1), 0);
  job.SetPods(Running(0), 25);
  EXPECT_EQ(job.kept_ns(), 20);
  EXPECT_EQ(job.lost_ns(), 5);
  EXPECT_EQ(job.left_ns(), 80);
}

TEST(JobProgressTest, WithoutCheckpointsAllWorkIsLost) {
  JobProgress job({.work_ns = 100, .min_pods = 1, .checkpoint_ns = SimJob::kNeverSaved});
  job.SetPods(Running(1), 0);
  job.SetPods(Running(0), 99);
  EXPECT_EQ(job.kept_ns(), 0);
  EXPECT_EQ(job.lost_ns(), 99);
  EXPECT_EQ(job.left_ns(), 100);
}

TEST(JobProgressTest, AChangeOfPodsBetweenCheckpointsLosesNothing) {
  JobProgress job({.work_ns = 1000, .min_pods = 1, .checkpoint_ns = 10});
  job.SetPods(Running(1), 0);
  job.SetPods(Running(3), 8);   // 8 not saved
  job.SetPods(Running(0), 14);  // saved at 10: 8 + 2 * 3; then 4 * 3 are lost
  EXPECT_EQ(job.kept_ns(), 14);
  EXPECT_EQ(job.lost_ns(), 12);
  EXPECT_EQ(job.left_ns(), 986);
}

TEST(JobProgressTest, EachStartAfterTheFirstTakesLonger) {
  JobProgress job({.work_ns = 100, .min_pods = 1, .restart_ns = 7});
  job.SetPods(Running(1), 0);
  job.SetPods(Running(0), 40);
  job.SetPods(Running(1), 50);
  EXPECT_EQ(job.EndNs(), 117);
  job.Finish(117);
  EXPECT_EQ(job.restarts(), 1);
  EXPECT_EQ(job.held_ns(), 107);
  EXPECT_EQ(job.idle_ns(), 7);
}

TEST(JobProgressTest, AFastGpuNeedsLessTime) {
  JobProgress job({.work_ns = 100, .min_pods = 1});
  job.SetPods(Running(1, 3), 0);
  EXPECT_EQ(job.EndNs(), 34);
  job.SetPods(Running(1, 0.5), 10);
  EXPECT_EQ(job.left_ns(), 70);
  EXPECT_EQ(job.EndNs(), 150);
}

TEST(JobProgressTest, AChangedMinimumAppliesFromTheNextChangeOfPods) {
  JobProgress job({.work_ns = 100, .min_pods = 2, .checkpoint_ns = SimJob::kNeverSaved});
  job.SetPods(Running(2), 0);
  job.SetMinPods(1);
  job.SetPods(Running(1), 10);  // works
  EXPECT_EQ(job.lost_ns(), 0);
  EXPECT_EQ(job.EndNs(), 90);
  job.SetMinPods(3);
  job.SetPods(Running(1), 20);  // stops
  EXPECT_EQ(job.lost_ns(), 30);
  EXPECT_EQ(job.left_ns(), 100);
  EXPECT_EQ(job.EndNs(), JobProgress::kNever);
}

TEST(JobProgressTest, AnEndlessJobNeverEnds) {
  JobProgress job(
      {.work_ns = JobProgress::kNever, .min_pods = 1, .checkpoint_ns = SimJob::kNeverSaved});
  job.SetPods(Running(1), 0);
  EXPECT_EQ(job.EndNs(), JobProgress::kNever);
  job.SetPods(Running(0), 50);
  EXPECT_EQ(job.lost_ns(), 50);
  EXPECT_EQ(job.left_ns(), JobProgress::kNever);
}

}  // namespace
}  // namespace kai::job_progress_test
