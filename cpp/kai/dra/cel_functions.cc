#include "kai/dra/cel_functions.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "kai/base/status_macros.h"
#include "kai/base/text.h"
#include "kai/dra/utf8.h"

namespace kai {
namespace {

struct Signature {
  std::string_view name;
  CelFunction function;
  CelCallForm form;
  size_t least;  // arguments
  size_t most;
};

constexpr CelCallForm kFree = CelCallForm::kFunction;
constexpr CelCallForm kMethod = CelCallForm::kMethod;

constexpr Signature kSignatures[] = {
    {"size", CelFunction::kSize, kFree, 1, 1},
    {"size", CelFunction::kSize, kMethod, 1, 1},
    {"startsWith", CelFunction::kStartsWith, kMethod, 2, 2},
    {"endsWith", CelFunction::kEndsWith, kMethod, 2, 2},
    {"contains", CelFunction::kContains, kMethod, 2, 2},
    {"matches", CelFunction::kMatches, kMethod, 2, 2},
    {"matches", CelFunction::kMatches, kFree, 2, 2},
    {"lowerAscii", CelFunction::kLowerAscii, kMethod, 1, 1},
    {"upperAscii", CelFunction::kUpperAscii, kMethod, 1, 1},
    {"quantity", CelFunction::kQuantity, kFree, 1, 1},
    {"isQuantity", CelFunction::kIsQuantity, kFree, 1, 1},
    {"isInteger", CelFunction::kIsInteger, kMethod, 1, 1},
    {"asInteger", CelFunction::kAsInteger, kMethod, 1, 1},
    {"asApproximateFloat", CelFunction::kAsApproximateFloat, kMethod, 1, 1},
    {"sign", CelFunction::kSign, kMethod, 1, 1},
    {"add", CelFunction::kAdd, kMethod, 2, 2},
    {"sub", CelFunction::kSub, kMethod, 2, 2},
    {"semver", CelFunction::kSemver, kFree, 1, 2},  // the second: may it be written loosely?
    {"isSemver", CelFunction::kIsSemver, kFree, 1, 2},
    {"major", CelFunction::kMajor, kMethod, 1, 1},
    {"minor", CelFunction::kMinor, kMethod, 1, 1},
    {"patch", CelFunction::kPatch, kMethod, 1, 1},
    {"compareTo", CelFunction::kCompareTo, kMethod, 2, 2},
    {"isGreaterThan", CelFunction::kIsGreaterThan, kMethod, 2, 2},
    {"isLessThan", CelFunction::kIsLessThan, kMethod, 2, 2},
};

int64_t LengthSteps(std::string_view text) { return static_cast<int64_t>(text.size() / 16); }

char ToLower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }
char ToUpper(char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; }

using Result = absl::StatusOr<CelValue>;

// One call: arguments of the wrong kind leave `result_` empty.
class Call {
 public:
  Call(std::span<const CelValue> arguments, const Regex* regex, CelArena* arena, int64_t* steps)
      : arguments_(arguments), regex_(regex), arena_(arena), steps_(steps) {}

  std::optional<Result> Run(CelFunction function) {
    if (const auto* text = Argument<std::string_view>(0)) return OfText(function, *text);
    if (const auto* quantity = Argument<Quantity>(0)) return OfQuantity(function, *quantity);
    if (const auto* version = Argument<const Semver*>(0)) return OfVersion(function, **version);
    if (function == CelFunction::kSize) return Size();
    return std::nullopt;
  }

 private:
  template <typename T>
  const T* Argument(size_t i) const {
    return i < arguments_.size() ? std::get_if<T>(&arguments_[i]) : nullptr;
  }

  std::optional<Result> Size() {
    return std::visit(
        [](const auto& value) -> std::optional<Result> {
          using T = std::decay_t<decltype(value)>;
          if constexpr (std::is_same_v<T, const CelList*>) {
            return CelValue(static_cast<int64_t>(value->items.size()));
          } else if constexpr (std::is_pointer_v<T> && !std::is_same_v<T, const Semver*> &&
                               !std::is_same_v<T, const Device*>) {
            return CelValue(static_cast<int64_t>(value->size()));  // a map
          } else {
            return std::nullopt;
          }
        },
        arguments_[0]);
  }

  std::optional<Result> OfText(CelFunction function, std::string_view text) {
    *steps_ -= LengthSteps(text);
    switch (function) {
      case CelFunction::kSize:
        return CelValue(static_cast<int64_t>(CountCodePoints(text)));
      case CelFunction::kLowerAscii:
        return Keep(text, &ToLower);
      case CelFunction::kUpperAscii:
        return Keep(text, &ToUpper);
      case CelFunction::kQuantity: {
        const absl::StatusOr<Quantity> quantity = Quantity::Parse(text);
        return quantity.ok() ? Result(CelValue(*quantity)) : quantity.status();
      }
      case CelFunction::kIsQuantity:
        return CelValue(Quantity::Parse(text).ok());
      case CelFunction::kSemver:
      case CelFunction::kIsSemver:
        return Version(function, text);
      default:
        break;
    }
    const auto* other = Argument<std::string_view>(1);
    if (other == nullptr) return std::nullopt;
    *steps_ -= LengthSteps(*other);
    switch (function) {
      case CelFunction::kStartsWith:
        return CelValue(text.starts_with(*other));
      case CelFunction::kEndsWith:
        return CelValue(text.ends_with(*other));
      case CelFunction::kContains:
        *steps_ -= LengthSteps(text) * LengthSteps(*other);  // what a naive search may take
        return CelValue(text.find(*other) != text.npos);
      case CelFunction::kMatches:
        return Matches(text, *other);
      default:
        return std::nullopt;
    }
  }

