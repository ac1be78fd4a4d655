#include "kai/ingest/claim_reader.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "kai/base/keys.h"
#include "kai/ingest/metadata_reader.h"
#include "kai/ingest/resource_list.h"

namespace kai {
namespace {

// Spec 3 D2: a device class or driver is one of GPUs when its name says so, in whatever case.
bool NamesGpu(std::string_view name) {
  constexpr std::string_view kGpu = "gpu";
  const auto same = [](char a, char b) { return (a | 0x20) == b; };
  return std::search(name.begin(), name.end(), kGpu.begin(), kGpu.end(), same) != name.end();
}

// One device request: what is asked exactly, and how many.
struct DeviceRequest {
  std::string device_class;
  std::string mode;
  int64_t count = 0;

  int64_t Gpus() const {
    if (!NamesGpu(device_class)) return 0;
    if (mode.empty() || mode == "ExactCount") return std::max<int64_t>(count, 1);
    return mode == "All" ? 1 : 0;
  }
};

FieldStatus ReadDeviceRequestMember(std::string_view key, JsonValue& value, DeviceRequest* out) {
  if (key == "deviceClassName") return ReadString(value, &out->device_class);
  if (key == "allocationMode") return ReadString(value, &out->mode);
  if (key == "count") return ReadInt(value, &out->count, 0);
  return Skip();
}

FieldStatus ReadDeviceRequests(JsonValue& requests, int64_t* gpus) {
  *gpus = 0;
  return ForEachElement(requests, [&](JsonValue& element) {
    DeviceRequest request;
    KAI_RETURN_IF_BAD(ForEachMember(element, [&](std::string_view key, JsonValue& value) {
      if (key != "exactly") return ReadDeviceRequestMember(key, value, &request);
      request = DeviceRequest();
      return ForEachMember(value, [&](std::string_view member, JsonValue& part) {
        return ReadDeviceRequestMember(member, part, &request);
      });
    }));
    *gpus = AddSaturating(*gpus, request.Gpus());
    return FieldStatus();
  });
}

// The name of the first reference in the list that means a pod: `kind_key` says under which member
// its kind stands.
FieldStatus FindPod(JsonValue& references, std::string_view kind_key, std::string_view pod_kind,
                    std::string* pod) {
  pod->clear();
  return ForEachElement(references, [&](JsonValue& element) {
    std::string kind, name;
    KAI_RETURN_IF_BAD(ForEachMember(element, [&](std::string_view key, JsonValue& value) {
      if (key == kind_key) return ReadString(value, &kind);
      if (key == "name") return ReadString(value, &name);
      return Skip();
    }));
    if (kind == pod_kind && pod->empty()) *pod = std::move(name);
    return FieldStatus();
  });
}

struct ClaimDraft {
  bool for_extended_resource = false;
  std::string owner;
  std::string first_consumer;
};

FieldStatus ReadClaimMetadata(JsonValue& metadata, ResourceClaimRow* row, ClaimDraft* draft) {
  return ForEachMember(metadata, [&](std::string_view key, JsonValue& value) {
    if (key == "ownerReferences") return FindPod(value, "kind", "Pod", &draft->owner);
    if (key != "annotations") return ReadMetadataMember(key, value, row);
    return ForEachEntry(value, [&](std::string_view annotation, JsonValue& text_value) {
      if (annotation != keys::kExtendedResourceClaim) return Skip();
      JsonText text;
      KAI_RETURN_IF_BAD(text.Read(text_value));
      draft->for_extended_resource = text.view() == "true";
      return FieldStatus();
    });
  });
}

FieldStatus ReadClaimFields(JsonObject object, ResourceClaimRow* row) {
  ClaimDraft draft;
  KAI_RETURN_IF_BAD(ForEachMember(object, [&](std::string_view key, JsonValue& value) {
    if (key == "metadata") return ReadClaimMetadata(value, row, &draft);
    if (key == "spec") {
      return ForEachMember(value, [&](std::string_view member, JsonValue& devices) {
        if (member != "devices") return Skip();
        return ForEachMember(devices, [&](std::string_view part, JsonValue& requests) {
          return part == "requests" ? ReadDeviceRequests(requests, &row->gpus) : Skip();
        });
      });
    }
    if (key == "status") {
      return ForEachMember(value, [&](std::string_view member, JsonValue& consumers) {
        return member == "reservedFor"
                   ? FindPod(consumers, "resource", "pods", &draft.first_consumer)
                   : Skip();
      });
    }
    return Skip();
  }));
  if (draft.for_extended_resource) row->gpus = 0;  // already in a container's request (spec 3 D2)
  row->owner_pod = draft.owner.empty() ? std::move(draft.first_consumer) : std::move(draft.owner);
  return RequireName(row->name);
}

FieldStatus ReadSliceFields(JsonObject object, ResourceSliceRow* row) {
  std::string name, driver;
  int64_t devices = 0;
  KAI_RETURN_IF_BAD(ForEachMember(object, [&](std::string_view key, JsonValue& value) {
    if (key == "metadata") {
      return ForEachMember(value, [&](std::string_view member, JsonValue& part) {
        return member == "name" ? ReadString(part, &name) : Skip();
      });
    }
    if (key != "spec") return Skip();
    return ForEachMember(value, [&](std::string_view member, JsonValue& part) {
      if (member == "nodeName") return ReadString(part, &row->node);
      if (member == "driver") return ReadString(part, &driver);
      if (member != "devices") return Skip();
      devices = 0;
      return ForEachElement(part, [&](JsonValue&) {
        ++devices;
        return Skip();
      });
    });
  }));
  if (NamesGpu(driver)) row->gpus = devices;
  return RequireName(name);
}

}  // namespace

std::optional<Rejection> ReadResourceClaim(JsonObject object, ResourceClaimRow* row) {
  return RejectIfBad("ResourceClaim", object, ReadClaimFields(object, row));
}

std::optional<Rejection> ReadResourceSlice(JsonObject object, ResourceSliceRow* row) {
  return RejectIfBad("ResourceSlice", object, ReadSliceFields(object, row));
}

}  // namespace kai
