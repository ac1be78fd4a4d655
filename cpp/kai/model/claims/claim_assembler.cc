#include "kai/model/claims/claim_assembler.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "kai/model/building/row_lookup.h"
#include "kai/model/claims/volume_desk.h"

namespace kai {
ClaimAssembler::ClaimAssembler(const NodeColumns& nodes, const std::vector<const NodeRow*>& rows,
                               bool is_served, SelectorCache* selectors, Interner* names,
                               ClaimBook* book)
    : book_(*book), names_(*names), selectors_(*selectors), nodes_(rows) {
  book_.nodes_ = &nodes;
  book_.names_ = names;
  book_.node_name_field_ = names_.Intern("metadata.name");
  book_.is_served_ = is_served;
  book_.pools_ = IndexVector<NodeId, std::unique_ptr<ClaimBook::NodePools>>(rows.size());
}

void ClaimAssembler::AddClasses(const std::vector<const DeviceClassRow*>& rows) {
  book_.classes_.reserve(rows.size());  // requests point to the classes
  for (const DeviceClassRow* row : rows) {
    book_.classes_.push_back({.name = row->name, .selectors = SelectorsOf(row->selectors)});
    classes_.emplace(row->name, &book_.classes_.back());
  }
}

void ClaimAssembler::AddSlices(std::vector<const ResourceSliceRow*> rows,
                               const Directory& directory) {
  std::sort(rows.begin(), rows.end(), [](const ResourceSliceRow* a, const ResourceSliceRow* b) {
    return std::tie(a->slice.driver, a->slice.pool, a->name) <
           std::tie(b->slice.driver, b->slice.pool, b->name);
  });
  std::vector<ResourceSlice> slices;
  std::vector<DeviceMap::Reach> reaches;
  for (const ResourceSliceRow* row : rows) {
    DeviceMap::Reach& reach = reaches.emplace_back();
    reach.is_local = !row->node.empty();
    reach.node = directory.FindNode(row->node);
    reach.all = row->all_nodes;
    for (const NodeSelectorTerm& term : row->node_selector)
      reach.terms.push_back(InternNodeTerm(term, &names_));
    slices.push_back(row->slice);
  }
  book_.devices_ = DeviceMap(std::move(slices), std::move(reaches));
  book_.pool_version_.resize(book_.devices_.pools());
}

ClaimId ClaimAssembler::Add(Claim claim) {
  book_.allocation_.Add(nullptr);
  book_.consumers_.Add({});
  return book_.claims_.Add(std::move(claim));
}

void ClaimAssembler::AddClaims(const std::vector<const ResourceClaimRow*>& rows,
                               std::string_view queue_label_key) {
  for (const ResourceClaimRow* row : rows) {
    const std::string* label = FindLabelText(row->labels, queue_label_key);
    const ClaimId id = Add({.namespace_name = names_.Intern(row->namespace_name),
                            .name = names_.Intern(row->name),
                            .spec = SpecOf(row->spec),
                            .gpus = row->gpus,
                            .queue_label = label == nullptr ? NameId() : names_.Intern(*label)});
    if (row->allocation) book_.SetAllocation(id, AllocationOf(*row->allocation));
    claims_.emplace(std::pair(book_.claims_[id].namespace_name, book_.claims_[id].name), id);
    if (row->for_extended_resource && !row->owner_pod.empty()) {
      made_for_[QualifiedName(row->namespace_name, row->owner_pod)].emplace_back(row->owner_uid,
                                                                                 id);
    }
  }
}

std::vector<DeviceSelector> ClaimAssembler::SelectorsOf(
    const std::vector<std::string>& expressions) const {
  std::vector<DeviceSelector> selectors;
  for (const std::string& expression : expressions) selectors.push_back(selectors_.Get(expression));
  return selectors;
}

DeviceRequest ClaimAssembler::RequestOf(const DeviceChoiceRow& row) const {
  const auto device_class = classes_.find(row.class_name);
  return {.name = row.name,
          .class_name = row.class_name,
          .device_class = device_class == classes_.end() ? nullptr : device_class->second,
          .selectors = SelectorsOf(row.selectors),
          .mode = row.mode.empty() || row.mode == "ExactCount" ? AllocationMode::kExactCount
                  : row.mode == "All"                          ? AllocationMode::kAll
                                                               : AllocationMode::kUnknown,
          .count = std::max<int64_t>(row.count, 1),
          .admin_access = row.admin_access,
          .capacity = row.capacity};
}

int32_t ClaimAssembler::SpecOf(const ClaimSpecRow& row) {
  const auto [found, added] = specs_.try_emplace(row, static_cast<int32_t>(book_.specs_.size()));
  if (!added) return found->second;
  ClaimSpec spec;
  spec.constraints = row.constraints;
  const auto require_class = [&](const DeviceRequestRow& of, const DeviceRequest& asked) {
    if (asked.device_class == nullptr && !spec.missing_class)
      spec.missing_class = {of.exactly.name, asked.class_name};
  };
  for (const DeviceRequestRow& each : row.requests) {
    DeviceRequest request = RequestOf(each.exactly);
    if (each.first_available.empty()) require_class(each, request);
    for (const DeviceChoiceRow& choice : each.first_available) {
      request.first_available.push_back(RequestOf(choice));
      require_class(each, request.first_available.back());
    }
    spec.requests.push_back(std::move(request));
  }
  book_.specs_.push_back(std::move(spec));
  return found->second;
}

int32_t ClaimAssembler::SpecOf(ExtendedClaim claim) {
  const auto [found, added] =
      extended_specs_.try_emplace(std::move(claim), static_cast<int32_t>(book_.specs_.size()));
  if (!added) return found->second;
  ClaimSpec spec;
  for (const ExtendedClaim::Request& each : found->first.requests) {
    DeviceChoiceRow row;
    row.name = each.name;
    row.class_name = each.class_name;
    row.count = each.count;
    spec.requests.push_back(RequestOf(row));
    spec.plugins.push_back(PluginOf(each.resource));
  }
  spec.extended = found->first;
  book_.specs_.push_back(std::move(spec));
  return found->second;
}

int32_t ClaimAssembler::PluginOf(const std::string& resource) {
  const auto [found, added] =
      plugins_.try_emplace(resource, static_cast<int32_t>(book_.has_plugin_.size()));
  if (!added) return found->second;
  IndexVector<NodeId, uint8_t>& has = book_.has_plugin_.emplace_back();
  for (const NodeRow* node : nodes_) has.Add(AmountOf(node->allocatable, resource) != 0 ? 1 : 0);
  return found->second;
}

ClaimAllocationPtr ClaimAssembler::AllocationOf(const ClaimAllocationRow& row) {
  auto allocation = std::make_shared<ClaimAllocation>();
  for (const ClaimAllocationRow::Given& given : row.devices) {
    allocation->devices.push_back(
        {.request = given.request, .device = given.device, .admin_access = given.admin_access});
  }
  allocation->anywhere = !row.has_node_selector;
  for (const NodeSelectorTerm& term : row.node_selector)
    allocation->nodes.push_back(InternNodeTerm(term, &names_));
  return allocation;
}

}  // namespace kai
