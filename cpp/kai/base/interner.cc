#include "kai/base/interner.h"

#include <algorithm>
#include <cstring>

#include "kai/base/heap_bytes.h"

namespace kai {
namespace {

constexpr size_t kBlock = 1 << 14;

}  // namespace

std::string_view Interner::Store(std::string_view text) {
  if (text.empty()) return "";
  if (text.size() > left_) {
    left_ = std::max(kBlock, text.size());
    free_ = blocks_.emplace_back(new char[left_]).get();
    stored_ += BlockBytes(left_);
  }
  char* const at = free_;
  std::memcpy(at, text.data(), text.size());
  free_ += text.size();
  left_ -= text.size();
  return {at, text.size()};
}

NameId Interner::Intern(std::string_view text) {
  const auto found = ids_.find(text);
  if (found != ids_.end()) return found->second;
  const NameId name(texts_.size());
  texts_.push_back(Store(text));
  ids_.emplace(texts_.back(), name);
  return name;
}

NameId Interner::Find(std::string_view text) const {
  const auto found = ids_.find(text);
  return found == ids_.end() ? NameId() : found->second;
}

size_t Interner::HeapBytes() const {
  return stored_ + BlockBytes(blocks_.capacity() * sizeof(blocks_[0])) +
         HeapBytesOfAll(texts_, ids_);
}

}  // namespace kai
