#include "kai/model/columns/resources.h"

#include <algorithm>
#include <array>
#include <charconv>

namespace kai {
namespace {

// Removes a number from the front of `text`; false: there is none.
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
  if (!text->starts_with(expected)) return false;
  text->remove_prefix(expected.size());
  return true;
}

// The text after the vendor's prefix; empty: the resource is not a slice.
std::string_view ProfileOf(std::string_view resource) {
  for (const Accelerator& each : kAccelerators) {
    if (!each.slice_prefix.empty() && Take(&resource, each.slice_prefix)) return resource;
  }
  return {};
}

// The part of its device's compute that a slice is: sevenths, or quarters on devices that are split
// into four. A compute instance (1c.3g.20gb) counts its own slices. Suffixes (.me, +gfx) change
// nothing.
double PartOfGpu(std::string_view profile) {
  constexpr std::array<std::string_view, 3> kCutIntoFour = {"1g.6gb", "2g.12gb", "4g.24gb"};  // A30
  double slices = 0;
  std::string_view rest = profile;
  if (!TakeNumber(&rest, &slices) || !(rest.starts_with("g.") || rest.starts_with("c."))) return 0;
  const bool of_four = std::ranges::any_of(kCutIntoFour, [&](std::string_view name) {
    return profile.find(name) != std::string_view::npos;
  });
  return slices / (of_four ? 4 : 7);
}

}  // namespace

double MigGpuEquivalents(std::string_view resource, MigCount count) {
  // <prefix><g>g.<m>gb without a suffix: +me variants count 0 (spec 3 M3).
  const std::string_view profile = ProfileOf(resource);
  if (count == MigCount::kParts) return PartOfGpu(profile);
  double slices = 0;
  double memory_gb = 0;
  std::string_view rest = profile;
  const bool exact = TakeNumber(&rest, &slices) && Take(&rest, "g.") &&
                     TakeNumber(&rest, &memory_gb) && rest == "gb";
  return exact ? slices : 0;
}

ResourceSlots::ResourceSlots(MigCount mig_count) : mig_count_(mig_count) {
  for (const std::string_view name :
       {std::string_view("cpu"), std::string_view("memory"), kAnyGpu, std::string_view("pods")}) {
    names_.emplace_back(name);
    gpu_equivalents_.push_back(0);
    is_mig_.push_back(false);
  }
}

ResourceSlot ResourceSlots::Find(std::string_view name) const {
  // Whole GPUs of all known vendors share one slot. In KAI every name that ends in "gpu" uses this
  // slot and overwrites real GPUs (spec 3 R27). Here a resource that does not count as a GPU has
  // its own slot.
  if (IsGpuResource(name)) return kGpuSlot;
  for (size_t i = 0; i < names_.size(); ++i) {
    if (names_[i] == name) return ResourceSlot(i);
  }
  return ResourceSlot();
}

ResourceSlot ResourceSlots::Add(std::string_view name) {
  const ResourceSlot known = Find(name);
  if (known.valid()) return known;
  names_.emplace_back(name);
  gpu_equivalents_.push_back(MigGpuEquivalents(name, mig_count_));
  if (gpu_equivalents_.back() != 0) counted_as_gpus_.push_back(gpu_equivalents_.size() - 1);
  is_mig_.push_back(IsMigResource(name));
  return ResourceSlot(names_.size() - 1);
}

}  // namespace kai