  Result Keep(std::string_view text, char (*change)(char)) {
    std::string& kept = arena_->texts.emplace_back(text);
    std::transform(kept.begin(), kept.end(), kept.begin(), change);
    return CelValue(std::string_view(kept));
  }

  Result Matches(std::string_view text, std::string_view pattern) {
    if (regex_ != nullptr) return CelValue(regex_->FoundIn(text, steps_));
    KAI_ASSIGN_OR_RETURN(const Regex regex, Regex::Compile(pattern, steps_));
    return CelValue(regex.FoundIn(text, steps_));
  }

  std::optional<Result> Version(CelFunction function, std::string_view text) {
    const bool* loosely = Argument<bool>(1);
    if (arguments_.size() == 2 && loosely == nullptr) return std::nullopt;
    absl::StatusOr<Semver> version =
        loosely != nullptr && *loosely ? Semver::ParseLoosely(text) : Semver::Parse(text);
    if (function == CelFunction::kIsSemver) return CelValue(version.ok());
    if (!version.ok()) return version.status();
    const Semver& kept = arena_->versions.emplace_back(*std::move(version));
    return CelValue(&kept);
  }

  std::optional<Result> OfQuantity(CelFunction function, Quantity quantity) {
    switch (function) {
      case CelFunction::kIsInteger:
        return CelValue(quantity.whole());
      case CelFunction::kAsInteger:
        if (!quantity.whole()) return absl::InvalidArgumentError("the quantity is not an integer");
        return CelValue(quantity.Value());
      case CelFunction::kAsApproximateFloat:
        return CelValue(quantity.Approximate());
      case CelFunction::kSign:
        return CelValue(int64_t{quantity.Sign()});
      case CelFunction::kAdd:
      case CelFunction::kSub: {
        const auto* amount = Argument<Quantity>(1);
        const auto* whole = Argument<int64_t>(1);
        if (amount == nullptr && whole == nullptr) return std::nullopt;
        const Quantity other = amount != nullptr ? *amount : Quantity::Of(*whole);
        return CelValue(function == CelFunction::kAdd ? quantity + other : quantity - other);
      }
      default: {
        const auto* other = Argument<Quantity>(1);
        return other == nullptr ? std::nullopt : Compared(function, quantity <=> *other);
      }
    }
  }

  std::optional<Result> OfVersion(CelFunction function, const Semver& version) {
    *steps_ -= LengthSteps(version.text());
    switch (function) {
      case CelFunction::kMajor:
        return CelValue(static_cast<int64_t>(version.major()));
      case CelFunction::kMinor:
        return CelValue(static_cast<int64_t>(version.minor()));
      case CelFunction::kPatch:
        return CelValue(static_cast<int64_t>(version.patch()));
      default: {
        const auto* other = Argument<const Semver*>(1);
        return other == nullptr ? std::nullopt : Compared(function, version <=> **other);
      }
    }
  }

  static std::optional<Result> Compared(CelFunction function, std::strong_ordering order) {
    switch (function) {
      case CelFunction::kCompareTo:
        return CelValue(int64_t{order > 0} - int64_t{order < 0});
      case CelFunction::kIsGreaterThan:
        return CelValue(order > 0);
      case CelFunction::kIsLessThan:
        return CelValue(order < 0);
      default:
        return std::nullopt;
    }
  }

  std::span<const CelValue> arguments_;
  const Regex* regex_;
  CelArena* arena_;
  int64_t* steps_;
};

std::string_view NameOf(CelFunction function) {
  const auto* found = std::find_if(std::begin(kSignatures), std::end(kSignatures),
                                   [&](const Signature& s) { return s.function == function; });
  return found->name;
}

}  // namespace

std::optional<CelFunction> FindCelFunction(std::string_view name, CelCallForm form,
                                           size_t arguments) {
  for (const Signature& signature : kSignatures) {
    if (signature.name == name && signature.form == form && arguments >= signature.least &&
        arguments <= signature.most) {
      return signature.function;
    }
  }
  return std::nullopt;
}

Result CallCelFunction(CelFunction function, std::span<const CelValue> arguments,
                       const Regex* regex, CelArena* arena, int64_t* steps) {
  std::optional<Result> result = Call(arguments, regex, arena, steps).Run(function);
  if (result.has_value()) return *std::move(result);
  std::string kinds;
  for (const CelValue& argument : arguments) {
    StrAppend(&kinds, kinds.empty() ? "" : " and ", CelKindName(argument));
  }
  return absl::InvalidArgumentError(StrCat(NameOf(function), "() does not take ", kinds));
}

}  // namespace kai
