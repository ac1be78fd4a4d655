// What CEL expressions compute with.
//
//   const CelOrder compared = CelCompare(a, b);
//   return CelValue(CelEqual(a, b, &steps_));
//
// Invariants: a value looks at texts, lists and versions, and owns none: they live in the program,
// the device or the evaluation's CelArena. Cost: O(1), comparing lists a step per item. Threads:
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

// Small and copied freely: texts, lists and versions are looked at, not owned. They live in the
// program, in the device or in the evaluation's CelArena.
using CelValue = std::variant<bool, int64_t, uint64_t, double, std::string_view, Quantity,
                              const Semver*, const CelList*, const Device*,  // the variable device
                              const ByDomain<AttributeValue>*, const ByName<AttributeValue>*,
                              const ByDomain<DeviceCapacity>*, const ByName<DeviceCapacity>*>;

struct CelList {
  std::vector<CelValue> items;
};

// What one evaluation builds. Deques: what lies there does not move.
struct CelArena {
  std::deque<std::string> texts;
  std::deque<CelList> lists;
  std::deque<Semver> versions;
};

// "int", "string", "map", ...: for messages.
std::string_view CelKindName(const CelValue& value);

CelValue CelValueOf(const AttributeValue& attribute);

// Numbers compare by what they mean, whatever their kinds; values of different kinds are unequal.
// Takes a step per comparison, and is false when they end. Maps equal nothing.
bool CelEqual(const CelValue& a, const CelValue& b, int64_t* steps);

// Numbers among each other, else two of the same kind: bool, string, quantity or version. Null:
// there is no order between the two kinds. NaN is in no order with any number.
struct CelOrder {
  bool exists = false;
  std::partial_ordering order = std::partial_ordering::unordered;
};
CelOrder CelCompare(const CelValue& a, const CelValue& b);

}  // namespace kai

#endif  // KAI_DRA_CEL_VALUE_H_
