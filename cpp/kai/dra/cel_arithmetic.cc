#include "kai/dra/cel_arithmetic.h"

#include <cmath>
#include <limits>
#include <string_view>
#include <type_traits>
#include <utility>

#include "absl/status/status.h"
#include "kai/base/text.h"

namespace kai {
namespace {

using Result = absl::StatusOr<CelValue>;

template <typename Integer>
Result CalculateIntegers(CelOp op, Integer a, Integer b) {
  Integer result = 0;
  bool overflows = false;
  switch (op) {
    case CelOp::kAdd:
      overflows = __builtin_add_overflow(a, b, &result);
      break;
    case CelOp::kSubtract:
      overflows = __builtin_sub_overflow(a, b, &result);
      break;
    case CelOp::kMultiply:
      overflows = __builtin_mul_overflow(a, b, &result);
      break;
    default:
      if (b == 0) return absl::InvalidArgumentError("division by zero");
      if constexpr (std::is_signed_v<Integer>) {
        overflows = b == -1 && a == std::numeric_limits<Integer>::min();
      }
      if (!overflows) result = op == CelOp::kDivide ? a / b : a % b;
      break;
  }
  if (overflows) return absl::InvalidArgumentError("the result is out of range");
  return CelValue(result);
}

std::optional<Result> CalculateDoubles(CelOp op, double a, double b) {
  switch (op) {
    case CelOp::kAdd:
      return CelValue(a + b);
    case CelOp::kSubtract:
      return CelValue(a - b);
    case CelOp::kMultiply:
      return CelValue(a * b);
    case CelOp::kDivide:
      // Checked here, as division by zero is undefined in C++.
      if (b == 0) {
        constexpr double kInfinity = std::numeric_limits<double>::infinity();
        if (a == 0 || a != a) return CelValue(std::numeric_limits<double>::quiet_NaN());
        return CelValue(std::signbit(a) == std::signbit(b) ? kInfinity : -kInfinity);
      }
      return CelValue(a / b);
    default:
      return std::nullopt;
  }
}

}  // namespace

std::optional<Result> CelCalculate(CelOp op, const CelValue& a, const CelValue& b, CelArena* arena,
                                   int64_t* steps) {
  if (a.index() != b.index()) return std::nullopt;
  return std::visit(
      [&](const auto& x) -> std::optional<Result> {
        using T = std::decay_t<decltype(x)>;
        const T& y = std::get<T>(b);
        if constexpr (std::is_same_v<T, int64_t> || std::is_same_v<T, uint64_t>) {
          return CalculateIntegers(op, x, y);
        } else if constexpr (std::is_same_v<T, double>) {
          return CalculateDoubles(op, x, y);
        } else if constexpr (std::is_same_v<T, std::string_view>) {
          if (op != CelOp::kAdd) return std::nullopt;
          *steps -= static_cast<int64_t>((x.size() + y.size()) / 16);
          if (*steps < 0) return CelValue(std::string_view());
          return CelValue(std::string_view(arena->texts.emplace_back(StrCat(x, y))));
        } else if constexpr (std::is_same_v<T, const CelList*>) {
          if (op != CelOp::kAdd) return std::nullopt;
          *steps -= static_cast<int64_t>(x->items.size() + y->items.size());
          if (*steps < 0) return CelValue(x);
          CelList& sum = arena->lists.emplace_back(*x);
          sum.items.insert(sum.items.end(), y->items.begin(), y->items.end());
          return CelValue(&std::as_const(sum));
        } else {
          return std::nullopt;
        }
      },
      a);
}

std::optional<Result> CelNegate(const CelValue& value) {
  if (const auto* integer = std::get_if<int64_t>(&value)) {
    return CalculateIntegers(CelOp::kSubtract, int64_t{0}, *integer);
  }
  if (const auto* real = std::get_if<double>(&value)) return CelValue(-*real);
  return std::nullopt;
}

}  // namespace kai
