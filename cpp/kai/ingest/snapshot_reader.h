// ReadSnapshot: reads the bytes of a KAI snapshot.json into a Cluster and the configuration that it
// ran with.
//
//   const absl::StatusOr<SnapshotFile> file = ReadSnapshot(kSmall);
//   file->cluster->rejections()      // rejected objects, each with kind, name and field
//   file->config_json                // for the parser in session/config.h
//
// The text is {"config", "schedulerParams", "rawObjects": {"pods": [...], ...}, ...} (spec 2 L7),
// or an object with it as the member "snapshot", as in recorded cases. We add three members to
// KAI's: "usage", {queue: {"gpu", "cpu", "memory"}}, the past usage of queues; "now", the time of
// the snapshot; and "memory", what a scheduler remembered (engine/memory.h).
//
// Invariants: an error in one object rejects that object only; an error in the text as a whole (not
// JSON, cut off, no rawObjects, invalid schedulerParams) is one InvalidArgument sentence. Reading
// never crashes, on any bytes. Cost: linear in the bytes, plus building a cluster from the rows.
// Threads: pure functions, thread-safe.
#ifndef KAI_INGEST_SNAPSHOT_READER_H_
#define KAI_INGEST_SNAPSHOT_READER_H_

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "kai/model/columns/cluster.h"
#include "kai/model/rows/cluster_rows.h"

namespace kai {

struct SnapshotFile {
  std::unique_ptr<Cluster> cluster;
  ShardParams params;
  std::string config_json;  // the members `config` and `memory` as written; empty if absent
  std::string memory_json;
  std::string now;                    // the member `now`; empty if absent
  std::vector<std::string> warnings;  // unknown members of schedulerParams
};

absl::StatusOr<SnapshotFile> ReadSnapshot(std::string_view json);

// The same without building the cluster, in the order of the input: for tests, and for callers that
// change the rows before building.
struct SnapshotRows {
  ClusterRows cluster;
  PastUsages past_usages;  // also in the rows of the queues
  std::string config_json;
  std::string memory_json;
  std::string now;
  std::vector<std::string> warnings;
};

absl::StatusOr<SnapshotRows> ReadSnapshotRows(std::string_view json);

// The known members of schedulerParams, each with its own known members.
std::vector<std::pair<std::string, std::vector<std::string>>> SchedulerParamNames();

}  // namespace kai

#endif  // KAI_INGEST_SNAPSHOT_READER_H_
