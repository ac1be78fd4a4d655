// Adds up what a pod's containers ask for (spec 3 R1-R3).
//
//   PodRequests requests;
//   requests.AddContainer(Cpu(1000, 1));
//   requests.AddInitContainer(Cpu(500), /*sidecar=*/true);
//   requests.AddInitContainer(Cpu(2000, 2), /*sidecar=*/false);   // beside the sidecars before it
//   const ContainerRequest total = std::move(requests).Total();   // the most at any time
//
// Invariants: init containers are added in the order of the pod; when containers come in between
// does not matter. Sums saturate. Cost: O(resources) a container. Not thread-safe.
#ifndef KAI_INGEST_POD_REQUESTS_H_
#define KAI_INGEST_POD_REQUESTS_H_

#include <vector>

#include "kai/ingest/gpu_request.h"
#include "kai/ingest/json_reader.h"
#include "kai/model/rows/rows.h"

namespace kai {

// What one container asks for, or several together.
struct ContainerRequest {
  ResourceAmounts amounts;  // CPU, memory and scalars
  WholeGpus gpus;
  ResourceAmounts mig;
  // Of one container: what a device class may stand for (spec 3 D10), without the container.
  std::vector<ExtendedRequestRow> extended;

  void Add(const ContainerRequest& other);
  void Max(const ContainerRequest& other);  // each resource for itself
};

// Reads resources.requests; "pods" is no request (spec 3 R4).
FieldStatus ReadContainerRequest(JsonValue& requests, ContainerRequest* out);

class PodRequests {
 public:
  void AddContainer(ContainerRequest request);
  void AddInitContainer(const ContainerRequest& request, bool sidecar);
  ContainerRequest Total() &&;

  // False: more different resources than we add up (kMostResources).
  bool within_limits() const;

 private:
  bool any_container_ = false;
  ContainerRequest containers_;  // spec 3 R2: S
  ContainerRequest sidecars_;    // C, so far
  ContainerRequest
      init_phase_;  // the largest of the ordinary init containers, each with the sidecars before it
};

}  // namespace kai

#endif  // KAI_INGEST_POD_REQUESTS_H_
