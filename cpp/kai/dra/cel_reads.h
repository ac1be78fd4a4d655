// CelReads: the parts of a device that an expression reads.
//
//   auto reads = std::make_shared<const CelReads>(ReadsOf(program));
//
// Invariants: an expression gives the same result, with the same steps, for devices whose contents
// are equal. If it is not certain which part an expression reads, the part counts as read. Cost:
// ReadsOf() is linear in the program, AppendContent() in what is read. Threads: pure functions.
#ifndef KAI_DRA_CEL_READS_H_
#define KAI_DRA_CEL_READS_H_

#include <compare>
#include <cstdint>
#include <string>
#include <vector>

#include "kai/dra/cel_program.h"
#include "kai/dra/device.h"

namespace kai {

struct CelReads {
  enum class Map : uint8_t { kAttributes, kCapacity };
  struct Name {
    Map map = Map::kAttributes;
    std::string domain;
    std::string name;

    friend auto operator<=>(const Name&, const Name&) = default;
  };
  struct Domain {
    Map map = Map::kAttributes;
    std::string domain;

    friend auto operator<=>(const Domain&, const Domain&) = default;
  };

  bool driver = false;
  bool allow_multiple_allocations = false;
  std::vector<Map> maps;        // all domains
  std::vector<Domain> domains;  // all names
  std::vector<Name> names;
};

CelReads ReadsOf(const CelProgram& program);

// Appends the parts in a form that is equal for equal values only.
void AppendContent(const CelReads& reads, const Device& device, std::string* content);

}  // namespace kai

#endif  // KAI_DRA_CEL_READS_H_
