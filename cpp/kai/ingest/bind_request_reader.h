// BindRequest -> BindRequestRow. Expects a fresh row; with a rejection the row is half filled and
// of no use.
#ifndef KAI_INGEST_BIND_REQUEST_READER_H_
#define KAI_INGEST_BIND_REQUEST_READER_H_

#include <optional>

#include "kai/ingest/json_reader.h"
#include "kai/model/rows.h"

namespace kai {

std::optional<Rejection> ReadBindRequest(JsonObject object, BindRequestRow* row);

}  // namespace kai

#endif  // KAI_INGEST_BIND_REQUEST_READER_H_
