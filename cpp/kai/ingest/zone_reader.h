// NodeResourceTopology -> NodeZonesRow, and annotations that record the zones of a pod.
//
//   const NodeZonesRow row = ReadForTest(&ReadNodeZones, ...
//   ReadZoneRecord(ZoneRecordRow::Source::kObserved, text)
//
// Invariants: it expects a fresh row; after a rejection, the row is incomplete and unusable.
// Unknown members are skipped. Cost: one walk over the object. Threads: functions of their own
// document and row.
#ifndef KAI_INGEST_ZONE_READER_H_
#define KAI_INGEST_ZONE_READER_H_

#include <optional>
#include <string_view>
#include <vector>

#include "kai/ingest/json_reader.h"
#include "kai/model/rows/rows.h"

namespace kai {

// spec 3 U1, U2; reads v1alpha2, and the older format if that is missing.
std::optional<Rejection> ReadNodeZones(JsonObject object, NodeZonesRow* row);

// [{"zone": "node-0", "amount": {"cpu": "8"}}]
FieldStatus ReadZoneAmounts(JsonValue& list, std::vector<ZoneAmountsRow>* zones);

// The same list as the text of an annotation. An invalid one does not reject the pod: the row has
// the problem.
ZoneRecordRow ReadZoneRecord(ZoneRecordRow::Source source, std::string_view text);

}  // namespace kai

#endif  // KAI_INGEST_ZONE_READER_H_
