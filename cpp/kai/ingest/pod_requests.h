// Adds up the requests of a pod's containers (spec 3 R1-R3).
//
//   PodRequests requests;
//   requests.AddContainer(Cpu(1000, 1));
//   requests.AddInitContainer(Cpu(500), /*sidecar=*/true);
//   requests.AddInitContainer(Cpu(2000, 2), /*sidecar=*/false);   // runs beside earlier sidecars
//   const ContainerRequest total = std::move(requests).Total();   // the most at any time
//
// Invariants: init containers are added in the order of the pod; other containers may be added at
// any point. Sums saturate. Cost: O(resources) a container. Not thread-safe.
#ifndef KAI_INGEST_POD_REQUESTS_H_
#define KAI_INGEST_POD_REQUESTS_H_

#include <vector>

#include "kai/ingest/gpu_request.h"
#include "kai/ingest/json_reader.h"
#include "kai/model/rows/rows.h"

namespace kai {

// The request of one container, or the sum of several.
struct ContainerRequest {
  ResourceAmounts amounts;  // CPU, memory and scalars
  WholeGpus gpus;
  ResourceAmounts mig;
  // Of one container: requests that a device class may serve (spec 3 D10); the container is not
  // set.
  std::vector<ExtendedRequestRow> extended;

  void Add(const ContainerRequest& other);
  void Max(const ContainerRequest& other);  // element-wise
};

// Reads resources.requests; "pods" is not a request (spec 3 R4).
FieldStatus ReadContainerRequest(JsonValue& requests, ContainerRequest* out);

class PodRequests {
 public:
  void AddContainer(ContainerRequest request);
  void AddInitContainer(const ContainerRequest& request, bool sidecar);
  ContainerRequest Total() &&;

  // False: there are more different resources than allowed (kMostResources).
  bool within_limits() const;

 private:
  bool any_container_ = false;
  ContainerRequest containers_;  // spec 3 R2: S
  ContainerRequest sidecars_;    // C in spec 3 R2, so far
  ContainerRequest init_phase_;  // the largest ordinary init container, with the sidecars before it
};

}  // namespace kai

#endif  // KAI_INGEST_POD_REQUESTS_H_
