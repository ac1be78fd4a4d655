// Kinds of which hardly more than the name matters: ConfigMap and Namespace.
#ifndef KAI_INGEST_NAMED_READER_H_
#define KAI_INGEST_NAMED_READER_H_

#include <optional>

#include "kai/ingest/json_reader.h"
#include "kai/model/rows.h"

namespace kai {

std::optional<Rejection> ReadConfigMap(JsonObject object, ConfigMapRow* row);
std::optional<Rejection> ReadNamespace(JsonObject object, NamespaceRow* row);

}  // namespace kai

#endif  // KAI_INGEST_NAMED_READER_H_
