#include "kai/model/rows/cluster_rows.h"

namespace kai {

ClusterRows::ClusterRows() = default;
ClusterRows::ClusterRows(const ClusterRows&) = default;
ClusterRows::ClusterRows(ClusterRows&&) noexcept = default;
ClusterRows& ClusterRows::operator=(const ClusterRows&) = default;
ClusterRows& ClusterRows::operator=(ClusterRows&&) noexcept = default;
ClusterRows::~ClusterRows() = default;

}  // namespace kai
