// The file in which the processes of a pod count the device memory that they hold together: a
// header, a row for each device, and a slot for each process.
//
//   if (!row.device.IsIntact()) return "it is damaged";
//   row.used.Set(kNotValid);
//
// A process writes its own slot alone, under the lock of the device's row; the sum in a row is that
// of the slots, kept so that a request needs one comparison. Every number has a check value beside
// it: what was not written by this code is found before it is used.
//
// Invariants: positions never change, so a slot's position is its name. All fields are atomic, as
// monitors read them without a lock. Cost: 560 KiB of shared memory. Threads: see region.h.
#ifndef KAI_GUARD_REGION_LAYOUT_H_
#define KAI_GUARD_REGION_LAYOUT_H_

#include <array>
#include <atomic>
#include <cstdint>

namespace kai::guard {

inline constexpr uint64_t kMagic = 0x445241554749414b;  // "KAIGUARD"
inline constexpr uint32_t kVersion = 1;
inline constexpr int kMostDevices = 16;
inline constexpr int kMostProcesses = 1024;

struct Uuid {
  std::array<uint64_t, 2> words = {};
  friend bool operator==(const Uuid&, const Uuid&) = default;
};

// The finalizer of SplitMix64: a changed bit of the input changes half of the output's.
constexpr uint64_t Mixed(uint64_t value) {
  value += 0x9e3779b97f4a7c15;
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9;
  value = (value ^ (value >> 27)) * 0x94d049bb133111eb;
  return value ^ (value >> 31);
}

// A number with its check value. Zeroed memory is no valid number.
class Checked {
 public:
  void Set(uint64_t value) {
    value_.store(value, std::memory_order_relaxed);
    check_.store(Mixed(value), std::memory_order_relaxed);
  }
  uint64_t value() const { return value_.load(std::memory_order_relaxed); }
  bool IsIntact() const { return check_.load(std::memory_order_relaxed) == Mixed(value()); }

 private:
  std::atomic<uint64_t> value_;
  std::atomic<uint64_t> check_;
};

struct Row {
  std::array<Checked, 2> uuid;
  Checked device;              // 0: the row is free; 1: a GPU; 2: a MIG instance
  Checked limit;               // bytes
  Checked total;               // bytes of the device
  Checked used;                // the sum of the slots
  Checked peak;                // the most that `used` has been
  Checked context;             // what a process's first context takes; 0: not measured yet
  std::atomic<uint64_t> lock;  // region.cc; 0: free
  std::atomic<uint64_t> refusals;
};

struct Slot {
  std::atomic<uint64_t> pid;      // as its container counts; 0: no process has the slot
  std::atomic<uint64_t> started;  // in clock ticks since the machine's start
  std::array<std::atomic<uint64_t>, 2> name;
  std::array<Checked, kMostDevices> used;
  std::array<std::atomic<uint64_t>, kMostDevices> peak;
};

struct Layout {
  Checked magic;
  Checked version;
  std::array<Row, kMostDevices> rows;
  std::array<Slot, kMostProcesses> slots;
};

}  // namespace kai::guard

#endif  // KAI_GUARD_REGION_LAYOUT_H_
