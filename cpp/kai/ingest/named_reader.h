// Kinds that need little more than a name: ConfigMap and Namespace.
//
//   const ConfigMapRow map = ReadForTest(&ReadConfigMap, ...
//
// Invariants: it expects a fresh row; after a rejection, the row is incomplete and unusable.
// Unknown members are skipped. Cost: one walk over the object. Threads: functions of their own
// document and row.
#ifndef KAI_INGEST_NAMED_READER_H_
#define KAI_INGEST_NAMED_READER_H_

#include <optional>

#include "kai/ingest/json_reader.h"
#include "kai/model/rows/rows.h"

namespace kai {

std::optional<Rejection> ReadConfigMap(JsonObject object, ConfigMapRow* row);
std::optional<Rejection> ReadNamespace(JsonObject object, NamespaceRow* row);

}  // namespace kai

#endif  // KAI_INGEST_NAMED_READER_H_
