// The values of CEL expressions.
//
//   const CelOrder compared = CelCompare(a, b);
//   return CelValue(CelEqual(a, b, &steps_));
//
// Invariants: a value refers to texts, lists and versions but owns none: the program, the device or
// the evaluation's CelArena owns them. Cost: O(1); comparing lists takes a step per item. Threads:
// plain values.
#ifndef KAI_DRA_CEL_VALUE_H_
#define KAI_DRA_CEL_VALUE_H_

#include <compare>
#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "kai/base/quantity.h"
#include "kai/dra/device.h"

namespace kai {

struct CelList;

// Small and cheap to copy: texts, lists and versions are references to the program, the device or
// the evaluation's CelArena.
using CelValue = std::variant<bool, int64_t, uint64_t, double, std::string_view, Quantity,
                              const Semver*, const CelList*, const Device*,  // the variable device
                              const ByDomain<AttributeValue>*, const ByName<AttributeValue>*,
                              const ByDomain<DeviceCapacity>*, const ByName<DeviceCapacity>*>;

struct CelList {
  std::vector<CelValue> items;
};

// The values that one evaluation builds. Elements of a deque do not move.
struct CelArena {
  std::deque<std::string> texts;
  std::deque<CelList> lists;
  std::deque<Semver> versions;
};

// "int", "string", "map", ...: for error messages.
std::string_view CelKindName(const CelValue& value);

CelValue CelValueOf(const AttributeValue& attribute);

// Numbers are equal if their values are, also across kinds; other values of different kinds are
// unequal. Takes a step per comparison, and is false when the steps end. Maps are equal to nothing.
bool CelEqual(const CelValue& a, const CelValue& b, int64_t* steps);

// Compares two numbers of any kinds, or two values of one kind: bool, string, quantity or version.
// Empty if the two kinds have no order. NaN is unordered with every number.
struct CelOrder {
  bool exists = false;
  std::partial_ordering order = std::partial_ordering::unordered;
};
CelOrder CelCompare(const CelValue& a, const CelValue& b);

}  // namespace kai

#endif  // KAI_DRA_CEL_VALUE_H_
