#include "guard/region/region.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <vector>

namespace kai::guard {
namespace {

constexpr Uuid kCard = {{1, 2}};
constexpr uint64_t kLimit = 1000;

class RegionTest : public testing::Test {
 protected:
  RegionTest() {
    std::string folder = testing::TempDir() + "/guardXXXXXX";
    path_ = std::string(mkdtemp(folder.data())) + "/region";
    std::ofstream{path_};
  }
  ~RegionTest() override {
    std::filesystem::remove_all(std::filesystem::path(path_).parent_path());
  }

  // Attaches; the row of a card with a limit of 1,000 bytes.
  int Join(Region* region) const {
    const char* wrong = region->Attach(path_.c_str());
    EXPECT_EQ(wrong, nullptr) << wrong;
    return region->RowOf(kCard, 4000, kLimit);
  }

  // Runs this in a process of its own. True: it succeeded.
  template <typename Work>
  static bool InChild(const Work& work) {
    const pid_t child = fork();
    if (child == 0) _exit(work() ? 0 : 1);
    int status = 0;
    waitpid(child, &status, 0);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
  }

  Layout* Map() const {
    const int descriptor = open(path_.c_str(), O_RDWR);
    void* memory = mmap(nullptr, sizeof(Layout), PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
    close(descriptor);
    return static_cast<Layout*>(memory);
  }

  std::string path_;
};

TEST_F(RegionTest, TheLimitIsReachedToTheByteAndNotExceeded) {
  Region region;
  const int row = Join(&region);
  EXPECT_TRUE(region.Reserve(row, 999));
  EXPECT_FALSE(region.Reserve(row, 2));
  EXPECT_TRUE(region.Reserve(row, 1));
  EXPECT_FALSE(region.Reserve(row, 1));
  region.Release(row, 1);
  EXPECT_EQ(region.UsedOf(row), 999);
  EXPECT_FALSE(region.Reserve(row, ~uint64_t{0}));  // no sum wraps around
}

TEST_F(RegionTest, ProcessesShareTheLimit) {
  Region region;
  const int row = Join(&region);
  ASSERT_TRUE(region.Reserve(row, 600));
  EXPECT_TRUE(InChild([&] {
    Region its;
    const int its_row = Join(&its);
    return its_row == row && !its.Reserve(row, 401) && its.Reserve(row, 400);
  }));
}

TEST_F(RegionTest, WhatAProcessHeldIsFreeWhenItHasEnded) {
  Region region;
  const int row = Join(&region);
  ASSERT_TRUE(InChild([&] {
    Region its;
    return its.Reserve(Join(&its), 1000);
  }));
  EXPECT_EQ(region.UsedOf(row), 1000);  // nothing looked yet
  EXPECT_TRUE(region.Reserve(row, 1000));
}

TEST_F(RegionTest, TheSlotOfAnEndedProcessIsTakenAgainWithoutItsBytes) {
  ASSERT_TRUE(InChild([&] {
    Region its;
    return its.Reserve(Join(&its), 700);
  }));
  Region region;
  EXPECT_EQ(region.UsedOf(Join(&region)), 0);
}

TEST_F(RegionTest, AProcessThatEndsWithTheLockOfARowDoesNotBlockOthers) {
  Region region;
  const int row = Join(&region);
  ASSERT_TRUE(InChild([&] {
    Region its;
    const bool works = its.Reserve(Join(&its), 300);
    // As if it ended after it had written its slot: it has the lock, and the sum is the old one.
    Layout* layout = Map();
    layout->rows[row].lock.store(2 | (Mixed(2) << 32));
    layout->slots[1].used[row].Set(900);
    return works;
  }));
  EXPECT_TRUE(region.Reserve(row, 1000));
  EXPECT_EQ(region.UsedOf(row), 1000);
}

TEST_F(RegionTest, ClosingAllDescriptorsEndsNeitherTheSlotNorTheCounting) {
  Region region;
  const int row = Join(&region);
  int ready[2];
  int done[2];
  ASSERT_EQ(pipe(ready), 0);
  ASSERT_EQ(pipe(done), 0);
  const pid_t child = fork();
  if (child == 0) {
    Region its;
    const bool works = its.Reserve(Join(&its), 600);
    for (int descriptor = 3; descriptor < 256; ++descriptor) {
      if (descriptor != ready[1] && descriptor != done[0]) close(descriptor);
    }
    open("/dev/null", O_RDONLY);  // has the number of the region's file now
    char byte = works ? 'y' : 'n';
    static_cast<void>(!write(ready[1], &byte, 1));
    static_cast<void>(!read(done[0], &byte, 1));
    _exit(its.Reserve(row, 401) ? 1 : 0);  // looks for ended processes
  }
  char byte = 'n';
  ASSERT_EQ(read(ready[0], &byte, 1), 1);
  EXPECT_EQ(byte, 'y');
  EXPECT_FALSE(region.Reserve(row, 500));  // the child is alive, although its descriptor is not
  ASSERT_EQ(write(done[1], &byte, 1), 1);
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
}

TEST_F(RegionTest, TheFirstProcessDecidesTheLimit) {
  Region region, later;
  const int row = Join(&region);
  ASSERT_EQ(later.Attach(path_.c_str()), nullptr);
  EXPECT_EQ(later.RowOf(kCard, 4000, 4000), row);
  EXPECT_EQ(later.LimitOf(row), kLimit);
}

TEST_F(RegionTest, DevicesHaveRowsOfTheirOwn) {
  Region region;
  const int row = Join(&region);
  const int other = region.RowOf({{3, 4}}, 4000, 500);
  EXPECT_NE(row, other);
  EXPECT_TRUE(region.Reserve(row, 1000));
  EXPECT_TRUE(region.Reserve(other, 500));
  EXPECT_EQ(region.FindRow({{5, 6}}), -1);
  for (uint64_t i = 0; i < 14; ++i) EXPECT_GE(region.RowOf({{i, 9}}, 1, 1), 0);
  EXPECT_EQ(region.RowOf({{99, 9}}, 1, 1), -1);
}

TEST_F(RegionTest, OneProcessMeasuresAtATimeAndOthersAddDevices) {
  Region first, second;
  Join(&first);
  Join(&second);
  ASSERT_TRUE(first.BeginMeasuring());
  EXPECT_GE(first.RowOf({{3, 4}}, 4000, 500), 0);
  EXPECT_GE(second.RowOf({{5, 6}}, 4000, 500), 0);
  std::atomic<bool> measures{false};
  std::thread waiting([&] {
    EXPECT_TRUE(second.BeginMeasuring());
    measures.store(true);
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  EXPECT_FALSE(measures.load());
  first.EndMeasuring();
  waiting.join();
  EXPECT_TRUE(measures.load());
}

TEST_F(RegionTest, ThreadsThatAddDevicesTogetherGetARowForEach) {
  for (int round = 0; round < 50; ++round) {
    Region region;
    Join(&region);
    std::atomic<int> ready{0};
    std::vector<int> rows(4);
    std::vector<std::thread> threads;
    for (uint64_t i = 0; i < rows.size(); ++i) {
      threads.emplace_back([&, i] {
        for (ready.fetch_add(1); ready.load() < 4;) {
        }
        rows[i] = region.RowOf({{i, 9}}, 4000, 500);
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(std::set(rows.begin(), rows.end()).size(), rows.size()) << round;
    region.Forget();
    std::filesystem::resize_file(path_, 0);
  }
}

TEST_F(RegionTest, ManyThreadsNeverHaveMoreThanTheLimit) {
  Region region;
  const int row = Join(&region);
  std::atomic<int64_t> held{0}, most{0};
  std::vector<std::thread> threads;
  for (unsigned int i = 0; i < 8; ++i) {
    threads.emplace_back([&, i] {
      std::mt19937 random(i);
      for (int n = 0; n < 2000; ++n) {
        const uint64_t bytes = 1 + random() % 400;
        if (!region.Reserve(row, bytes)) continue;
        const int64_t now =
            held.fetch_add(static_cast<int64_t>(bytes)) + static_cast<int64_t>(bytes);
        for (int64_t seen = most.load(); seen < now && !most.compare_exchange_weak(seen, now);) {
        }
        held.fetch_sub(static_cast<int64_t>(bytes));
        region.Release(row, bytes);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_LE(most.load(), static_cast<int64_t>(kLimit));
  EXPECT_EQ(region.UsedOf(row), 0);
}

// ---- files that others wrote into ---------------------------------------------------------------

TEST_F(RegionTest, FilesOfOthersAreRefusedWithAReason) {
  std::ofstream(path_) << "hello";
  Region region;
  EXPECT_STREQ(region.Attach(path_.c_str()),
               "it has another size: it belongs to another version of the guard, or was shortened");
  std::ofstream(path_) << std::string(sizeof(Layout), 'x');
  EXPECT_STREQ(region.Attach(path_.c_str()), "it is not a file of the guard");
  EXPECT_FALSE(region.is_attached());
  EXPECT_STREQ(region.Attach(std::filesystem::path(path_).parent_path().c_str()),
               "it cannot be opened for writing");
}

TEST_F(RegionTest, AProcessWithoutTheFileMakesNone) {
  Region first, later;
  Join(&first);
  std::filesystem::remove(path_);
  const char* wrong = later.Attach(path_.c_str());
  EXPECT_STREQ(wrong,
               "it is missing: one empty file has to be made for the pod, and never be removed");
  EXPECT_FALSE(std::filesystem::exists(path_));
}

TEST_F(RegionTest, AnotherVersionIsRefused) {
  {
    Region region;
    Join(&region);
  }
  Map()->version.Set(kVersion + 1);
  Region region;
  EXPECT_STREQ(region.Attach(path_.c_str()), "it belongs to another version of the guard");
}

TEST_F(RegionTest, AFileThatIsShortenedLaterRefusesAndDoesNotCrash) {
  EXPECT_TRUE(InChild([&] {
    Region region;
    const int row = Join(&region);
    const bool works = region.Reserve(row, 10);
    std::filesystem::resize_file(path_, 0);
    return works && !region.Reserve(row, 10);
  }));
}

TEST_F(RegionTest, AShortenedFileEndsAProcessThatCannotHaveZerosInItsPlace) {
  const pid_t child = fork();
  if (child == 0) {
    Region region;
    const int row = Join(&region);
    std::filesystem::resize_file(path_, 0);
    const rlimit almost_nothing = {4096, 4096};
    setrlimit(RLIMIT_DATA, &almost_nothing);
    alarm(5);
    static_cast<void>(region.Reserve(row, 10));
    _exit(0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_NE(status, 0) << "the memory could be mapped";
  EXPECT_FALSE(WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM)
      << "the same instruction fails for ever";
}

TEST_F(RegionTest, AShortenedFileIsNoticedOnTheStackThatAThreadHasForSignals) {
  Region region;
  Join(&region);
  struct sigaction action;
  ASSERT_EQ(sigaction(SIGBUS, nullptr, &action), 0);
  EXPECT_NE(action.sa_flags & SA_SIGINFO, 0);
  EXPECT_NE(action.sa_flags & SA_ONSTACK, 0);
}

TEST_F(RegionTest, OwnNumbersAreRestored) {
  Region region;
  const int row = Join(&region);
  ASSERT_TRUE(region.Reserve(row, 600));
  Layout* layout = Map();
  layout->slots[0].used[row].Set(0);
  layout->rows[row].limit.Set(5000);
  EXPECT_FALSE(region.Reserve(row, 401));
  EXPECT_TRUE(region.Reserve(row, 400));
}

// The bytes that the processes of a pod hold never exceed the limit, whatever is written into the
// file; and no process ends by a signal.
TEST_F(RegionTest, ChangedBytesNeverGiveMoreThanTheLimit) {
  for (unsigned int seed = 0; seed < 300; ++seed) {
    EXPECT_TRUE(InChild([&] {
      path_ += std::to_string(seed);
      std::ofstream{path_};
      std::mt19937 random(seed);
      Region first, second;
      const int row = Join(&first);
      if (Join(&second) != row) return false;
      auto* bytes = reinterpret_cast<unsigned char*>(Map());
      // Mostly where the numbers of these processes are.
      const auto place = [&]() -> size_t {
        const size_t rows = offsetof(Layout, slots);
        return random() % 4 == 0 ? random() % sizeof(Layout) : random() % (rows + 2 * sizeof(Slot));
      };
      uint64_t held[2] = {0, 0};
      for (int n = 0; n < 60; ++n) {
        if (random() % 3 == 0) {
          bytes[place()] ^= 1U << (random() % 8);
        }
        const size_t who = random() % 2;
        Region& region = who == 0 ? first : second;
        const uint64_t amount = 1 + random() % 300;
        if (random() % 2 == 0 && held[who] > 0) {
          region.Release(row, held[who]);
          held[who] = 0;
        } else if (region.Reserve(row, amount)) {
          held[who] += amount;
        }
        if (held[0] + held[1] > kLimit) return false;
      }
      return true;
    })) << seed;
  }
}

}  // namespace
}  // namespace kai::guard
