// StorageRows: volumes, volume claims, storage classes and CSI drivers, as rows (rows.h).
//
//   PersistentVolumeClaimRow row;
//   row.storage_class = std::move(storage_class);
//
// Invariants: nothing is checked yet. Cost: plain data. Threads: plain data.
#ifndef KAI_MODEL_ROWS_STORAGE_ROWS_H_
#define KAI_MODEL_ROWS_STORAGE_ROWS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "kai/model/rows/terms.h"

namespace kai {

// A claim for storage and the state of its binding.
struct PersistentVolumeClaimRow {
  std::string namespace_name;
  std::string name;
  std::string uid;
  std::optional<int64_t> deletion_ns;
  std::string volume;           // spec.volumeName
  bool bind_completed = false;  // annotation pv.kubernetes.io/bind-completed
  bool is_lost = false;         // phase Lost
  bool is_bound = false;        // phase Bound
  std::string selected_node;    // annotation volume.kubernetes.io/selected-node
  std::string storage_class;    // by annotation or spec; empty: none
  int64_t bytes = 0;            // 0: not given
  LabelSelector selector;       // of volumes
  std::vector<std::string> access_modes;
  bool is_block = false;          // volumeMode Block
  std::string owner_pod_uid;      // for ephemeral volumes
  bool has_other_owners = false;  // in addition to that pod

  friend bool operator==(const PersistentVolumeClaimRow&,
                         const PersistentVolumeClaimRow&) = default;
};

struct PersistentVolumeRow {
  std::string name;
  StringPairs labels;
  std::optional<int64_t> deletion_ns;
  std::string storage_class;
  int64_t bytes = 0;
  std::vector<std::string> access_modes;
  bool is_block = false;
  bool is_available = false;    // phase Available
  std::string claim_namespace;  // spec.claimRef; no name: none
  std::string claim_name;
  std::string claim_uid;
  bool has_node_affinity = false;  // with no terms it matches nothing
  std::vector<NodeSelectorTerm> node_affinity;
  std::string csi_driver;  // spec.csi; empty: not a CSI volume
  std::string csi_handle;

  friend bool operator==(const PersistentVolumeRow&, const PersistentVolumeRow&) = default;
};

struct StorageClassRow {
  std::string name;
  std::string provisioner;
  bool waits_for_consumer = false;                   // volumeBindingMode
  std::vector<NodeSelectorTerm> allowed_topologies;  // any may match; none: everywhere

  friend bool operator==(const StorageClassRow&, const StorageClassRow&) = default;
};

struct CsiDriverRow {
  std::string name;
  bool reports_capacity = false;  // spec.storageCapacity

  friend bool operator==(const CsiDriverRow&, const CsiDriverRow&) = default;
};

struct CsiStorageCapacityRow {
  std::string namespace_name;
  std::string name;
  std::string storage_class;
  // nodeTopology; absent: no node has access, or every node (spec 3 P12)
  std::optional<LabelSelector> nodes;
  std::optional<int64_t> bytes;
  std::optional<int64_t> largest_volume_bytes;

  friend bool operator==(const CsiStorageCapacityRow&, const CsiStorageCapacityRow&) = default;
};

// The CSI drivers of the node with that name.
struct CsiNodeRow {
  std::string name;
  std::vector<std::pair<std::string, int64_t>> most_volumes;  // by driver; missing: any number

  friend bool operator==(const CsiNodeRow&, const CsiNodeRow&) = default;
};

// A claim that is not in the list does not exist: pods that use it wait.
struct StorageRows {
  std::vector<PersistentVolumeClaimRow> claims;
  std::vector<PersistentVolumeRow> volumes;
  std::vector<StorageClassRow> classes;
  std::vector<CsiDriverRow> drivers;
  std::vector<CsiStorageCapacityRow> capacities;
  std::vector<CsiNodeRow> nodes;
};

}  // namespace kai

#endif  // KAI_MODEL_ROWS_STORAGE_ROWS_H_
