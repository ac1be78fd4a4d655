// Pod -> PodRow.
//
//   PodRow row;
//   if (std::optional<Rejection> rejection = ReadPod(object, &row)) ...    // left out whole
//
// Requests are added up here (spec 3 R1-R3), the GPU annotations understood (R12-R19), and template
// claims resolved; everything else stays as the object says it. Expects a fresh row; with a
// rejection the row is half filled and of no use.
#ifndef KAI_INGEST_POD_READER_H_
#define KAI_INGEST_POD_READER_H_

#include <optional>

#include "kai/ingest/json_reader.h"
#include "kai/model/rows.h"

namespace kai {

std::optional<Rejection> ReadPod(JsonObject object, PodRow* row);

}  // namespace kai

#endif  // KAI_INGEST_POD_READER_H_
