#include "kai/dra/cel_value.h"

#include <cmath>
#include <type_traits>
#include <utility>

namespace kai {
namespace {

template <typename T>
inline constexpr bool kIsNumber =
    std::is_same_v<T, int64_t> || std::is_same_v<T, uint64_t> || std::is_same_v<T, double>;

// Exact, also where converting the integer to a double would round it.
template <typename Integer>
std::partial_ordering CompareWithDouble(Integer a, double b) {
  if (std::isnan(b)) return std::partial_ordering::unordered;
  // Powers of two, so they are exact: the first double above all integers, and the lowest integer.
  constexpr double kAbove = std::is_signed_v<Integer> ? 0x1p63 : 0x1p64;
  constexpr double kLowest = std::is_signed_v<Integer> ? -0x1p63 : 0;
  if (b >= kAbove) return std::partial_ordering::less;
  if (b < kLowest) return std::partial_ordering::greater;
  const auto whole = static_cast<Integer>(b);  // rounded towards zero
  if (a != whole) return a <=> whole;
  return 0.0 <=> b - static_cast<double>(whole);
}

template <typename A, typename B>
std::partial_ordering CompareNumbers(A a, B b) {
  if constexpr (std::is_same_v<A, B>) {
    return a <=> b;
  } else if constexpr (std::is_same_v<B, double>) {
    return CompareWithDouble(a, b);
  } else if constexpr (std::is_same_v<A, double>) {
    return 0 <=> CompareWithDouble(b, a);
  } else {
    if (std::cmp_equal(a, b)) return std::partial_ordering::equivalent;
    return std::cmp_less(a, b) ? std::partial_ordering::less : std::partial_ordering::greater;
  }
}

bool EqualLists(const CelList& a, const CelList& b, int64_t* steps) {
  if (a.items.size() != b.items.size()) return false;
  for (size_t i = 0; i < a.items.size(); ++i) {
    if (!CelEqual(a.items[i], b.items[i], steps)) return false;
  }
  return true;
}

}  // namespace

std::string_view CelKindName(const CelValue& value) {
  constexpr std::string_view kNames[] = {"bool",     "int",     "uint", "double", "string",
                                         "quantity", "version", "list", "device", "map",
                                         "map",      "map",     "map"};
  static_assert(std::size(kNames) == std::variant_size_v<CelValue>);
  return kNames[value.index()];
}

CelValue CelValueOf(const AttributeValue& attribute) {
  return std::visit(
      [](const auto& value) -> CelValue {
        using T = std::decay_t<decltype(value)>;
        if constexpr (std::is_same_v<T, std::string>) {
          return std::string_view(value);
        } else if constexpr (std::is_same_v<T, Semver>) {
          return &value;
        } else {
          return value;
        }
      },
      attribute);
}

bool CelEqual(const CelValue& a, const CelValue& b, int64_t* steps) {
  if (--*steps < 0) return false;
  if (const auto* const* list = std::get_if<const CelList*>(&a)) {
    const auto* const* other = std::get_if<const CelList*>(&b);
    return other != nullptr && EqualLists(**list, **other, steps);
  }
  if (const auto* text = std::get_if<std::string_view>(&a)) {
    *steps -= static_cast<int64_t>(text->size() / 16);
  }
  return CelCompare(a, b).order == 0;
}

CelOrder CelCompare(const CelValue& a, const CelValue& b) {
  return std::visit(
      [](const auto& x, const auto& y) -> CelOrder {
        using X = std::decay_t<decltype(x)>;
        using Y = std::decay_t<decltype(y)>;
        if constexpr (kIsNumber<X> && kIsNumber<Y>) {
          return {true, CompareNumbers(x, y)};
        } else if constexpr (!std::is_same_v<X, Y>) {
          return {};
        } else if constexpr (std::is_same_v<X, const Semver*>) {
          return {true, *x <=> *y};
        } else if constexpr (std::is_pointer_v<X>) {
          return {};  // lists, maps and the device have no order
        } else {
          return {true, x <=> y};
        }
      },
      a, b);
}

}  // namespace kai
