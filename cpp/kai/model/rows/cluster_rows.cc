#include "kai/model/rows/cluster_rows.h"

#include <algorithm>
#include <string>
#include <string_view>

namespace kai {

ClusterRows::ClusterRows() = default;
ClusterRows::ClusterRows(const ClusterRows&) = default;
ClusterRows::ClusterRows(ClusterRows&&) noexcept = default;
ClusterRows& ClusterRows::operator=(const ClusterRows&) = default;
ClusterRows& ClusterRows::operator=(ClusterRows&&) noexcept = default;
ClusterRows::~ClusterRows() = default;

void ClusterRows::SwapNodeNames(std::string_view one, std::string_view other) {
  const auto swap = [one, other](std::string* name) {
    if (*name == one) {
      *name = other;
    } else if (*name == other) {
      *name = one;
    }
  };
  for (NodeRow& each : nodes) swap(&each.name);
  for (PodRow& each : pods) {
    swap(&each.node_name);
    swap(&each.nominated_node);
    for (std::string& name : each.avoided_nodes) swap(&name);
    std::ranges::sort(each.avoided_nodes);
  }
  for (BindRequestRow& each : bind_requests) swap(&each.node);
  for (ResourceSliceRow& each : slices) swap(&each.node);
  for (NodeZonesRow& each : zones) swap(&each.name);
  for (CsiNodeRow& each : storage.nodes) swap(&each.name);
  for (PersistentVolumeClaimRow& each : storage.claims) swap(&each.selected_node);
}

}  // namespace kai
