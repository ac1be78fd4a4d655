#include "kai/ingest/zone_reader.h"

#include <array>
#include <string>
#include <utility>

#include "kai/base/text.h"
#include "kai/ingest/json_document.h"
#include "kai/ingest/metadata_reader.h"
#include "kai/ingest/resource_list.h"

namespace kai {
namespace {

struct Manager {
  NumaPolicy policy = NumaPolicy::kNone;
  NumaScope scope = NumaScope::kContainer;
};

NumaPolicy PolicyNamed(std::string_view name) {
  if (name == "single-numa-node") return NumaPolicy::kSingleZone;
  if (name == "restricted") return NumaPolicy::kRestricted;
  return name == "best-effort" ? NumaPolicy::kBestEffort : NumaPolicy::kNone;
}

// Policy and scope in one word, the format of nodes before there were attributes.
Manager ManagerNamed(std::string_view name) {
  constexpr std::array<std::pair<std::string_view, Manager>, 8> kNames = {{
      {"SingleNUMANodePodLevel", {NumaPolicy::kSingleZone, NumaScope::kPod}},
      {"SingleNUMANodeContainerLevel", {NumaPolicy::kSingleZone, NumaScope::kContainer}},
      {"Restricted", {NumaPolicy::kRestricted, NumaScope::kContainer}},
      {"RestrictedPodLevel", {NumaPolicy::kRestricted, NumaScope::kPod}},
      {"RestrictedContainerLevel", {NumaPolicy::kRestricted, NumaScope::kContainer}},
      {"BestEffort", {NumaPolicy::kBestEffort, NumaScope::kContainer}},
      {"BestEffortPodLevel", {NumaPolicy::kBestEffort, NumaScope::kPod}},
      {"BestEffortContainerLevel", {NumaPolicy::kBestEffort, NumaScope::kContainer}},
  }};
  for (const auto& [known, manager] : kNames) {
    if (known == name) return manager;
  }
  return {};
}

FieldStatus ReadAmountOf(std::string_view resource, JsonValue& value, ResourceAmounts* amounts) {
  const ResourceKind kind = KindOfResource(resource);
  if (kind == ResourceKind::kIgnored || kind == ResourceKind::kPods) return Skip();
  if (amounts->size() >= kMostResources) return TooManyResources();
  int64_t amount = 0;
  KAI_RETURN_IF_BAD(ReadAmount(value, kind, &amount));
  SetAmount(amounts, resource, amount);
  return FieldStatus();
}

// The name may come after the amounts, but reading these needs it, so the list is walked twice.
FieldStatus ReadZoneResource(JsonValue& resource, NodeZonesRow::Zone* zone) {
  JsonObject object;
  KAI_RETURN_IF_BAD(ReadObject(resource, &object));
  std::string name;
  KAI_RETURN_IF_BAD(ForEachMember(object, [&](std::string_view key, JsonValue& value) {
    return key == "name" ? ReadString(value, &name) : Skip();
  }));
  if (name.empty()) return FieldStatus::Bad("name", "is missing");
  return ForEachMember(object, [&](std::string_view key, JsonValue& value) {
    if (key == "allocatable") return ReadAmountOf(name, value, &zone->allocatable);
    return key == "available" ? ReadAmountOf(name, value, &zone->available) : Skip();
  });
}

FieldStatus ReadZones(JsonValue& list, std::vector<NodeZonesRow::Zone>* zones) {
  zones->clear();
  return ForEachElement(list, [&](JsonValue& element) {
    NodeZonesRow::Zone zone;
    std::string type;
    KAI_RETURN_IF_BAD(ForEachMember(element, [&](std::string_view key, JsonValue& value) {
      if (key == "name") return ReadString(value, &zone.name);
      if (key == "type") return ReadString(value, &type);
      if (key != "resources") return Skip();
      return ForEachElement(value,
                            [&](JsonValue& resource) { return ReadZoneResource(resource, &zone); });
    }));
    if (type != "Node") return FieldStatus();
    if (zone.name.empty()) return FieldStatus::Bad("name", "is missing");
    zones->push_back(std::move(zone));
    return FieldStatus();
  });
}

FieldStatus ReadAttributes(JsonValue& list, std::optional<NumaPolicy>* policy, NumaScope* scope) {
  return ForEachElement(list, [&](JsonValue& element) {
    std::string name, text;
    KAI_RETURN_IF_BAD(ForEachMember(element, [&](std::string_view key, JsonValue& value) {
      if (key == "name") return ReadString(value, &name);
      return key == "value" ? ReadString(value, &text) : Skip();
    }));
    if (name == "topologyManagerPolicy") *policy = PolicyNamed(text);
    if (name == "topologyManagerScope")
      *scope = text == "pod" ? NumaScope::kPod : NumaScope::kContainer;
    return FieldStatus();
  });
}

FieldStatus ReadFields(JsonObject object, NodeZonesRow* row) {
  std::optional<NumaPolicy> policy;
  NumaScope scope = NumaScope::kContainer;
  std::vector<std::string> older;
  KAI_RETURN_IF_BAD(ForEachMember(object, [&](std::string_view key, JsonValue& value) {
    if (key == "metadata") return ReadMetadata(value, row);
    if (key == "zones") return ReadZones(value, &row->zones);
    if (key == "attributes") return ReadAttributes(value, &policy, &scope);
    return key == "topologyPolicies" ? ReadStrings(value, &older) : Skip();
  }));
  KAI_RETURN_IF_BAD(RequireName(row->name));
  const Manager manager = policy           ? Manager{*policy, scope}
                          : !older.empty() ? ManagerNamed(older.front())
                                           : Manager{};
  row->policy = manager.policy;
  row->scope = manager.scope;
  return FieldStatus();
}

}  // namespace

std::optional<Rejection> ReadNodeZones(JsonObject object, NodeZonesRow* row) {
  return RejectIfBad("NodeResourceTopology", object, ReadFields(object, row));
}

FieldStatus ReadZoneAmounts(JsonValue& list, std::vector<ZoneAmountsRow>* zones) {
  zones->clear();
  return ForEachElement(list, [&](JsonValue& element) {
    ZoneAmountsRow& zone = zones->emplace_back();
    return ForEachMember(element, [&](std::string_view key, JsonValue& value) {
      if (key == "zone") return ReadString(value, &zone.zone);
      if (key != "amount") return Skip();
      zone.amounts.clear();
      return ForEachEntry(value, [&](std::string_view resource, JsonValue& amount) {
        return ReadAmountOf(resource, amount, &zone.amounts);
      });
    });
  });
}

ZoneRecordRow ReadZoneRecord(ZoneRecordRow::Source source, std::string_view text) {
  ZoneRecordRow record{.source = source};
  JsonDocument document;  // parses objects only, so the list is wrapped
  const std::string wrapped = StrCat("{\"record\":", text, "}");
  const absl::StatusOr<JsonObject> object = document.Parse(wrapped);
  if (!object.ok()) {
    record.problem = "is not valid JSON";  // no position, as it would count the wrapper
    return record;
  }
  FieldStatus status = ForEachMember(*object, [&](std::string_view, JsonValue& value) {
    return ReadZoneAmounts(value, &record.zones);
  });
  if (status.ok()) return record;
  record.zones.clear();
  const std::string where = status.field().substr(std::string_view("record").size());
  record.problem = StrCat(where, where.empty() ? "" : ": ", status.message());
  return record;
}

}  // namespace kai
