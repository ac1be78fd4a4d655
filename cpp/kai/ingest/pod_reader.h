// Pod -> PodRow.
//
//   PodRow Read(std::string_view json) { return ReadForTest(&ReadPod, json); }
//
// The reader adds up requests (spec 3 R1-R3), evaluates the GPU annotations (spec 3 R12-R19) and
// resolves claims from templates; all other values are unchanged.
//
// Invariants: it expects a fresh row; after a rejection, the row is incomplete and unusable.
// Unknown members are skipped. Cost: one walk over the object. Threads: functions of their own
// document and row.
#ifndef KAI_INGEST_POD_READER_H_
#define KAI_INGEST_POD_READER_H_

#include <optional>

#include "kai/ingest/json_reader.h"
#include "kai/model/rows/rows.h"

namespace kai {

std::optional<Rejection> ReadPod(JsonObject object, PodRow* row);

}  // namespace kai

#endif  // KAI_INGEST_POD_READER_H_
