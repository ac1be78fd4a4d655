// ResourceSlice and DeviceClass -> their rows: which devices drivers publish, for which nodes, and
// how classes choose among them.
//
//   return ReadForTest(&ReadResourceSlice, ...
//
// Understands resource.k8s.io v1 and v1beta2 as well as v1beta1, where what describes a device lies
// in its member `basic`. A selector that makes no sense is kept: it hurts when a device is compared
// with it.
//
// Invariants: it expects a fresh row; with a rejection the row is half filled and of no use.
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

// Spec 3 D2: a device class or driver is one of GPUs when its name says so, in whatever case.
bool NamesGpu(std::string_view name);

// A list of selectors: their expressions in CEL.
FieldStatus ReadDeviceSelectors(JsonValue& list, std::vector<std::string>* out);

}  // namespace kai

#endif  // KAI_INGEST_DEVICE_READER_H_
