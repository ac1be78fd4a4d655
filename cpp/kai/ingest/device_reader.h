// ResourceSlice and DeviceClass -> their rows: which devices drivers publish for which nodes, and
// which devices a class selects.
//
//   return ReadForTest(&ReadResourceSlice, ...
//
// Reads resource.k8s.io v1 and v1beta2 as well as v1beta1, where a device's description is in its
// member `basic`. A selector that does not compile is kept; the error appears when the selector is
// about to run on a device.
//
// Invariants: it expects a fresh row; after a rejection, the row is incomplete and unusable.
// Unknown members are skipped. Cost: one walk over the object. Threads: functions of their own
// document and row.
#ifndef KAI_INGEST_DEVICE_READER_H_
#define KAI_INGEST_DEVICE_READER_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kai/ingest/json_reader.h"
#include "kai/model/rows/rows.h"

namespace kai {

std::optional<Rejection> ReadResourceSlice(JsonObject object, ResourceSliceRow* row);
std::optional<Rejection> ReadDeviceClass(JsonObject object, DeviceClassRow* row);

// Spec 3 D2: a device class or driver is about GPUs if its name contains "gpu" in any case.
bool NamesGpu(std::string_view name);

// A list of selectors: the CEL expression of each.
FieldStatus ReadDeviceSelectors(JsonValue& list, std::vector<std::string>* out);

}  // namespace kai

#endif  // KAI_INGEST_DEVICE_READER_H_
