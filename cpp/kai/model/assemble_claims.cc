// Resource claims: what they ask for and hold, the slices that devices are published in, and what
// the claims of each pod ask of nodes (spec 3 §12).
#include <algorithm>
#include <map>
#include <tuple>

#include "kai/model/cluster_assembler.h"
#include "kai/model/row_lookup.h"

namespace kai {
namespace {

std::vector<DeviceSelector> Compile(const std::vector<std::string>& expressions) {
  std::vector<DeviceSelector> selectors;
  for (const std::string& expression : expressions)
    selectors.push_back(CelSelector::Compile(expression));
  return selectors;
}

// Rows that share a name all go; rows without one are of tests that count GPUs and nothing else.
template <typename Row, typename KeyOf>
std::vector<Row*> UniqueAndNamed(std::vector<Row>* rows, const char* kind, const KeyOf& key,
                                 std::vector<Rejection>* rejections) {
  std::erase_if(*rows, [](const Row& row) { return row.name.empty(); });
  return SortedAndUnique(rows, kind, key, rejections);
}

}  // namespace

// Turns the rows into a ClaimBook, in the order of the functions.
class ClaimAssembler {
 public:
  ClaimAssembler(ClaimBook* book, Interner* names) : book_(*book), names_(*names) {}

  void AddClasses(const std::vector<DeviceClassRow*>& rows) {
    book_.classes_.reserve(rows.size());  // requests point at them
    for (const DeviceClassRow* row : rows) {
      book_.classes_.push_back({.name = row->name, .selectors = Compile(row->selectors)});
      classes_.emplace(row->name, &book_.classes_.back());
    }
  }

  template <typename NodeByName>
  void AddSlices(std::vector<ResourceSliceRow*> rows, const NodeByName& node_by_name) {
    std::sort(rows.begin(), rows.end(), [](const ResourceSliceRow* a, const ResourceSliceRow* b) {
      return std::tie(a->slice.driver, a->slice.pool, a->name) <
             std::tie(b->slice.driver, b->slice.pool, b->name);
    });
    for (ResourceSliceRow* row : rows) {
      ClaimBook::Reach& reach = book_.reach_.emplace_back();
      reach.is_local = !row->node.empty();
      if (const auto node = node_by_name.find(row->node); node != node_by_name.end())
        reach.node = node->second;
      reach.all = row->all_nodes;
      for (const NodeSelectorTerm& term : row->node_selector)
        reach.terms.push_back(InternNodeTerm(term, &names_));
      book_.slices_.push_back(std::move(row->slice));
    }
    for (size_t i = 0; i < book_.slices_.size(); ++i) {
      const ResourceSlice& slice = book_.slices_[i];
      const auto at = static_cast<int32_t>(i);
      const auto [group, is_new] =
          book_.group_of_pool_.try_emplace({slice.driver, slice.pool}, book_.groups_.size());
      if (is_new) book_.groups_.push_back({.slices = {.begin = at, .end = at}});
      book_.groups_[static_cast<size_t>(group->second)].slices.end = at + 1;
      const ClaimBook::Reach& reach = book_.reach_[i];
      if (!reach.is_local) {
        book_.wide_groups_.push_back(group->second);
      } else if (reach.node.valid()) {
        book_.local_groups_[reach.node].push_back(group->second);
      }
      for (const Device& device : slice.devices) book_.slice_of_.emplace(&device, at);
    }
    book_.group_version_.resize(book_.groups_.size());
  }

  void AddClaims(const std::vector<ResourceClaimRow*>& rows, std::string_view queue_label_key) {
    for (const ResourceClaimRow* row : rows) {
      const std::string* label = FindLabelText(row->labels, queue_label_key);
      const ClaimId id =
          book_.claims_.Add({.namespace_name = names_.Intern(row->namespace_name),
                             .name = names_.Intern(row->name),
                             .spec = SpecOf(row->spec),
                             .gpus = row->gpus,
                             .queue_label = label == nullptr ? NameId() : names_.Intern(*label)});
      book_.allocation_.Add(nullptr);
      book_.consumers_.Add({});
      if (row->allocation) book_.SetAllocation(id, AllocationOf(*row->allocation));
      claims_.emplace(std::pair(book_.claims_[id].namespace_name, book_.claims_[id].name), id);
    }
  }

