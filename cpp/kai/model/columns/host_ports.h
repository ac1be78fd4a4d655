// Ports of the node itself that pods request (hostPort).
//
//   if (Collide(ports[a], ports[b])) rivals_[a].push_back(b);
//
// Invariants: Collide() is symmetric. Cost: O(1). Threads: plain values.
#ifndef KAI_MODEL_COLUMNS_HOST_PORTS_H_
#define KAI_MODEL_COLUMNS_HOST_PORTS_H_

#include <cstdint>
#include <utility>

#include "kai/base/interner.h"

namespace kai {

struct NodePort {
  int32_t port = 0;
  NameId protocol;
  NameId address;  // invalid: every address of the node

  friend auto operator<=>(const NodePort&, const NodePort&) = default;
  template <typename H>
  friend H AbslHashValue(H h, const NodePort& port) {
    return H::combine(std::move(h), port.port, port.protocol, port.address);
  }
};

// Whether two pods that request these ports cannot be on the same node.
inline bool Collide(const NodePort& a, const NodePort& b) {
  return a.port == b.port && a.protocol == b.protocol &&
         (!a.address.valid() || !b.address.valid() || a.address == b.address);
}

}  // namespace kai

#endif  // KAI_MODEL_COLUMNS_HOST_PORTS_H_
