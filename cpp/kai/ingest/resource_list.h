// Resource lists ({"cpu": "500m", "nvidia.com/gpu": 1}) in the units of spec 3 R5, and arithmetic
// on them that saturates.
//
//   return ForEachResource(value, [&](ResourceKind, std::string_view name, int64_t amount) {
//   SetAmount(&amounts, name, amount);
//
// Invariants: an amount is in the unit of its kind and not negative; a list has at most
// kMostResources. Cost: names are searched one by one: O(resources) each. Threads: pure functions
// of their arguments.
#ifndef KAI_INGEST_RESOURCE_LIST_H_
#define KAI_INGEST_RESOURCE_LIST_H_

#include <cstdint>
#include <string_view>

#include "kai/base/quantity.h"
#include "kai/base/saturating.h"
#include "kai/ingest/json_reader.h"
#include "kai/model/rows/rows.h"

namespace kai {

// How a resource is counted, from its name.
enum class ResourceKind : uint8_t {
  kIgnored,  // not used by the scheduler
  kCpu,      // millicores
  kBytes,    // memory, ephemeral-storage, storage
  kGpu,      // whole devices
  kMig,      // whole instances
  kPods,     // units
  kScalar,   // all other accepted ones, in milli-units
};
ResourceKind KindOfResource(std::string_view name);

// A quantity in the unit of its kind. A negative amount or a fraction of a device is an error.
FieldStatus ReadAmount(JsonValue& value, ResourceKind kind, int64_t* amount);

// Any amount with all its digits, also a negative one.
FieldStatus ReadQuantity(JsonValue& value, Quantity* out);

// More different resources in one place are an error: sums search names one by one, and real lists
// have at most a few dozen.
inline constexpr size_t kMostResources = 1000;
FieldStatus TooManyResources();

// Calls take(kind, name, amount) for every resource that is not ignored; of two with one name, the
// last counts.
template <typename Take>
FieldStatus ForEachResource(JsonValue& list, Take&& take) {
  size_t resources = 0;
  return ForEachEntry(list, [&](std::string_view name, JsonValue& value) {
    const ResourceKind kind = KindOfResource(name);
    if (kind == ResourceKind::kIgnored) return Skip();
    if (++resources > kMostResources) return TooManyResources();
    int64_t amount = 0;
    KAI_RETURN_IF_BAD(ReadAmount(value, kind, &amount));
    take(kind, name, amount);
    return FieldStatus();
  });
}

void SetAmount(ResourceAmounts* amounts, std::string_view name, int64_t amount);
void AddAmounts(ResourceAmounts* sum, const ResourceAmounts& more);
void MaxAmounts(ResourceAmounts* most, const ResourceAmounts& other);  // element-wise

}  // namespace kai

#endif  // KAI_INGEST_RESOURCE_LIST_H_
