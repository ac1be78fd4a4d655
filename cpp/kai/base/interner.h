// Names <-> ids at the edge of the engine: inside there are only ids.
//
//   Interner names;
//   NameId vision = names.Intern("vision");
//   names.Text(vision);        // "vision"; stays valid as long as the interner lives
//   names.Find("speech");      // invalid id: never interned
//
// Ids follow first use; where order matters compare texts. Cost: one hash look-up per call. Not
// thread-safe while interning.
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
