#include "kai/api/rounding.h"

#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string_view>

namespace kai {
namespace {

// Go writes exponents with at least two digits ("1e+06"), as C does.
std::string Formatted(const char* format, double value) {
  char buffer[400];
  const int length = std::snprintf(buffer, sizeof(buffer), format, value);
  return std::string(buffer, static_cast<size_t>(length));
}

}  // namespace

double GpusOfPortions(double portion, double count) {
  return std::round(portion * 100) * count / 100;
}

int64_t MemoryOfPortion(double portion, double capacity_mib) {
  return static_cast<int64_t>(portion * capacity_mib);
}

double PortionOfMemory(double memory_mib, double capacity_mib) {
  return std::ceil(memory_mib / capacity_mib * 100) / 100;
}

std::string CutToThreeDecimals(double value) {
  // Prints six decimals first and cuts then, as KAI does: a value just below a third decimal can
  // round up to it.
  std::string text = Formatted("%.6f", value);
  const size_t point = text.find('.');
  if (point == std::string::npos)
    return text;  // infinity or NaN: no caller has them, but the loop below would not end
  text.resize(point + 4);
  while (text.back() == '0') text.pop_back();
  if (text.back() == '.') text.pop_back();
  return text;
}

std::string ShortestDecimal(double value) {
  // Go's shortest %g uses an exponent below 1e-4 and from 1e6 on.
  char buffer[400];
  const double size = std::abs(value);
  const auto format = size != 0 && (size < 1e-4 || size >= 1e6) ? std::chars_format::scientific
                                                                : std::chars_format::fixed;
  const auto end = std::to_chars(buffer, buffer + sizeof(buffer), value, format);
  return std::string(buffer, end.ptr);
}

std::string MillisAsQuantity(int64_t millis) {
  return millis % 1000 == 0 ? std::to_string(millis / 1000) : std::to_string(millis) + "m";
}

std::string BytesAsQuantity(int64_t bytes) {
  // A whole number of MiB was most likely written in binary units, and so was a number that is not
  // a whole number of KB.
  const auto in_units = [&](int64_t base, const char* after) {
    std::string text = std::to_string(bytes);
    int64_t unit = 1;
    for (const char letter : std::string_view(base == 1000 ? "kMGT" : "KMGT")) {
      if (bytes % (unit * base) != 0) break;
      unit *= base;
      text = std::to_string(bytes / unit) + letter + after;
    }
    return text;
  };
  constexpr int64_t kMib = int64_t{1} << 20;
  if (bytes == 0) return "0";
  return bytes % kMib == 0 || bytes % 1000 != 0 ? in_units(1024, "i") : in_units(1000, "");
}

}  // namespace kai
