// FillStore: moves the objects of a snapshot into a store.
//
//   absl::StatusOr<SnapshotRows> snapshot = ReadSnapshotRows(json);
//   FillStore(&*snapshot, store)      // true
//
// Invariants: objects that could not be read are rejected in the store, too; versions are unknown.
// A file may wrongly contain two objects of one name, but a store has only one: then the result is
// false and the store is unusable. Cost: a hash look-up per object. Threads: those of the store's
// writer.
#ifndef KAI_STORE_FILL_STORE_H_
#define KAI_STORE_FILL_STORE_H_

#include "kai/ingest/snapshot_reader.h"
#include "kai/store/store.h"

namespace kai {

// Moves the rows out of the snapshot; the store must be empty.
bool FillStore(SnapshotRows* snapshot, Store* store);

}  // namespace kai

#endif  // KAI_STORE_FILL_STORE_H_
