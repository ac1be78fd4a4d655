#include "kai/model/claims/extended_claims.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "kai/base/text.h"
#include "kai/model/building/row_lookup.h"

namespace kai {
namespace {

constexpr std::string_view kImplicitPrefix = "deviceclass.resource.kubernetes.io/";

// Makes the requests for one resource, by container.
class RequestsForResource {
 public:
  explicit RequestsForResource(std::string class_name) : class_name_(std::move(class_name)) {}

  void Add(const std::vector<const ExtendedRequestRow*>& asked) {
    for (const ExtendedRequestRow* each : asked) {
      if (each->kind != ContainerRow::Kind::kInit) AddLasting(*each);
    }
    for (const ExtendedRequestRow* each : asked) {
      if (each->kind == ContainerRow::Kind::kInit) AddInit(*each);
    }
  }

  void MoveInto(ExtendedClaim* claim) {
    for (ExtendedClaim::Container& each : init_containers_) {
      if (each.request.empty()) each.request = most_->name;
      containers_.push_back(std::move(each));
    }
    if (most_) claim->requests.push_back(*std::move(most_));
    for (auto& [container, request] : lasting_) claim->requests.push_back(std::move(request));
    for (ExtendedClaim::Container& each : containers_) claim->containers.push_back(std::move(each));
  }

 private:
  ExtendedClaim::Request RequestFor(const ExtendedRequestRow& asked, int64_t count) const {
    return {.name = StrCat("container-", asked.container, "-request-", asked.place),
            .resource = asked.resource,
            .class_name = class_name_,
            .count = count};
  }

  void AddLasting(const ExtendedRequestRow& asked) {
    const ExtendedClaim::Request& request =
        lasting_.emplace_back(asked.container, RequestFor(asked, asked.count)).second;
    containers_.push_back({asked.container_name, asked.resource, request.name});
  }

  void AddInit(const ExtendedRequestRow& asked) {
    int64_t missing = asked.count;
    for (const auto& [container, request] : lasting_) {
      if (container < asked.container) continue;  // it started earlier and keeps its own devices
      init_containers_.push_back({asked.container_name, asked.resource, request.name});
      missing -= request.count;
      if (missing <= 0) return;
    }
    if (!most_ || most_->count < missing) most_ = RequestFor(asked, missing);
    // The request's name is known after all containers.
    init_containers_.push_back({asked.container_name, asked.resource, ""});
  }

  std::string class_name_;
  std::vector<std::pair<int32_t, ExtendedClaim::Request>> lasting_;
  std::optional<ExtendedClaim::Request> most_;  // the most that init containers need in addition
  std::vector<ExtendedClaim::Container> containers_;
  std::vector<ExtendedClaim::Container> init_containers_;
};

}  // namespace

ExtendedResources::ExtendedResources(const std::vector<const DeviceClassRow*>& classes) {
  const auto is_before = [](const DeviceClassRow& a, const DeviceClassRow& b) {
    const int64_t a_ns = a.created_ns.value_or(kNoTime);
    const int64_t b_ns = b.created_ns.value_or(kNoTime);
    return a_ns != b_ns ? a_ns > b_ns : a.name < b.name;
  };
  for (const DeviceClassRow* row : classes) {
    class_of_.emplace(StrCat(kImplicitPrefix, row->name), row);
    if (row->extended_resource.empty()) continue;
    const DeviceClassRow*& known = class_of_[row->extended_resource];
    if (known == nullptr || is_before(*row, *known)) known = row;
  }
}

const DeviceClassRow* ExtendedResources::ClassOf(std::string_view resource) const {
  const auto found = class_of_.find(std::string(resource));
  return found == class_of_.end() ? nullptr : found->second;
}

bool ExtendedResources::AnyOf(std::span<const ExtendedRequestRow> asked) const {
  return !empty() && std::any_of(asked.begin(), asked.end(), [&](const ExtendedRequestRow& each) {
    return ClassOf(each.resource) != nullptr;
  });
}

ExtendedClaim MakeExtendedClaim(std::span<const ExtendedRequestRow> asked,
                                const ExtendedResources& known) {
  ExtendedClaim claim;
  if (!known.AnyOf(asked)) return claim;
  std::map<std::string_view, std::vector<const ExtendedRequestRow*>> by_resource;
  for (const ExtendedRequestRow& each : asked) by_resource[each.resource].push_back(&each);
  for (const auto& [resource, of_containers] : by_resource) {
    const DeviceClassRow* device_class = known.ClassOf(resource);
    if (device_class == nullptr) continue;
    RequestsForResource requests(device_class->name);
    requests.Add(of_containers);
    requests.MoveInto(&claim);
  }
  std::sort(claim.requests.begin(), claim.requests.end());
  return claim;
}

}  // namespace kai
