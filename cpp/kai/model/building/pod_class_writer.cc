#include "kai/model/building/pod_class_writer.h"

#include <algorithm>

#include "kai/api/accelerators.h"
#include "kai/api/rounding.h"
#include "kai/model/building/row_lookup.h"

namespace kai {
namespace {

SlotAmounts SortedBySlot(SlotAmounts amounts) {
  std::erase_if(amounts, [](const auto& each) { return each.second == 0; });
  std::sort(amounts.begin(), amounts.end());
  return amounts;
}

}  // namespace

ConfigMaps::ConfigMaps(const std::vector<ConfigMapRow>* rows, Interner* names)
    : names_(*names), are_known_(rows != nullptr) {
  if (!are_known_) return;
  for (const ConfigMapRow& row : *rows) known_[row.namespace_name].insert(row.name);
}

std::vector<NameId> ConfigMaps::MissingOf(const CompactPod& pod) {
  std::vector<NameId> missing;
  if (!are_known_ || pod.spec->config_maps.empty()) return missing;
  const NameId namespace_name = names_.Intern(pod.namespace_name);
  const auto there = known_.find(pod.namespace_name);
  for (const std::string_view name :
       std::set<std::string_view>(pod.spec->config_maps.begin(), pod.spec->config_maps.end())) {
    const NameId id = names_.Intern(name);
    needed_.emplace(namespace_name, id);
    if (there == known_.end() || !there->second.contains(name)) missing.push_back(id);
  }
  return missing;
}

bool ConfigMaps::Set(std::string_view namespace_name, std::string_view name, bool is_there) {
  if (is_there) return known_[std::string(namespace_name)].emplace(name).second;
  const auto there = known_.find(namespace_name);
  if (there == known_.end()) return false;
  const auto found = there->second.find(name);
  if (found == there->second.end()) return false;
  there->second.erase(found);
  if (there->second.empty()) known_.erase(there);
  return true;
}

bool ConfigMaps::IsNeeded(std::string_view namespace_name, std::string_view name) const {
  return needed_.contains({names_.Find(namespace_name), names_.Find(name)});
}

void GpuMemoryRange::Add(double mib) {
  smallest_mib = smallest_mib == 0 ? mib : std::min(smallest_mib, mib);
  largest_mib = std::max(largest_mib, mib);
}

PodClassWriter::PodClassWriter(const Surroundings& at, PodClassColumns* classes)
    : at_(at), classes_(*classes) {
  classes_.request = ResourceTable<PodClassId>(0, at_.slots->size());
  classes_.overhead = ResourceTable<PodClassId>(0, at_.slots->size());
}

void PodClassWriter::AddRequests(const PodDraft& draft, PodClass* info) const {
  const CompactPod& row = *draft.row;
  // spec 3 R18: GPUs of portions plus claims; a memory request has no GPU element.
  double gpus = static_cast<double>(draft.gpu.dra);
  if (draft.gpu.kind != GpuRequestKind::kMemory)
    gpus += GpusOfPortions(draft.gpu.portion, static_cast<double>(draft.gpu.count));
  info->cpu_only = !(gpus > 0 || draft.gpu.kind == GpuRequestKind::kMemory ||
                     draft.gpu.kind == GpuRequestKind::kMig);  // spec 3 R19

  double cpu = 0;
  double memory = 0;
  double mig_gpus = 0;
  for (const auto& [name, amount] : row.spec->requests) {
    const ResourceSlot slot = at_.slots->Find(name);
    info->request.emplace_back(slot, static_cast<double>(amount));
    if (slot == kCpuSlot) cpu = static_cast<double>(amount);
    if (slot == kMemorySlot) memory = static_cast<double>(amount);
  }
  for (const auto& [name, amount] : draft.gpu.mig) {
    const ResourceSlot slot = at_.slots->Find(name);
    info->request.emplace_back(slot, static_cast<double>(amount));
    mig_gpus += at_.slots->GpuEquivalents(slot) * static_cast<double>(amount);
  }
  info->request.emplace_back(kGpuSlot, gpus);
  info->request.emplace_back(kPodsSlot, 1);  // spec 3 R4
  info->request = SortedBySlot(std::move(info->request));
  for (const auto& [name, amount] : row.spec->overhead)
    info->overhead.emplace_back(at_.slots->Find(name), static_cast<double>(amount));
  info->overhead = SortedBySlot(std::move(info->overhead));

  info->requested = QuotaCount(cpu, memory, gpus + mig_gpus);
  info->gate_requested = info->requested;
  if (draft.gpu.kind == GpuRequestKind::kMemory) {  // spec 1 F24
    const double wanted =
        static_cast<double>(draft.gpu.count) * static_cast<double>(draft.gpu.memory_mib);
    const GpuMemoryRange& range = *at_.gpu_memory;
    if (range.smallest_mib > 0)
      info->requested += QuotaCount::OfGpuMemory(wanted, range.smallest_mib);
    if (range.largest_mib > 0)
      info->gate_requested += QuotaCount::OfGpuMemory(wanted, range.largest_mib);
  }
}

bool PodClassWriter::NeedsGpuPlugin(const PodDraft& draft) const {
  const bool has_whole_gpus = draft.gpu.count > 0 && draft.gpu.portion > 0;
  if (draft.gpu.kind != GpuRequestKind::kRegular || !has_whole_gpus) return false;
  const std::vector<ExtendedRequestRow>& asked = draft.row->spec->extended_requests;
  return std::ranges::none_of(asked, [&](const ExtendedRequestRow& each) {
    return IsGpuResource(each.resource) && at_.extended->ClassOf(each.resource) != nullptr;
  });
}

PodClassId PodClassWriter::Add(const PodDraft& draft) {
  const CompactPod& row = *draft.row;
  PodClass info;
  info.gpu = draft.gpu;
  info.constraint = draft.constraint;
  info.affinity = draft.affinity;
  if (!row.extras->nominated_node.empty())
    info.nominated_node = at_.names->Intern(row.extras->nominated_node);
  info.numa = at_.numa->NeedsOf(row, draft.gpu);
  info.missing_config_maps = at_.config_maps->MissingOf(row);
  info.claims = draft.claims;
  std::sort(info.gpu.mig.begin(), info.gpu.mig.end());
  if (!at_.affinity->empty()) {
    info.matched_terms = at_.affinity->TermsMatching(row);
    info.matches_own_required = std::all_of(
        info.affinity.required.begin(), info.affinity.required.end(), [&](AffinityTermId term) {
          return std::binary_search(info.matched_terms.begin(), info.matched_terms.end(), term);
        });
  }
  info.needs_namespaces = at_.affinity->NeedsNamespaces(row);
  info.needs_gpu_plugin = NeedsGpuPlugin(draft);
  AddRequests(draft, &info);

  const PodClassId id = classes_.info.Add(std::move(info));
  if (id.index() < classes_.request.size()) return id;
  classes_.request.Add();
  classes_.overhead.Add();
  for (const auto& [slot, amount] : classes_.info[id].request)
    classes_.request[id][slot.index()] = amount;
  for (const auto& [slot, amount] : classes_.info[id].overhead)
    classes_.overhead[id][slot.index()] = amount;
  return id;
}

}  // namespace kai
