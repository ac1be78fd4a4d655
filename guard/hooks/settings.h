// What the container's environment requests of the guard.
//
//   const char* wrong = ReadSettings(&settings);
//   const Limit limit = settings.LimitFor(device);
//
// - KAI_GUARD_REGION: the file of the pod (region/region.h), which exists and may be empty; without
// the variable, the guard does nothing.
// - KAI_GUARD_LIMIT: of each device: bytes, 16Gi, 16000Mi, or a part of the device, 0.5.
// - KAI_GUARD_LIMITS: of single devices: GPU-8f2c…=0.5,MIG-17ab…=8Gi.
// - KAI_GUARD_CONTEXT: bytes that a process's first context on a device counts; else contexts.cc
// measures it.
//
// Invariants: texts point into the environment, which is read once, when the process first uses the
// driver. Cost: O(length of the texts). Threads: pure functions.
#ifndef KAI_GUARD_HOOKS_SETTINGS_H_
#define KAI_GUARD_HOOKS_SETTINGS_H_

#include <array>
#include <cstdint>

#include "guard/region/layout.h"

namespace kai::guard {

inline constexpr uint64_t kNoLimit = ~uint64_t{0};

struct Limit {
  enum class Kind : uint8_t { kNone, kBytes, kPart };
  Kind kind = Kind::kNone;
  uint64_t amount = 0;  // bytes, or billionths of the device

  // In bytes, rounded down; never more than the device has.
  uint64_t Of(uint64_t total) const;
};

struct Settings {
  const char* region = nullptr;
  Limit limit;
  Limit context;
  struct Special {
    Uuid device;
    Limit limit;
  };
  std::array<Special, kMostDevices> specials;
  int special_count = 0;

  Limit LimitFor(const Uuid& device) const;
};

// Null, or what is wrong with the values.
const char* ReadSettings(Settings* settings);

// "GPU-" or "MIG-" and 32 hexadecimal digits with dashes.
bool ReadUuid(const char* text, Uuid* uuid);

}  // namespace kai::guard

#endif  // KAI_GUARD_HOOKS_SETTINGS_H_
