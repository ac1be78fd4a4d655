// FillStore: the objects of a snapshot become those of a store, which lives on.
//
//   absl::StatusOr<SnapshotRows> snapshot = ReadSnapshotRows(json);
//   FillStore(&*snapshot, store)      // true
//
// Invariants: what could not be read is rejected in the store as well; versions are not known. A
// file may hold two objects of one name, which is a fault of the file, and a store has one: then
// the answer is false and the store is of no use. Cost: a hash look-up per object. Threads: those
// of the store's writer.
#ifndef KAI_STORE_FILL_STORE_H_
#define KAI_STORE_FILL_STORE_H_

#include "kai/ingest/snapshot_reader.h"
#include "kai/store/store.h"

namespace kai {

// Uses the rows up; the store has to be empty.
bool FillStore(SnapshotRows* snapshot, Store* store);

}  // namespace kai

#endif  // KAI_STORE_FILL_STORE_H_
