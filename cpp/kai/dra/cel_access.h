// Access to lists, maps and the device from CEL expressions.
//
//   return CelSelect(node, holder);      // device.driver
//
// Invariants: in the maps of the device, an unused domain exists and is empty; an unused name is an
// error. Cost: O(log names); a search of a list takes one step per item. Threads: pure functions of
// their arguments.
#ifndef KAI_DRA_CEL_ACCESS_H_
#define KAI_DRA_CEL_ACCESS_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "kai/dra/cel_program.h"
#include "kai/dra/cel_value.h"

namespace kai {

// holder.text: a field of the device, or an entry of a map. In the maps of the device, a domain
// without attributes exists and is empty; an unused name is an error.
absl::StatusOr<CelValue> CelSelect(const CelNode& node, const CelValue& holder);

// has(holder.text). True for any domain, as unused ones are empty maps.
absl::StatusOr<CelValue> CelHas(const CelNode& node, const CelValue& holder);

// holder[index].
absl::StatusOr<CelValue> CelIndex(const CelNode& node, const CelValue& holder,
                                  const CelValue& index);

// item in holder: in a list, or among the keys of a map. Domains without attributes are not keys.
absl::StatusOr<CelValue> CelContains(const CelNode& node, const CelValue& item,
                                     const CelValue& holder, int64_t* steps);

// The items that a macro loops over: a list, or the keys of a map. Null for other kinds.
const CelList* CelRange(const CelValue& value, CelArena* arena, int64_t* steps);

}  // namespace kai

#endif  // KAI_DRA_CEL_ACCESS_H_
