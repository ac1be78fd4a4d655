// Maps names to ids and back at the edge of the engine. Inside the engine there are only ids.
//
//   Interner names;
//   const NameId vision = names.Intern("vision");
//   names.Text(vision)        // "vision"
//   names.Find("speech")      // an invalid id: the name was never interned
//
// Invariants: one id per text, one text per id; a text keeps its address for the life of the
// interner. Ids follow first use: where order matters, compare texts. Cost: one hash look-up per
// Intern() or Find(), an array access per Text(). Threads: many readers, or one thread that
// interns.
#ifndef KAI_BASE_INTERNER_H_
#define KAI_BASE_INTERNER_H_

#include <cstddef>
#include <memory>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "kai/base/id.h"

namespace kai {

struct NameTag {};
using NameId = Id<NameTag>;

class Interner {
 public:
  NameId Intern(std::string_view text);
  NameId Find(std::string_view text) const;
  std::string_view Text(NameId name) const { return texts_[name.index()]; }
  size_t size() const { return texts_.size(); }
  size_t HeapBytes() const;

 private:
  std::string_view Store(std::string_view text);

  std::vector<std::string_view> texts_;  // point into `blocks_`, as the keys of the map do
  std::vector<std::unique_ptr<char[]>> blocks_;
  size_t stored_ = 0;     // bytes used in all blocks
  char* free_ = nullptr;  // the free end of the last block
  size_t left_ = 0;       // bytes from `free_` on
  absl::flat_hash_map<std::string_view, NameId> ids_;
};

}  // namespace kai

#endif  // KAI_BASE_INTERNER_H_
