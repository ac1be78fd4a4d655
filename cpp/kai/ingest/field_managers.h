// Field managers: which client wrote a field of an object, from metadata.managedFields.
//
//   OwnsStatusField(object, keys::kFieldManager, "nominatedNodeName")
//
// Invariants: a field whose entry cannot be read has no owner. Cost: one walk over metadata.
// Threads: functions of their own document.
#ifndef KAI_INGEST_FIELD_MANAGERS_H_
#define KAI_INGEST_FIELD_MANAGERS_H_

#include <string_view>

#include "kai/ingest/json_reader.h"

namespace kai {

// True if the manager owns this field of the status.
bool OwnsStatusField(JsonObject object, std::string_view manager, std::string_view field);

}  // namespace kai

#endif  // KAI_INGEST_FIELD_MANAGERS_H_
