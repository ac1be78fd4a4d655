// The kinds that define where a pod's volumes are reachable or can be provisioned:
// PersistentVolumeClaim, PersistentVolume, StorageClass, CSIDriver, CSINode and CSIStorageCapacity.
//
//   const StorageClassRow row = ReadForTest(&ReadStorageClass, ...
//
// Invariants: it expects a fresh row; after a rejection, the row is incomplete and unusable.
// Unknown members are skipped. Cost: one walk over the object. Threads: functions of their own
// document and row.
#ifndef KAI_INGEST_STORAGE_READER_H_
#define KAI_INGEST_STORAGE_READER_H_

#include <optional>

#include "kai/ingest/json_reader.h"
#include "kai/model/rows/rows.h"

namespace kai {

std::optional<Rejection> ReadPersistentVolumeClaim(JsonObject object,
                                                   PersistentVolumeClaimRow* row);
std::optional<Rejection> ReadPersistentVolume(JsonObject object, PersistentVolumeRow* row);
std::optional<Rejection> ReadStorageClass(JsonObject object, StorageClassRow* row);
std::optional<Rejection> ReadCsiDriver(JsonObject object, CsiDriverRow* row);
std::optional<Rejection> ReadCsiNode(JsonObject object, CsiNodeRow* row);
std::optional<Rejection> ReadCsiStorageCapacity(JsonObject object, CsiStorageCapacityRow* row);

}  // namespace kai

#endif  // KAI_INGEST_STORAGE_READER_H_
