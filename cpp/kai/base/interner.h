// Names <-> ids at the edge of the engine: inside there are only ids.
//
//   Interner names;
//   const NameId vision = names.Intern("vision");
//   names.Text(vision)        // "vision"
//   names.Find("speech")      // invalid id: never interned
//
// Invariants: one id per text, one text per id; a text stays at its address as long as the interner
// lives. Ids follow first use: where order matters, compare texts. Cost: one hash look-up per
// Intern() or Find(), an array access per Text(). Threads: many readers, or one thread that
// interns.
#ifndef KAI_BASE_INTERNER_H_
#define KAI_BASE_INTERNER_H_

#include <deque>
#include <string>
#include <string_view>

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

 private:
  std::deque<std::string>
      texts_;  // a deque: texts never move, so the map's keys may point into them
  absl::flat_hash_map<std::string_view, NameId> ids_;
};

}  // namespace kai

#endif  // KAI_BASE_INTERNER_H_
