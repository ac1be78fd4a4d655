// Pod -> PodRow.
//
//   PodRow Read(std::string_view json) { return ReadForTest(&ReadPod, json); }
//
// Requests are added up here (spec 3 R1-R3), the GPU annotations understood (spec 3 R12-R19), and
// template claims resolved; everything else stays as the object says it.
//
// Invariants: it expects a fresh row; with a rejection the row is half filled and of no use.
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
