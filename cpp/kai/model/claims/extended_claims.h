// Extended resources that device classes stand for (spec 3 D10, KEP-5004): a container asks for
// "nvidia.com/gpu: 2" as ever, and where no device plugin has any, it gets devices by a claim that
// its user never wrote.
//
//   claim_ = MakeExtendedClaim(asked, ExtendedResources(classes));
//   claim_.requests      // {"container-0-request-1", "nvidia.com/gpu", "gpu.nvidia.com", 2}
//   claim_.containers    // {"main", "nvidia.com/gpu", "container-0-request-1"}
//
// Invariants: each resource is worked out for itself, so on a node whose device plugin has some of
// them the claim is this one without their requests. Cost: O(requests of one resource, squared).
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

// What plans and BindRequests call the claim before it has a name of its own: no object can be
// called so.
inline constexpr std::string_view kExtendedClaim = "<extended-resources>";

// Which device class stands for a resource: the newest that names it, of equals the first by name.
// Every class stands for "deviceclass.resource.kubernetes.io/{class}", too.
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
  // Which request serves what a container asks for.
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

// An ordinary init container has the devices of the containers that start after it and stay; of
// what such ones need beyond that, the most is asked for once, as they run one after the other.
ExtendedClaim MakeExtendedClaim(std::span<const ExtendedRequestRow> asked,
                                const ExtendedResources& known);

}  // namespace kai

#endif  // KAI_MODEL_CLAIMS_EXTENDED_CLAIMS_H_
