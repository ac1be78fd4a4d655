#include "kai/feed/shown_objects.h"

#include <algorithm>
#include <utility>

#include "absl/hash/hash.h"

namespace kai {
namespace {

uint64_t HashOf(std::string_view name) { return absl::Hash<std::string_view>()(name); }

}  // namespace

void ShownObjects::BeginList(Kind kind) {
  OfKind& of = Of(kind);
  // A list that broke off starts again: what was known before it still counts.
  if (!of.is_listing) of.before = std::exchange(of.objects, {});
  of.objects.clear();
  of.relisted = {.kind = kind};
  of.is_listing = true;
}

void ShownObjects::Put(Kind kind, std::string_view name, Version version) {
  OfKind& of = Of(kind);
  const uint64_t hash = HashOf(name);
  const auto [found, is_new] = of.objects.insert_or_assign(hash, version);
  if (!of.is_listing || !of.was_listed || !is_new) return;
  const auto before = of.before.find(hash);
  if (before != of.before.end() && before->second == version) return;
  ++(before == of.before.end() ? of.relisted.added : of.relisted.changed);
  if (of.relisted.names.size() < kMostNames) of.relisted.names.emplace_back(name);
}

void ShownObjects::Drop(Kind kind, std::string_view name) { Of(kind).objects.erase(HashOf(name)); }

std::optional<ShownObjects::Relisted> ShownObjects::EndList(Kind kind,
                                                            std::vector<std::string> gone) {
  OfKind& of = Of(kind);
  Relisted relisted = std::exchange(of.relisted, {.kind = kind});
  for (const auto& [hash, version] : of.before) relisted.gone += !of.objects.contains(hash);
  std::ranges::sort(gone);
  for (std::string& name : gone) {
    if (relisted.names.size() < kMostNames) relisted.names.push_back(std::move(name));
  }
  of.before = {};
  of.is_listing = false;
  if (!std::exchange(of.was_listed, true)) return std::nullopt;
  return relisted;
}

void ShownObjects::At(Kind kind, std::string_view version) {
  if (!version.empty()) Of(kind).version = version;
}

std::vector<ShownObjects::State> ShownObjects::states() const {
  std::vector<State> states;
  for (size_t i = 0; i < kKinds; ++i) {
    const OfKind& of = kinds_[i];
    if (of.is_listing || !of.was_listed) continue;
    states.push_back({.kind = static_cast<Kind>(i),
                      .version = of.version,
                      .objects = static_cast<int64_t>(of.objects.size())});
  }
  return states;
}

bool ShownObjects::IsBehind(Kind kind, std::string_view name, Version version) const {
  const Versions& objects = kinds_[static_cast<size_t>(kind)].objects;
  const auto found = objects.find(HashOf(name));
  return found != objects.end() && found->second < version;
}

}  // namespace kai
