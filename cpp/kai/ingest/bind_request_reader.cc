#include "kai/ingest/bind_request_reader.h"

#include <string>
#include <string_view>

#include "kai/ingest/claim_reader.h"
#include "kai/ingest/metadata_reader.h"
#include "kai/ingest/zone_reader.h"
#include "kai/model/claims/extended_claims.h"

namespace kai {
namespace {

FieldStatus ReadClaims(JsonValue& list, BindRequestRow* row) {
  std::erase_if(row->claims, [](const auto& claim) { return claim.first != kExtendedClaim; });
  return ForEachElement(list, [&](JsonValue& element) {
    auto& [name, allocation] = row->claims.emplace_back();
    return ForEachMember(element, [&, &name = name, &allocation = allocation](std::string_view key,
                                                                              JsonValue& value) {
      if (key == "name") return ReadString(value, &name);
      return key == "allocation" ? ReadClaimAllocation(value, &allocation) : Skip();
    });
  });
}

// The other fields are for the binder, which creates the claim.
FieldStatus ReadExtendedClaim(JsonValue& value, BindRequestRow* row) {
  return ForEachMember(value, [&](std::string_view key, JsonValue& part) {
    if (key != "allocation") return Skip();
    return ReadClaimAllocation(
        part, &row->claims.emplace_back(kExtendedClaim, ClaimAllocationRow()).second);
  });
}

FieldStatus ReadFields(JsonObject object, BindRequestRow* row) {
  KAI_RETURN_IF_BAD(ForEachMember(object, [&](std::string_view key, JsonValue& value) {
    if (key == "metadata") return ReadMetadata(value, row);
    if (key == "spec") {
      return ForEachMember(value, [&](std::string_view member, JsonValue& part) {
        if (member == "podName") return ReadString(part, &row->pod);
        if (member == "selectedNode") return ReadString(part, &row->node);
        if (member == "receivedResourceType") return ReadString(part, &row->received_type);
        if (member == "selectedGPUGroups") return ReadStrings(part, &row->gpu_groups);
        if (member == "predictedNUMAZones") return ReadZoneAmounts(part, &row->zones);
        if (member == "resourceClaimAllocations") return ReadClaims(part, row);
        if (member == "extendedResourceClaimAllocation") return ReadExtendedClaim(part, row);
        if (member == "backoffLimit") {
          return ReadInt(part, &row->backoff_limit, kMinInt32, kMaxInt32);
        }
        return Skip();
      });
    }
    if (key == "status") {
      return ForEachMember(value, [&](std::string_view member, JsonValue& part) {
        if (member == "phase") return ReadString(part, &row->phase);
        if (member == "failedAttempts") {
          return ReadInt(part, &row->failed_attempts, kMinInt32, kMaxInt32);
        }
        return Skip();
      });
    }
    return Skip();
  }));
  return RequireName(row->name);
}

}  // namespace

std::optional<Rejection> ReadBindRequest(JsonObject object, BindRequestRow* row) {
  return RejectIfBad("BindRequest", object, ReadFields(object, row));
}

}  // namespace kai
