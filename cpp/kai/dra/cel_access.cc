#include "kai/dra/cel_access.h"

#include <algorithm>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>

#include "kai/base/quote.h"
#include "kai/base/text.h"
#include "kai/dra/cel_errors.h"
#include "kai/dra/cel_lexer.h"

namespace kai {
namespace {

using Result = absl::StatusOr<CelValue>;

template <typename T>
inline constexpr bool kIsDomains = std::is_same_v<T, const ByDomain<AttributeValue>*> ||
                                   std::is_same_v<T, const ByDomain<DeviceCapacity>*>;
template <typename T>
inline constexpr bool kIsNames = std::is_same_v<T, const ByName<AttributeValue>*> ||
                                 std::is_same_v<T, const ByName<DeviceCapacity>*>;

CelValue ValueOf(const AttributeValue& attribute) { return CelValueOf(attribute); }
CelValue ValueOf(const DeviceCapacity& capacity) { return capacity.value; }

// map[key]; an unused domain is empty.
Result Look(const CelNode& node, const CelValue& map, std::string_view key) {
  return std::visit(
      [&](const auto& value) -> Result {
        using T = std::decay_t<decltype(value)>;
        if constexpr (kIsDomains<T>) {
          static const auto* const kEmpty =
              new typename std::remove_const_t<std::remove_pointer_t<T>>::mapped_type();
          const auto found = value->find(key);
          return CelValue(found == value->end() ? std::as_const(kEmpty) : &found->second);
        } else if constexpr (kIsNames<T>) {
          const auto found = value->find(key);
          if (found != value->end()) return ValueOf(found->second);
          return CelError(node.position, StrCat("the device has no ", Quote(key), " here"));
        } else {
          return CelWrongKind(node, map);
        }
      },
      map);
}

}  // namespace

const CelList* CelRange(const CelValue& value, CelArena* arena, int64_t* steps) {
  return std::visit(
      [&](const auto& range) -> const CelList* {
        using T = std::decay_t<decltype(range)>;
        if constexpr (std::is_same_v<T, const CelList*>) {
          return range;
        } else if constexpr (kIsDomains<T> || kIsNames<T>) {
          CelList& keys = arena->lists.emplace_back();
          for (const auto& [key, entry] : *range) keys.items.push_back(std::string_view(key));
          *steps -= static_cast<int64_t>(keys.items.size());
          return &keys;
        } else {
          return nullptr;
        }
      },
      value);
}

Result CelSelect(const CelNode& node, const CelValue& holder) {
  const auto* device = std::get_if<const Device*>(&holder);
  if (device == nullptr) return Look(node, holder, node.text);
  if (node.text == "driver") return CelValue(std::string_view((*device)->driver));
  if (node.text == "attributes") return CelValue(&(*device)->attributes);
  if (node.text == "capacity") return CelValue(&(*device)->capacity);
  if (node.text == "allowMultipleAllocations") {
    return CelValue((*device)->allow_multiple_allocations);
  }
  return CelError(node.position, StrCat("a device has no field ", Quote(node.text)));
}

Result CelHas(const CelNode& node, const CelValue& holder) {
  return std::visit(
      [&](const auto& value) -> Result {
        using T = std::decay_t<decltype(value)>;
        if constexpr (kIsDomains<T>) {
          return CelValue(true);  // an unused domain is an empty map
        } else if constexpr (kIsNames<T>) {
          return CelValue(value->find(node.text) != value->end());
        } else if constexpr (std::is_same_v<T, const Device*>) {
          return CelValue(CelSelect(node, holder).ok());
        } else {
          return CelWrongKind(node, holder);
        }
      },
      holder);
}

Result CelIndex(const CelNode& node, const CelValue& holder, const CelValue& index) {
  if (const auto* const* list = std::get_if<const CelList*>(&holder)) {
    const auto* at = std::get_if<int64_t>(&index);
    if (at == nullptr) return CelWrongKinds(node, holder, index);
    if (*at < 0 || *at >= static_cast<int64_t>((*list)->items.size())) {
      return CelError(node.position, StrCat("the list has no item ", *at));
    }
    return (*list)->items[static_cast<size_t>(*at)];
  }
  const auto* key = std::get_if<std::string_view>(&index);
  if (key == nullptr) return CelWrongKinds(node, holder, index);
  return Look(node, holder, *key);
}

Result CelContains(const CelNode& node, const CelValue& item, const CelValue& holder,
                   int64_t* steps) {
  return std::visit(
      [&](const auto& value) -> Result {
        using T = std::decay_t<decltype(value)>;
        if constexpr (std::is_same_v<T, const CelList*>) {
          return CelValue(std::any_of(
              value->items.begin(), value->items.end(),
              [&](const CelValue& candidate) { return CelEqual(item, candidate, steps); }));
        } else if constexpr (kIsDomains<T> || kIsNames<T>) {
          const auto* key = std::get_if<std::string_view>(&item);
          return CelValue(key != nullptr && value->find(*key) != value->end());
        } else {
          return CelWrongKinds(node, item, holder);
        }
      },
      holder);
}

}  // namespace kai
