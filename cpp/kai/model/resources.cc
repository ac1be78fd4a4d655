#include "kai/model/resources.h"

#include <charconv>

#include "kai/base/keys.h"

namespace kai {
namespace {

// Whole GPUs of either vendor are one slot. KAI lets every name that ends in "gpu" land there,
// which over-writes real GPUs (spec 3 R27); here other vendors' devices keep a slot of their own.
bool IsWholeGpu(std::string_view name) {
  return name == "gpu" || name == keys::kNvidiaGpu || name == keys::kAmdGpu;
}

// Reads digits at the front of `text`; false when there are none.
bool TakeNumber(std::string_view* text, double* value) {
  const auto [end, error] =
      std::from_chars(text->data(), text->data() + text->size(), *value, std::chars_format::fixed);
  const size_t taken = static_cast<size_t>(end - text->data());
  if (error != std::errc() ||
      text->substr(0, taken).find_first_not_of("0123456789") != std::string_view::npos)
    return false;
  text->remove_prefix(taken);
  return true;
}

bool Take(std::string_view* text, std::string_view expected) {
  if (text->substr(0, expected.size()) != expected) return false;
  text->remove_prefix(expected.size());
  return true;
}

}  // namespace

bool IsMigResource(std::string_view resource) {
  return resource.substr(0, keys::kMigPrefix.size()) == keys::kMigPrefix;
}

double MigGpuEquivalents(std::string_view resource) {
  // nvidia.com/mig-<g>g.<m>gb, and nothing after it: the +me variants count nothing (spec 3 M3).
  double slices = 0;
  double memory_gb = 0;
  const bool exact = Take(&resource, keys::kMigPrefix) && TakeNumber(&resource, &slices) &&
                     Take(&resource, "g.") && TakeNumber(&resource, &memory_gb) && resource == "gb";
  return exact ? slices : 0;
}

ResourceSlots::ResourceSlots() {
  for (const char* name : {"cpu", "memory", "gpu", "pods"}) {
    names_.emplace_back(name);
    gpu_equivalents_.push_back(0);
    is_mig_.push_back(false);
  }
}

ResourceSlot ResourceSlots::Find(std::string_view name) const {
  if (IsWholeGpu(name)) return kGpuSlot;
  for (size_t i = 0; i < names_.size(); ++i) {
    if (names_[i] == name) return ResourceSlot(i);
  }
  return ResourceSlot();
}

ResourceSlot ResourceSlots::Add(std::string_view name) {
  const ResourceSlot known = Find(name);
  if (known.valid()) return known;
  names_.emplace_back(name);
  gpu_equivalents_.push_back(MigGpuEquivalents(name));
  if (gpu_equivalents_.back() != 0) counted_as_gpus_.push_back(gpu_equivalents_.size() - 1);
  is_mig_.push_back(IsMigResource(name));
  return ResourceSlot(names_.size() - 1);
}

}  // namespace kai
