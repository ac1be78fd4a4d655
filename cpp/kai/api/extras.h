// Features that KAI does not have. Each is off by default, because it changes decisions;
// docs/reference/config.md has a row for each.
//
//   Extras extras;                              // all off: the default, and with --as-kai
//   extras.Set(Extra::kTopologySpread, true);
//   extras.on(Extra::kTopologySpread)
//
// Invariants: kExtraNames has one name per Extra, in the order of the enum. Cost: one bit per
// extra. Threads: a plain value; copies are independent.
#ifndef KAI_API_EXTRAS_H_
#define KAI_API_EXTRAS_H_

#include <array>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace kai {

enum class Extra : uint8_t {
  kTopologySpread,         // topologySpreadConstraints with DoNotSchedule
  kPreferredNodeAffinity,  // preferred node affinity is scored
  kStartOnIdleGpu,         // a pod starts on part of an idle GPU rather than wait for a fuller one
  kVolumeLimits,           // no node gets more volumes of a CSI driver than it can attach
  kVolumeZones,            // pods go to the zones that the labels of their volumes name
};
inline constexpr size_t kExtras = 5;

// The names in the configuration, indexed by Extra.
inline constexpr std::array<std::string_view, kExtras> kExtraNames = {
    "topology_spread", "preferred_node_affinity", "start_on_idle_gpu", "volume_limits",
    "volume_zones"};

class Extras {
 public:
  bool on(Extra extra) const { return on_[static_cast<size_t>(extra)]; }
  void Set(Extra extra, bool on) { on_[static_cast<size_t>(extra)] = on; }

 private:
  std::bitset<kExtras> on_;
};

}  // namespace kai

#endif  // KAI_API_EXTRAS_H_
