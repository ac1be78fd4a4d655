// Quantities, durations and timestamps of any bytes: never a crash, never undefined arithmetic, and
// always the documented rounding.

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string_view>

#include "kai/base/check.h"
#include "kai/base/duration.h"
#include "kai/base/quantity.h"
#include "kai/ingest/timestamp.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const absl::StatusOr<kai::Quantity> quantity = kai::Quantity::Parse(text); quantity.ok()) {
    constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
    const int64_t value = quantity->Value();
    const int64_t milli = quantity->MilliValue();
    KAI_CHECK(quantity->negative() ? value < 0 && milli < 0 : value >= 0 && milli >= 0) << text;
    if (milli < kMax && milli > -kMax) {
      // Rounded once, away from zero: from whole milli-units to units.
      const int64_t units = milli / 1000 + (milli % 1000 > 0 ? 1 : 0) - (milli % 1000 < 0 ? 1 : 0);
      KAI_CHECK(value == units) << text << ": " << value << " units, " << milli << " milli-units";
    }
    if (quantity->whole() && value < kMax / 1000 && value > -kMax / 1000)
      KAI_CHECK(milli == value * 1000) << text;
  }
  (void)kai::ParseDuration(text);
  (void)kai::ParseTimestamp(text);
  return 0;
}
