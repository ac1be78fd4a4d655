// Topology -> TopologyRow (spec 4 T1, T2). Expects a fresh row; with a rejection the row is half
// filled and of no use.
#ifndef KAI_INGEST_TOPOLOGY_READER_H_
#define KAI_INGEST_TOPOLOGY_READER_H_

#include <optional>

#include "kai/ingest/json_reader.h"
#include "kai/model/rows.h"

namespace kai {

std::optional<Rejection> ReadTopology(JsonObject object, TopologyRow* row);

}  // namespace kai

#endif  // KAI_INGEST_TOPOLOGY_READER_H_
