#include "kai/session/gpu_groups.h"

#include <array>
#include <cstdio>

#include "kai/base/text.h"

namespace kai {
namespace {

// FNV-1a with a final mix of the bits.
uint64_t Digest(std::string_view text, uint64_t state) {
  for (const char c : text) {
    state ^= static_cast<unsigned char>(c);
    state *= 0x100000001b3;
  }
  state ^= state >> 33;
  state *= 0xff51afd7ed558ccd;
  state ^= state >> 33;
  state *= 0xc4ceb9fe1a85ec53;
  return state ^ (state >> 33);
}

}  // namespace

std::string NewGpuGroup(int64_t cycle_ns, std::string_view node, int32_t number, int32_t attempt) {
  const std::string text = StrCat(cycle_ns, "/", node, "/", number, "/", attempt);
  const uint64_t high = Digest(text, 0xcbf29ce484222325);
  const uint64_t low = Digest(text, 0x9ae16a3b2f90404f);
  std::array<char, 37> uuid;
  std::snprintf(uuid.data(), uuid.size(), "%08x-%04x-8%03x-%04x-%012llx",
                static_cast<unsigned>(high >> 32), static_cast<unsigned>((high >> 16) & 0xffff),
                static_cast<unsigned>(high & 0xfff),
                static_cast<unsigned>(0x8000 | ((low >> 48) & 0x3fff)),
                static_cast<unsigned long long>(low & 0xffffffffffff));
  return uuid.data();
}

}  // namespace kai
