// Extended resources that device classes provide (spec 3 D10, KEP-5004): a container requests
// "nvidia.com/gpu: 2" as usual. On a node whose device plugins have no such resource, it gets
// devices through a claim that the scheduler makes.
//
//   claim_ = MakeExtendedClaim(asked, ExtendedResources(classes));
//   claim_.requests      // {"container-0-request-1", "nvidia.com/gpu", "gpu.nvidia.com", 2}
//   claim_.containers    // {"main", "nvidia.com/gpu", "container-0-request-1"}
//
// Invariants: each resource is computed independently. So on a node with device plugins for some of
// them, the claim is this one without their requests. Cost: O(requests of one resource, squared).
// Threads: pure functions; ExtendedResources points to the rows and has many readers.
#ifndef KAI_MODEL_CLAIMS_EXTENDED_CLAIMS_H_
#define KAI_MODEL_CLAIMS_EXTENDED_CLAIMS_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "kai/model/rows/rows.h"

namespace kai {

// The name of the claim in plans and BindRequests before it has a name of its own. No object can
// have this name.
inline constexpr std::string_view kExtendedClaim = "<extended-resources>";

// Finds the device class that provides a resource: the newest class that names it, of equally old
// ones the first by name. Every class also provides "deviceclass.resource.kubernetes.io/{class}".
class ExtendedResources {
 public:
  ExtendedResources() = default;
  explicit ExtendedResources(const std::vector<const DeviceClassRow*>& classes);

  bool empty() const { return class_of_.empty(); }
  const DeviceClassRow* ClassOf(std::string_view resource) const;  // null: none
  bool AnyOf(std::span<const ExtendedRequestRow> asked) const;

 private:
  absl::flat_hash_map<std::string, const DeviceClassRow*> class_of_;
};

struct ExtendedClaim {
  struct Request {
    std::string name;
    std::string resource;
    std::string class_name;
    int64_t count = 0;

    friend auto operator<=>(const Request&, const Request&) = default;
  };
  // The request that serves a container's resource.
  struct Container {
    std::string container;
    std::string resource;
    std::string request;

    friend auto operator<=>(const Container&, const Container&) = default;
  };
  std::vector<Request> requests;  // by name
  std::vector<Container> containers;

  bool empty() const { return requests.empty(); }
  friend auto operator<=>(const ExtendedClaim&, const ExtendedClaim&) = default;
};

// An ordinary init container uses the devices of the containers that start after it and stay. If
// init containers need more, one request covers the largest need, because they run one after the
// other.
ExtendedClaim MakeExtendedClaim(std::span<const ExtendedRequestRow> asked,
                                const ExtendedResources& known);

}  // namespace kai

#endif  // KAI_MODEL_CLAIMS_EXTENDED_CLAIMS_H_
