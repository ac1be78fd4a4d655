// BindRequest -> BindRequestRow.
//
//   const BindRequestRow row = ReadForTest(&ReadBindRequest, ...
//
// Invariants: it expects a fresh row; after a rejection, the row is incomplete and unusable.
// Unknown members are skipped. Cost: one walk over the object. Threads: functions of their own
// document and row.
#ifndef KAI_INGEST_BIND_REQUEST_READER_H_
#define KAI_INGEST_BIND_REQUEST_READER_H_

#include <optional>

#include "kai/ingest/json_reader.h"
#include "kai/model/rows/rows.h"

namespace kai {

std::optional<Rejection> ReadBindRequest(JsonObject object, BindRequestRow* row);

}  // namespace kai

#endif  // KAI_INGEST_BIND_REQUEST_READER_H_
