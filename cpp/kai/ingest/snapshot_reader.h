// ReadSnapshot: the bytes of a KAI snapshot.json in; a Cluster, and the configuration it ran with,
// out.
//
//   const absl::StatusOr<SnapshotFile> file = ReadSnapshot(kSmall);
//   file->cluster->rejections()      // what was left out, each with kind, name and field
//   file->config_json                // for the parser of session/config.h
//
// The text is {"config", "schedulerParams", "rawObjects": {"pods": [...], ...}, ...} (spec 2 L7),
// or an object around it with the member "snapshot", as recorded cases have. Ours beside KAI's:
// "usage", {queue: {"gpu", "cpu", "memory"}}, what queues have used in the past.
//
// Invariants: what is wrong in one object costs that object; what is wrong with the text as a whole
// (no JSON, cut off, no rawObjects, nonsense in schedulerParams) is one InvalidArgument sentence.
// Reading never crashes, whatever the bytes are. Cost: linear in the bytes, and a cluster built of
// the rows. Threads: pure functions, thread-safe.
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
  std::string config_json;            // the member `config` as it was written; empty when absent
  std::vector<std::string> warnings;  // members of schedulerParams that are not known
};

absl::StatusOr<SnapshotFile> ReadSnapshot(std::string_view json);

// The same up to the rows, in the order of the input: for tests, and for callers that change
// the rows before building.
struct SnapshotRows {
  ClusterRows cluster;
  PastUsages past_usages;  // also in the rows of the queues
  std::string config_json;
  std::vector<std::string> warnings;
};

absl::StatusOr<SnapshotRows> ReadSnapshotRows(std::string_view json);

// The members of schedulerParams that are known, and those of its members that have some.
std::vector<std::pair<std::string, std::vector<std::string>>> SchedulerParamNames();

}  // namespace kai

#endif  // KAI_INGEST_SNAPSHOT_READER_H_
