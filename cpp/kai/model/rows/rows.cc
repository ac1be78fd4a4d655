#include "kai/model/rows/rows.h"

#include "kai/base/heap_bytes.h"

namespace kai {

PodRow::PodRow() = default;
PodRow::PodRow(const PodRow&) = default;
PodRow::PodRow(PodRow&&) noexcept = default;
PodRow& PodRow::operator=(const PodRow&) = default;
PodRow& PodRow::operator=(PodRow&&) noexcept = default;
PodRow::~PodRow() = default;
bool PodRow::operator==(const PodRow&) const = default;

NodeRow::NodeRow() = default;
NodeRow::NodeRow(const NodeRow&) = default;
NodeRow::NodeRow(NodeRow&&) noexcept = default;
NodeRow& NodeRow::operator=(const NodeRow&) = default;
NodeRow& NodeRow::operator=(NodeRow&&) noexcept = default;
NodeRow::~NodeRow() = default;
bool NodeRow::operator==(const NodeRow&) const = default;
size_t NodeRow::HeapBytes() const { return HeapBytesOfAll(name, labels, allocatable, taints); }

PodGroupRow::PodGroupRow() = default;
PodGroupRow::PodGroupRow(const PodGroupRow&) = default;
PodGroupRow::PodGroupRow(PodGroupRow&&) noexcept = default;
PodGroupRow& PodGroupRow::operator=(const PodGroupRow&) = default;
PodGroupRow& PodGroupRow::operator=(PodGroupRow&&) noexcept = default;
PodGroupRow::~PodGroupRow() = default;
bool PodGroupRow::operator==(const PodGroupRow&) const = default;

}  // namespace kai
