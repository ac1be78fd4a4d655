#include "kai/model/rows/rows.h"

namespace kai {

PodRow::PodRow() = default;
PodRow::PodRow(const PodRow&) = default;
PodRow::PodRow(PodRow&&) noexcept = default;
PodRow& PodRow::operator=(const PodRow&) = default;
PodRow& PodRow::operator=(PodRow&&) noexcept = default;
PodRow::~PodRow() = default;

NodeRow::NodeRow() = default;
NodeRow::NodeRow(const NodeRow&) = default;
NodeRow::NodeRow(NodeRow&&) noexcept = default;
NodeRow& NodeRow::operator=(const NodeRow&) = default;
NodeRow& NodeRow::operator=(NodeRow&&) noexcept = default;
NodeRow::~NodeRow() = default;

PodGroupRow::PodGroupRow() = default;
PodGroupRow::PodGroupRow(const PodGroupRow&) = default;
PodGroupRow::PodGroupRow(PodGroupRow&&) noexcept = default;
PodGroupRow& PodGroupRow::operator=(const PodGroupRow&) = default;
PodGroupRow& PodGroupRow::operator=(PodGroupRow&&) noexcept = default;
PodGroupRow::~PodGroupRow() = default;

}  // namespace kai
