#include "kai/ingest/pod_requests.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "kai/api/units.h"
#include "kai/ingest/resource_list.h"

namespace kai {

namespace {

// Resources with a domain in their name, requested in positive whole units.
std::vector<ExtendedRequestRow> FindExtended(const ContainerRequest& request,
                                             const ResourceAmounts& gpus) {
  std::vector<ExtendedRequestRow> found;
  const auto is_before = [](std::string_view name) {
    return [name](const auto& amount) { return amount.first < name; };
  };
  const auto take = [&](const ResourceAmounts& amounts, int64_t unit) {
    for (const auto& [name, amount] : amounts) {
      if (amount <= 0 || amount % unit != 0 || name.find('/') == name.npos) continue;
      int64_t place = 0;
      for (const ResourceAmounts* all : {&request.amounts, &gpus, &request.mig})
        place += std::count_if(all->begin(), all->end(), is_before(name));
      found.push_back(
          {.resource = name, .place = static_cast<int32_t>(place), .count = amount / unit});
    }
  };
  take(request.amounts, kMillisPerUnit);
  take(gpus, 1);
  take(request.mig, 1);
  return found;
}

}  // namespace

void ContainerRequest::Add(const ContainerRequest& other) {
  AddAmounts(&amounts, other.amounts);
  AddAmounts(&mig, other.mig);
  gpus.Add(other.gpus);
}

void ContainerRequest::Max(const ContainerRequest& other) {
  MaxAmounts(&amounts, other.amounts);
  MaxAmounts(&mig, other.mig);
  gpus.Max(other.gpus);
}

FieldStatus ReadContainerRequest(JsonValue& requests, ContainerRequest* out) {
  *out = ContainerRequest();
  ResourceAmounts gpus;  // by vendor; all count as one kind (spec 3 R5)
  FieldStatus status =
      ForEachResource(requests, [&](ResourceKind kind, std::string_view name, int64_t amount) {
        switch (kind) {
          case ResourceKind::kGpu:
            SetAmount(&gpus, name, amount);
            break;
          case ResourceKind::kMig:
            if (amount > 0) SetAmount(&out->mig, name, amount);
            break;
          case ResourceKind::kPods:
            break;
          default:
            SetAmount(&out->amounts, name, amount);
        }
      });
  int64_t devices = 0;
  for (const auto& [vendor, count] : gpus) devices = AddSaturating(devices, count);
  if (!gpus.empty()) out->gpus = WholeGpus::Requested(devices);
  out->extended = FindExtended(*out, gpus);
  return status;
}

void PodRequests::AddContainer(ContainerRequest request) {
  if (any_container_) {
    containers_.Add(request);
  } else {
    containers_ = std::move(request);  // no copy: most pods have one container
  }
  any_container_ = true;
}

void PodRequests::AddInitContainer(const ContainerRequest& request, bool sidecar) {
  if (sidecar) {
    sidecars_.Add(request);
  } else {
    ContainerRequest together = request;
    together.Add(sidecars_);
    init_phase_.Max(together);
  }
}

ContainerRequest PodRequests::Total() && {
  containers_.Add(sidecars_);
  containers_.Max(init_phase_);
  return std::move(containers_);
}

bool PodRequests::within_limits() const {
  return containers_.amounts.size() <= kMostResources &&
         sidecars_.amounts.size() <= kMostResources &&
         init_phase_.amounts.size() <= kMostResources && containers_.mig.size() <= kMostResources &&
         sidecars_.mig.size() <= kMostResources && init_phase_.mig.size() <= kMostResources;
}

}  // namespace kai
