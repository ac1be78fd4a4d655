#include "guard/hooks/settings.h"

#include <stdlib.h>
#include <string.h>

namespace kai::guard {
namespace {

constexpr uint64_t kBillion = 1'000'000'000;

struct Unit {
  const char* suffix;
  uint64_t bytes;
};
constexpr Unit kUnits[] = {{"", 1},
                           {"Ki", uint64_t{1} << 10},
                           {"Mi", uint64_t{1} << 20},
                           {"Gi", uint64_t{1} << 30},
                           {"Ti", uint64_t{1} << 40}};

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

// Reads up to `end` or a comma; returns where it stopped, or null.
const char* ReadLimit(const char* text, Limit* limit) {
  uint64_t whole = 0;
  const char* at = text;
  for (; IsDigit(*at); ++at) {
    if (whole > (kNoLimit >> 8)) return nullptr;
    whole = whole * 10 + static_cast<uint64_t>(*at - '0');
  }
  if (at == text) return nullptr;
  if (*at == '.') {
    uint64_t part = 0, place = kBillion;
    for (++at; IsDigit(*at); ++at) {
      place /= 10;
      part += place * static_cast<uint64_t>(*at - '0');
    }
    if (whole > 1 || (whole == 1 && part > 0)) return nullptr;
    *limit = {Limit::Kind::kPart, whole * kBillion + part};
    return *at == '\0' || *at == ',' ? at : nullptr;
  }
  const char* const comma = strchr(at, ',');
  const size_t length = comma == nullptr ? strlen(at) : static_cast<size_t>(comma - at);
  for (const Unit& unit : kUnits) {
    if (strlen(unit.suffix) != length || strncmp(unit.suffix, at, length) != 0) continue;
    if (whole > kNoLimit / unit.bytes) return nullptr;
    *limit = {Limit::Kind::kBytes, whole * unit.bytes};
    return at + length;
  }
  return nullptr;
}

const char* ReadSpecials(const char* text, Settings* settings) {
  constexpr const char* kWrong =
      "KAI_GUARD_LIMITS is no list such as GPU-<uuid>=0.5,GPU-<uuid>=8Gi";
  for (const char* at = text; *at != '\0';) {
    if (settings->special_count == kMostDevices) return "KAI_GUARD_LIMITS names over 16 devices";
    Settings::Special& special = settings->specials[settings->special_count];
    const char* equals = strchr(at, '=');
    if (equals == nullptr || !ReadUuid(at, &special.device)) return kWrong;
    at = ReadLimit(equals + 1, &special.limit);
    if (at == nullptr) return kWrong;
    ++settings->special_count;
    if (*at == ',') ++at;
  }
  return nullptr;
}

}  // namespace

uint64_t Limit::Of(uint64_t total) const {
  switch (kind) {
    case Kind::kNone:
      return total;
    case Kind::kBytes:
      return amount < total ? amount : total;
    case Kind::kPart:
      break;
  }
  __extension__ using Wide = unsigned __int128;
  return static_cast<uint64_t>(static_cast<Wide>(total) * amount / kBillion);
}

Limit Settings::LimitFor(const Uuid& device) const {
  for (int i = 0; i < special_count; ++i) {
    if (specials[i].device == device) return specials[i].limit;
  }
  return limit;
}

const char* ReadSettings(Settings* settings) {
  *settings = Settings();  // a forked child reads them again
  settings->region = getenv("KAI_GUARD_REGION");
  if (settings->region != nullptr && settings->region[0] == '\0') settings->region = nullptr;
  const char* limit = getenv("KAI_GUARD_LIMIT");
  if (limit != nullptr) {
    const char* end = ReadLimit(limit, &settings->limit);
    if (end == nullptr || *end != '\0')
      return "KAI_GUARD_LIMIT is no amount of memory such as 16Gi, and no part of a device such "
             "as 0.5";
  }
  const char* context = getenv("KAI_GUARD_CONTEXT");
  if (context != nullptr && context[0] != '\0') {
    const char* end = ReadLimit(context, &settings->context);
    if (end == nullptr || *end != '\0' || settings->context.kind != Limit::Kind::kBytes)
      return "KAI_GUARD_CONTEXT is no amount of memory such as 500Mi";
  }
  const char* specials = getenv("KAI_GUARD_LIMITS");
  return specials == nullptr ? nullptr : ReadSpecials(specials, settings);
}

bool ReadUuid(const char* text, Uuid* uuid) {
  if (strncmp(text, "GPU-", 4) != 0 && strncmp(text, "MIG-", 4) != 0) return false;
  std::array<unsigned char, 16> bytes = {};
  int digits = 0;
  for (const char* at = text + 4; digits < 32; ++at) {
    const char c = static_cast<char>(*at | 0x20);
    if (*at == '-') continue;
    const bool is_letter = c >= 'a' && c <= 'f';
    if (!IsDigit(*at) && !is_letter) return false;
    const int value = is_letter ? c - 'a' + 10 : *at - '0';
    bytes[digits / 2] = static_cast<unsigned char>(bytes[digits / 2] * 16 + value);
    ++digits;
  }
  memcpy(uuid->words.data(), bytes.data(), bytes.size());
  return true;
}

}  // namespace kai::guard
