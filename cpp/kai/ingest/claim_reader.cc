#include "kai/ingest/claim_reader.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "kai/api/keys.h"
#include "kai/base/saturating.h"
#include "kai/ingest/device_reader.h"
#include "kai/ingest/metadata_reader.h"
#include "kai/ingest/resource_list.h"
#include "kai/ingest/scheduling_terms.h"

namespace kai {
namespace {

// Spec 3 D2. A list of alternatives counts as 0, as it is unknown which one will be used.
int64_t GpusOf(const DeviceRequestRow& request) {
  const DeviceChoiceRow& asked = request.exactly;
  if (!request.first_available.empty() || !NamesGpu(asked.class_name)) return 0;
  if (asked.mode.empty() || asked.mode == "ExactCount") return std::max<int64_t>(asked.count, 1);
  return asked.mode == "All" ? 1 : 0;
}

FieldStatus ReadChoiceMember(std::string_view key, JsonValue& value, DeviceChoiceRow* out) {
  if (key == "name") return ReadString(value, &out->name);
  if (key == "deviceClassName") return ReadString(value, &out->class_name);
  if (key == "allocationMode") return ReadString(value, &out->mode);
  if (key == "count") return ReadInt(value, &out->count, 0);
  if (key == "selectors") return ReadDeviceSelectors(value, &out->selectors);
  if (key == "adminAccess") return ReadBool(value, &out->admin_access);
  if (key != "capacity") return Skip();
  return ForEachMember(value, [&](std::string_view member, JsonValue& requests) {
    if (member != "requests") return Skip();
    return ForEachEntry(requests, [&](std::string_view name, JsonValue& amount) {
      return ReadQuantity(amount, &out->capacity[std::string(name)]);
    });
  });
}

FieldStatus ReadAlternatives(JsonValue& list, std::vector<DeviceChoiceRow>* out) {
  out->clear();
  return ForEachElement(list, [&](JsonValue& element) {
    DeviceChoiceRow& choice = out->emplace_back();
    return ForEachMember(element, [&](std::string_view key, JsonValue& value) {
      return ReadChoiceMember(key, value, &choice);
    });
  });
}

FieldStatus ReadRequests(JsonValue& requests, std::vector<DeviceRequestRow>* out) {
  out->clear();
  return ForEachElement(requests, [&](JsonValue& element) {
    DeviceRequestRow& request = out->emplace_back();
    return ForEachMember(element, [&](std::string_view key, JsonValue& value) {
      if (key == "firstAvailable") return ReadAlternatives(value, &request.first_available);
      if (key != "exactly") return ReadChoiceMember(key, value, &request.exactly);
      return ForEachMember(value, [&](std::string_view member, JsonValue& part) {
        return member == "name" ? Skip() : ReadChoiceMember(member, part, &request.exactly);
      });
    });
  });
}

FieldStatus ReadConstraints(JsonValue& list, std::vector<DeviceConstraint>* out) {
  out->clear();
  return ForEachElement(list, [&](JsonValue& element) {
    DeviceConstraint& constraint = out->emplace_back();
    return ForEachMember(element, [&](std::string_view key, JsonValue& value) {
      if (key == "requests") return ReadStrings(value, &constraint.requests);
      if (key == "matchAttribute") {
        constraint.kind = DeviceConstraint::Kind::kMatchAttribute;
        return ReadString(value, &constraint.attribute);
      }
      if (key != "distinctAttribute") return Skip();
      constraint.kind = DeviceConstraint::Kind::kDistinctAttribute;
      return ReadString(value, &constraint.attribute);
    });
  });
}

FieldStatus ReadSpec(JsonValue& spec, ClaimSpecRow* out) {
  return ForEachMember(spec, [&](std::string_view member, JsonValue& devices) {
    if (member != "devices") return Skip();
    return ForEachMember(devices, [&](std::string_view part, JsonValue& value) {
      if (part == "requests") return ReadRequests(value, &out->requests);
      return part == "constraints" ? ReadConstraints(value, &out->constraints) : Skip();
    });
  });
}

FieldStatus ReadOwner(JsonValue& owners, std::string* pod, std::string* pod_uid) {
  pod->clear();
  pod_uid->clear();
  return ForEachElement(owners, [&](JsonValue& element) {
    std::string kind, name, uid;
    KAI_RETURN_IF_BAD(ForEachMember(element, [&](std::string_view key, JsonValue& value) {
      if (key == "kind") return ReadString(value, &kind);
      if (key == "uid") return ReadString(value, &uid);
      return key == "name" ? ReadString(value, &name) : Skip();
    }));
    if (kind == "Pod" && pod->empty()) {
      *pod = std::move(name);
      *pod_uid = std::move(uid);
    }
    return FieldStatus();
  });
}

FieldStatus ReadConsumers(JsonValue& list, std::vector<ResourceClaimRow::Consumer>* out) {
  out->clear();
  return ForEachElement(list, [&](JsonValue& element) {
    ResourceClaimRow::Consumer consumer;
    std::string resource;
    KAI_RETURN_IF_BAD(ForEachMember(element, [&](std::string_view key, JsonValue& value) {
      if (key == "resource") return ReadString(value, &resource);
      if (key == "name") return ReadString(value, &consumer.pod);
      return key == "uid" ? ReadString(value, &consumer.uid) : Skip();
    }));
    if (resource != "pods") consumer = {};
    out->push_back(std::move(consumer));
    return FieldStatus();
  });
}

FieldStatus ReadClaimMetadata(JsonValue& metadata, ResourceClaimRow* row) {
  return ForEachMember(metadata, [&](std::string_view key, JsonValue& value) {
    if (key == "ownerReferences") return ReadOwner(value, &row->owner_pod, &row->owner_uid);
    if (key != "annotations") return ReadMetadataMember(key, value, row);
    return ForEachEntry(value, [&](std::string_view annotation, JsonValue& text_value) {
      if (annotation != keys::kExtendedResourceClaim) return Skip();
      JsonText text;
      KAI_RETURN_IF_BAD(text.Read(text_value));
      row->for_extended_resource = text.view() == "true";
      return FieldStatus();
    });
  });
}

FieldStatus ReadClaimFields(JsonObject object, ResourceClaimRow* row) {
  KAI_RETURN_IF_BAD(ForEachMember(object, [&](std::string_view key, JsonValue& value) {
    if (key == "metadata") return ReadClaimMetadata(value, row);
    if (key == "spec") return ReadSpec(value, &row->spec);
    if (key != "status") return Skip();
    return ForEachMember(value, [&](std::string_view member, JsonValue& part) {
      if (member == "allocation") return ReadClaimAllocation(part, &row->allocation.emplace());
      return member == "reservedFor" ? ReadConsumers(part, &row->consumers) : Skip();
    });
  }));
  if (!row->for_extended_resource) {  // otherwise a container's request counts them (spec 3 D2)
    for (const DeviceRequestRow& request : row->spec.requests)
      row->gpus = AddSaturating(row->gpus, GpusOf(request));
  }
  if (row->owner_pod.empty()) {  // spec 3 D4
    const auto first = std::find_if(row->consumers.begin(), row->consumers.end(),
                                    [](const auto& consumer) { return !consumer.pod.empty(); });
    if (first != row->consumers.end()) {
      row->owner_pod = first->pod;
      row->owner_uid = first->uid;
    }
  }
  return RequireName(row->name);
}

}  // namespace

FieldStatus ReadClaimAllocation(JsonValue& value, ClaimAllocationRow* out) {
  return ForEachMember(value, [&](std::string_view key, JsonValue& part) {
    if (key == "devices") {
      return ForEachMember(part, [&](std::string_view member, JsonValue& results) {
        if (member != "results") return Skip();
        out->devices.clear();
        return ForEachElement(results, [&](JsonValue& element) {
          ClaimAllocationRow::Given& given = out->devices.emplace_back();
          return ForEachMember(element, [&](std::string_view name, JsonValue& field) {
            if (name == "request") return ReadString(field, &given.request);
            if (name == "driver") return ReadString(field, &given.device.driver);
            if (name == "pool") return ReadString(field, &given.device.pool);
            if (name == "device") return ReadString(field, &given.device.device);
            return name == "adminAccess" ? ReadBool(field, &given.admin_access) : Skip();
          });
        });
      });
    }
    if (key != "nodeSelector") return Skip();
    out->has_node_selector = true;
    return ForEachMember(part, [&](std::string_view member, JsonValue& terms) {
      return member == "nodeSelectorTerms" ? ReadNodeSelectorTerms(terms, &out->node_selector)
                                           : Skip();
    });
  });
}

std::optional<Rejection> ReadResourceClaim(JsonObject object, ResourceClaimRow* row) {
  return RejectIfBad("ResourceClaim", object, ReadClaimFields(object, row));
}

}  // namespace kai
