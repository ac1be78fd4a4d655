// Who wrote a field of an object, as the API server keeps it in metadata.managedFields.
//
//   OwnsStatusField(object, keys::kFieldManager, "nominatedNodeName")
//
// Invariants: what cannot be read has no owner. Cost: one walk over metadata. Threads: functions of
// their own document.
#ifndef KAI_INGEST_FIELD_MANAGERS_H_
#define KAI_INGEST_FIELD_MANAGERS_H_

#include <string_view>

#include "kai/ingest/json_reader.h"

namespace kai {

// Whether the manager is an owner of that member of the status.
bool OwnsStatusField(JsonObject object, std::string_view manager, std::string_view field);

}  // namespace kai

#endif  // KAI_INGEST_FIELD_MANAGERS_H_
