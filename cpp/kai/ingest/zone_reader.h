// NodeResourceTopology -> NodeZonesRow, and what others write down about the zones that a pod has.
//
//   const NodeZonesRow row = ReadForTest(&ReadNodeZones, ...
//   ReadZoneRecord(ZoneRecordRow::Source::kObserved, text)
//
// Invariants: it expects a fresh row; with a rejection the row is half filled and of no use.
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

// spec 3 U1, U2; of v1alpha2 and, where that says nothing, of what came before it.
std::optional<Rejection> ReadNodeZones(JsonObject object, NodeZonesRow* row);

// [{"zone": "node-0", "amount": {"cpu": "8"}}]
FieldStatus ReadZoneAmounts(JsonValue& list, std::vector<ZoneAmountsRow>* zones);

// The same as the text of an annotation. One that makes no sense is no reason to do without the
// pod: the row says what is wrong.
ZoneRecordRow ReadZoneRecord(ZoneRecordRow::Source source, std::string_view text);

}  // namespace kai

#endif  // KAI_INGEST_ZONE_READER_H_