  ClaimId Find(NameId namespace_name, NameId name) const {
    const auto found = claims_.find({namespace_name, name});
    return found == claims_.end() ? ClaimId() : found->second;
  }

  // Of a BindRequest that is being carried out (spec 3 D8).
  void Assume(ClaimId claim, PodId pod, const ClaimAllocationRow& allocation) {
    book_.SetConsumer(claim, pod, true);
    if (book_.allocation_[claim] == nullptr) book_.SetAllocation(claim, AllocationOf(allocation));
  }

  ClaimNeedsId NeedsId(ClaimNeeds needs) {
    const auto [found, added] =
        needs_.try_emplace(std::move(needs), ClaimNeedsId(book_.needs_.size()));
    if (added) book_.needs_.Add(found->first);
    return found->second;
  }

 private:
  DeviceRequest RequestOf(const DeviceChoiceRow& row) const {
    const auto device_class = classes_.find(row.class_name);
    return {.name = row.name,
            .class_name = row.class_name,
            .device_class = device_class == classes_.end() ? nullptr : device_class->second,
            .selectors = Compile(row.selectors),
            .mode = row.mode.empty() || row.mode == "ExactCount" ? AllocationMode::kExactCount
                    : row.mode == "All"                          ? AllocationMode::kAll
                                                                 : AllocationMode::kUnknown,
            .count = std::max<int64_t>(row.count, 1),
            .admin_access = row.admin_access,
            .capacity = row.capacity};
  }

