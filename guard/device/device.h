// What the programs for a machine with a GPU share (check.py runs them). They use the driver's
// functions by the names that it exports, and so run over the pretended driver, too.
#ifndef KAI_GUARD_DEVICE_DEVICE_H_
#define KAI_GUARD_DEVICE_DEVICE_H_

#include <cstdint>

#include "guard/driver/cuda.h"

namespace kai::device {

inline constexpr uint64_t kMib = uint64_t{1} << 20;

struct Memory {
  uint64_t free = 0, total = 0;
  uint64_t used() const { return total - free; }
};

// Ends the program with a message if the call failed.
void Must(CUresult result, const char* what);
// cuInit, and the primary context of the first device made current.
CUcontext Start();
Memory MemoryNow();
void Synchronize();
// Sends what was printed, and waits until the caller writes a line.
void WaitForLine();

// What one request got, and how it is given back.
struct Taken {
  uint64_t bytes = 0;  // requested of the device
  uint64_t handles[3] = {};
};

struct Family {
  const char* name;
  // Whether the card has as much less afterwards, and as long as the program does not give it back.
  bool fills_card, keeps;
  CUresult (*take)(uint64_t bytes, Taken* taken);
  void (*give)(const Taken& taken);
};

extern const Family kFamilies[];
extern const int kFamilyCount;

// The commands of the program: a table of all families; fill the share and hold it; take and
// give back for ever; memory of another process; and how long calls take.
int Each(uint64_t bytes);
int Fill(unsigned int seed, const char* only);
int Churn();
int Ipc(uint64_t bytes);
int Speed(const char* image, int launches);

}  // namespace kai::device

#endif  // KAI_GUARD_DEVICE_DEVICE_H_
