#include "kai/base/interner.h"

namespace kai {

NameId Interner::Intern(std::string_view text) {
  const auto found = ids_.find(text);
  if (found != ids_.end()) return found->second;
  const NameId name(texts_.size());
  texts_.emplace_back(text);
  ids_.emplace(texts_.back(), name);
  return name;
}

NameId Interner::Find(std::string_view text) const {
  const auto found = ids_.find(text);
  return found == ids_.end() ? NameId() : found->second;
}

}  // namespace kai
