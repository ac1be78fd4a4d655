#include "kai/ingest/gpu_request.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "kai/api/accelerators.h"
#include "kai/api/keys.h"
#include "kai/base/parse.h"
#include "kai/base/quote.h"
#include "kai/base/saturating.h"
#include "kai/base/text.h"

namespace kai {
namespace {

FieldStatus Bad(std::string_view annotation, std::string_view value, std::string_view meaning) {
  return FieldStatus::Bad(StrCat("metadata.annotations[", Quote(annotation), "]"),
                          StrCat(Quote(value), " is not ", meaning));
}

// A decimal number in Go's syntax, in (0, 1].
std::optional<double> ParseFraction(std::string_view text) {
  if (text.starts_with('+') && !text.starts_with("+-")) text.remove_prefix(1);
  double fraction = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), fraction);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  if (!(fraction > 0 && fraction <= 1)) return std::nullopt;  // also rejects NaN
  return fraction;
}

}  // namespace

void WholeGpus::Add(const WholeGpus& other) {
  if (count == 0 && portion == 0) {
    *this = other;
  } else if (other.portion == 0 || other.portion == portion) {
    // Portion 0 means that the other is empty (spec 3 R9); its count is added nevertheless.
    count = AddSaturating(count, other.count);
  }
}

void WholeGpus::Max(const WholeGpus& other) {
  if (other.count * other.portion > count * portion) *this = other;  // portions are 0 or 1
}

bool GpuAnnotations::Matters(std::string_view key) {
  return key == keys::kGpuFraction || key == keys::kGpuMemoryRequest ||
         key == keys::kGpuFractionDevices || IsMigResource(key);
}

void GpuAnnotations::Take(std::string_view key, std::string_view value) {
  if (key == keys::kGpuFraction) {
    fraction = value;
  } else if (key == keys::kGpuMemoryRequest) {
    memory = value;
  } else if (key == keys::kGpuFractionDevices) {
    devices = value;
  } else if (IsMigResource(key)) {
    mig.emplace_back(key, value);
  }
}

FieldStatus MakeGpuRequest(const GpuAnnotations& annotations, const WholeGpus& whole,
                           ResourceAmounts mig, GpuRequest* out) {
  *out = GpuRequest{
      .count = whole.count, .portion = static_cast<double>(whole.portion), .mig = std::move(mig)};

  std::optional<int64_t> memory_mib;
  if (annotations.memory.has_value()) {  // spec 3 R12
    memory_mib = ParseInteger(*annotations.memory);
    if (memory_mib.value_or(0) <= 0) {
      return Bad(keys::kGpuMemoryRequest, *annotations.memory, "a whole number of MiB above 0");
    }
    *out = GpuRequest{
        .kind = GpuRequestKind::kMemory, .count = 1, .memory_mib = *memory_mib, .mig = {}};
  }
  std::optional<double> portion;
  if (annotations.fraction.has_value()) {  // spec 3 R13
    portion = ParseFraction(*annotations.fraction);
    if (!portion.has_value()) {
      return Bad(keys::kGpuFraction, *annotations.fraction, "a number above 0 and up to 1");
    }
    *out =
        GpuRequest{.kind = GpuRequestKind::kFraction, .count = 1, .portion = *portion, .mig = {}};
  }
  if (out->kind != GpuRequestKind::kRegular && annotations.devices.has_value()) {  // spec 3 R14
    const std::optional<int64_t> devices = ParseInteger(*annotations.devices);
    if (devices.value_or(0) <= 0) {
      return Bad(keys::kGpuFractionDevices, *annotations.devices,
                 "a whole number of devices above 0");
    }
    out->count = *devices;
    out->memory_mib = memory_mib.value_or(0);  // also beside a fraction
  }
  if (!annotations.mig.empty()) {  // spec 3 R17, M4; we take the first by name
    const auto& [name, value] = *std::min_element(annotations.mig.begin(), annotations.mig.end());
    const std::optional<int64_t> instances = ParseInteger(value);
    if (instances.value_or(-1) < 0) return Bad(name, value, "a whole number of MIG instances");
    *out = GpuRequest{.mig = {{name, *instances}}, .legacy_mig = true};
  }
  if (!out->mig.empty()) out->kind = GpuRequestKind::kMig;
  return FieldStatus();
}

}  // namespace kai
