#include "kai/ingest/gpu_request.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "kai/base/text.h"
#include "kai/ingest/quote.h"
#include "kai/ingest/resource_list.h"

namespace kai {
namespace {

constexpr std::string_view kFraction = "gpu-fraction";
constexpr std::string_view kMemory = "gpu-memory";
constexpr std::string_view kDevices = "gpu-fraction-num-devices";

FieldStatus BadAnnotation(std::string_view key, std::string_view value, std::string_view meaning) {
  return FieldStatus::Bad(StrCat("metadata.annotations[", Quote(key), "]"), StrCat(Quote(value), " is not ", meaning));
}

// A number as Go reads it, with a sign if it likes; all of the text.
template <typename Number>
bool ParseWhole(std::string_view text, Number* number) {
  if (text.starts_with('+')) {
    text.remove_prefix(1);
    if (text.starts_with('-')) return false;
  }
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *number);
  return error == std::errc() && end == text.data() + text.size();
}

}  // namespace

void WholeGpus::Add(const WholeGpus& other) {
  if (count == 0 && portion == 0) {
    *this = other;
  } else if (other.portion == 0 || other.portion == portion) {  // portion 0: `other` is empty (spec 3 R9), and its count still adds
    count = AddSaturating(count, other.count);
  }
}

void WholeGpus::Max(const WholeGpus& other) {
  if (other.count * other.portion > count * portion) *this = other;  // counts are below 2^63, portions 0 or 1
}

bool GpuAnnotations::Matters(std::string_view key) {
  return key == kFraction || key == kMemory || key == kDevices || key.starts_with(kMigPrefix);
}

void GpuAnnotations::Take(std::string_view key, std::string_view value) {
  if (key == kFraction) {
    fraction = value;
  } else if (key == kMemory) {
    memory = value;
  } else if (key == kDevices) {
    devices = value;
  } else if (key.starts_with(kMigPrefix)) {
    mig.emplace_back(key, value);
  }
}

FieldStatus MakeGpuRequest(const GpuAnnotations& annotations, const WholeGpus& whole, ResourceAmounts mig, GpuRequest* out) {
  *out = GpuRequest{.count = whole.count, .portion = static_cast<double>(whole.portion), .mig = std::move(mig)};

  int64_t memory_mib = 0;
  double fraction = 0;
  if (annotations.memory.has_value()) {  // spec 3 R12
    if (!ParseWhole(*annotations.memory, &memory_mib) || memory_mib <= 0) {
      return BadAnnotation(kMemory, *annotations.memory, "a whole number of MiB above 0");
    }
    *out = GpuRequest{.kind = GpuRequestKind::kMemory, .count = 1, .memory_mib = memory_mib, .mig = {}};
  }
  if (annotations.fraction.has_value()) {  // spec 3 R13; the comparison is written so that NaN fails it
    if (!ParseWhole(*annotations.fraction, &fraction) || !(fraction > 0 && fraction <= 1)) {
      return BadAnnotation(kFraction, *annotations.fraction, "a number above 0 and up to 1");
    }
    *out = GpuRequest{.kind = GpuRequestKind::kFraction, .count = 1, .portion = fraction, .mig = {}};
  }
  if (out->kind != GpuRequestKind::kRegular && annotations.devices.has_value()) {  // spec 3 R14
    int64_t devices = 0;
    if (!ParseWhole(*annotations.devices, &devices) || devices <= 0) {
      return BadAnnotation(kDevices, *annotations.devices, "a whole number of devices above 0");
    }
    *out = GpuRequest{.kind = out->kind, .count = devices, .portion = fraction, .memory_mib = memory_mib, .mig = {}};
  }
  if (!annotations.mig.empty()) {  // spec 3 R17, M4; of several we take the first by name, where KAI takes any
    const auto& [name, value] = *std::min_element(annotations.mig.begin(), annotations.mig.end());
    int64_t instances = 0;
    if (!ParseWhole(value, &instances) || instances < 0) {
      return BadAnnotation(name, value, "a whole number of MIG instances");
    }
    *out = GpuRequest{.mig = {{name, instances}}, .legacy_mig = true};
  }
  if (!out->mig.empty()) out->kind = GpuRequestKind::kMig;
  return FieldStatus();
}

}  // namespace kai
