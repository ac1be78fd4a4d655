// Makes resource claims and devices for tests.
//
//   MakeCluster().Node("n1").Add(GpuClass()).Add(GpusOn("n1", 2)).Add(GpuClaim("ns/c", 1))
//       .Pending("ns/p");
//   Claims(&maker, "ns/p-0", {"c"});               // the pod's spec names the claim
//   Hold(&maker, "ns/c", "ns/p-0", "n1", {"0"});   // the pod has the claim, with this device
//
//   MakeCluster().Node("n1").Add(GpuClass("nvidia.com/gpu")).Add(GpusOn("n1", 2))
//       .Pending("ns/p", {.gpus = 1});
//   AddExtendedRequests(&maker, "ns/p-0", {{.count = 1}});     // nvidia.com/gpu: 1, of its only
//   container
//
// Devices are named "0", "1", ...; their driver and class are "gpu.nvidia.com", and their pool is
// named like their node. Claims have the queue label "default".
#ifndef KAI_TESTING_MAKERS_CLAIM_ROWS_H_
#define KAI_TESTING_MAKERS_CLAIM_ROWS_H_

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kai/base/check.h"
#include "kai/base/text.h"
#include "kai/testing/makers/cluster_maker.h"

namespace kai {

inline constexpr std::string_view kGpuDriver = "gpu.nvidia.com";

// If a resource is given, containers can request the devices by its name.
inline DeviceClassRow GpuClass(std::string resource = {}) {
  return {
      .name = std::string(kGpuDriver), .selectors = {}, .extended_resource = std::move(resource)};
}

inline ResourceSliceRow GpusOn(const std::string& node, int devices) {
  ResourceSliceRow row{.node = node, .gpus = devices, .name = StrCat(node, "-gpus")};
  row.slice = {.name = row.name, .driver = std::string(kGpuDriver), .pool = node};
  for (int i = 0; i < devices; ++i) {
    row.slice.devices.push_back(
        {.driver = row.slice.driver, .pool = node, .name = std::to_string(i)});
  }
  return row;
}

inline ResourceClaimRow GpuClaim(std::string_view ns_name, int64_t count,
                                 const std::string& device_class = std::string(kGpuDriver)) {
  const size_t slash = ns_name.find('/');
  ResourceClaimRow row{.namespace_name = std::string(ns_name.substr(0, slash)),
                       .name = std::string(ns_name.substr(slash + 1)),
                       .gpus = device_class == kGpuDriver ? count : 0,
                       .owner_pod = {},
                       .labels = {{"kai.scheduler/queue", "default"}}};
  DeviceRequestRow request;
  request.exactly.name = "gpu";
  request.exactly.class_name = device_class;
  request.exactly.count = count;
  row.spec.requests.push_back(std::move(request));
  return row;
}

template <typename Rows>
auto& RowNamed(Rows& rows, std::string_view ns_name) {
  for (auto& row : rows) {
    if (StrCat(row.namespace_name, "/", row.name) == ns_name) return row;
  }
  KAI_CHECK(false) << "there is no " << ns_name;
  return rows[0];
}

// The pod's spec names these claims, under their own names.
inline void Claims(ClusterMaker* maker, std::string_view pod, std::vector<std::string> claims) {
  PodRow& row = RowNamed(maker->rows().pods, pod);
  for (std::string& claim : claims)
    row.claims.push_back({.name = claim, .resource_claim = claim, .from_template = false});
}

// The containers of the pod request GPUs: one row per container, in their order.
inline void AddExtendedRequests(ClusterMaker* maker, std::string_view pod,
                                std::vector<ExtendedRequestRow> requests) {
  PodRow& row = RowNamed(maker->rows().pods, pod);
  for (ExtendedRequestRow& request : requests) {
    request.container = static_cast<int32_t>(&request - &requests[0]);
    request.container_name = StrCat("c", request.container);
    if (request.resource.empty()) request.resource = "nvidia.com/gpu";
    row.extended_requests.push_back(std::move(request));
  }
}

// The claim is reserved for the pod and has these devices of the node.
inline void Hold(ClusterMaker* maker, std::string_view claim, std::string_view pod,
                 const std::string& node, const std::vector<std::string>& devices) {
  ResourceClaimRow& row = RowNamed(maker->rows().claims, claim);
  row.consumers.push_back({.pod = RowNamed(maker->rows().pods, pod).name, .uid = {}});
  if (row.allocation) return;
  row.allocation.emplace();
  for (const std::string& device : devices) {
    row.allocation->devices.push_back(
        {.request = "gpu",
         .device = {.driver = std::string(kGpuDriver), .pool = node, .device = device}});
  }
  row.allocation->has_node_selector = true;
  row.allocation->node_selector = {
      {.expressions = {},
       .fields = {{.key = "metadata.name", .op = SelectorOp::kIn, .values = {node}}}}};
}

}  // namespace kai

#endif  // KAI_TESTING_MAKERS_CLAIM_ROWS_H_