  int32_t SpecOf(const ClaimSpecRow& row) {
    const auto [found, added] = specs_.try_emplace(row, static_cast<int32_t>(book_.specs_.size()));
    if (!added) return found->second;
    ClaimBook::Spec spec;
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

  ClaimAllocationPtr AllocationOf(const ClaimAllocationRow& row) {
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

  ClaimBook& book_;
  Interner& names_;
  std::map<std::string, const DeviceClass*> classes_;
  std::map<ClaimSpecRow, int32_t> specs_;
  absl::flat_hash_map<std::pair<NameId, NameId>, ClaimId> claims_;
  std::map<ClaimNeeds, ClaimNeedsId> needs_;
};

void ClusterAssembler::InternClaims(std::vector<PodDraft>* drafts, ClaimRows* rows,
                                    const std::vector<ResourceClaimRow*>& claims) {
  ClaimBook& book = c_.claims_;
  const bool any_used = std::any_of(drafts->begin(), drafts->end(), [](const PodDraft& draft) {
    return !draft.row->claims.empty();
  });
  if (!any_used) return;
  book.nodes_ = &c_.nodes_;
  book.names_ = &c_.names_;
  book.node_name_field_ = Name("metadata.name");
  book.is_served_ = rows->IsServed();
  book.pools_ = IndexVector<NodeId, std::unique_ptr<ClaimBook::NodePools>>(node_rows_.size());
  ClaimAssembler assembler(&book, &c_.names_);
  assembler.AddClasses(
      UniqueAndNamed(&rows->classes, "DeviceClass", NameKey<DeviceClassRow>, &c_.rejections_));
  assembler.AddSlices(
      UniqueAndNamed(&rows->slices, "ResourceSlice", NameKey<ResourceSliceRow>, &c_.rejections_),
      node_by_name_);
  assembler.AddClaims(claims, c_.params_.queue_label_key);

  // Who names which claim, and who uses it.
  std::map<std::string_view, PodId> pod_by_uid;
  std::map<std::pair<std::string_view, std::string_view>, PodId> pod_by_name;
  IndexVector<ClaimId, int32_t> named(book.claims_.size());
  IndexVector<ClaimId, PodId> last_pod(book.claims_.size());
  for (size_t i = 0; i < drafts->size(); ++i) {
    const PodDraft& draft = (*drafts)[i];
    const PodRow& row = *draft.row;
    const PodId pod(i);
    if (!row.uid.empty()) pod_by_uid.emplace(row.uid, pod);
    pod_by_name.emplace(NamespacedKey(row), pod);
    const auto begin = static_cast<int32_t>(book.uses_.size());
    const NameId namespace_name = Name(row.namespace_name);
    for (const PodRow::Claim& claim : row.claims) {
      ClaimBook::Use& use = book.uses_.emplace_back();
      use.name = Name(claim.name);
      use.from_template = claim.from_template;
      if (claim.resource_claim.empty()) continue;
      use.claim_name = Name(claim.resource_claim);
      use.claim = assembler.Find(namespace_name, use.claim_name);
      if (!use.claim.valid()) continue;
      ++named[use.claim];
      if (last_pod[use.claim].valid() && last_pod[use.claim] != pod)
        book.claims_[use.claim].is_shared = true;
      last_pod[use.claim] = pod;
    }
    book.uses_of_.Add({begin, static_cast<int32_t>(book.uses_.size())});
    NameId queue;
    if (!row.pod_group.empty()) {
      const auto group = group_by_name_.find(std::pair(namespace_name, Name(row.pod_group)));
      if (group != group_by_name_.end()) queue = c_.pod_groups_.queue_name[group->second];
    }
    book.queue_of_.Add(queue);
  }
  for (size_t i = 0; i < claims.size(); ++i) {
    const ClaimId claim(i);
    for (const ResourceClaimRow::Consumer& consumer : claims[i]->consumers) {
      PodId pod;
      if (!consumer.pod.empty()) {
        const auto by_name = pod_by_name.find({claims[i]->namespace_name, consumer.pod});
        if (by_name != pod_by_name.end()) pod = by_name->second;
        // A pod of that name may be another one than the claim was reserved for.
        if (pod.valid() && !consumer.uid.empty() && !(*drafts)[pod.index()].row->uid.empty() &&
            (*drafts)[pod.index()].row->uid != consumer.uid)
          pod = PodId();
      }
      if (pod.valid()) {
        book.SetConsumer(claim, pod, true);
      } else {
        ++book.claims_[claim].foreign_consumers;
      }
    }
  }
  for (size_t i = 0; i < drafts->size(); ++i) {
    const PodDraft& draft = (*drafts)[i];
    if (draft.bind_request == nullptr || !IsActiveUsed(draft.status)) continue;
    for (const ClaimBook::Use& use : book.UsesOf(PodId(i))) {
      for (const auto& [name, allocation] : draft.bind_request->claims) {
        if (use.claim.valid() && name == c_.Text(use.name))
          assembler.Assume(use.claim, PodId(i), allocation);
      }
    }
  }

  for (size_t i = 0; i < drafts->size(); ++i) {
    PodDraft& draft = (*drafts)[i];
    const PodId pod(i);
    const std::span<const ClaimBook::Use> uses = book.UsesOf(pod);
    if (uses.empty()) continue;
    ClaimNeeds needs{.uses = {}, .refusal = book.LastingRefusalOf(pod)};
    for (const ClaimBook::Use& use : uses) {
      if (!use.claim.valid()) continue;
      // A claim of the pod's own: when a node is looked for, it is not allocated, and nobody else
      // has anything to do with it.
      const bool others = book.ConsumersOf(use.claim) > (book.IsConsumer(use.claim, pod) ? 1 : 0);
      const bool kept = book.allocation_[use.claim] != nullptr && !IsActiveUsed(draft.status);
      if (named[use.claim] == 1 && !others && !kept) {
        needs.uses.push_back({.name = use.name, .claim = {}, .spec = book.claims_[use.claim].spec});
      } else {
        needs.uses.push_back({.name = use.name, .claim = use.claim, .spec = -1});
      }
    }
    draft.claims = assembler.NeedsId(std::move(needs));
  }
}

}  // namespace kai
