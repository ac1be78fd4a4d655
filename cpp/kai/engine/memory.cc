#include "kai/engine/memory.h"

#include <utility>

#include "kai/base/text.h"
#include "kai/ingest/bind_request_reader.h"
#include "kai/ingest/json_document.h"
#include "kai/model/claims/extended_claims.h"
#include "kai/model/rows/rows.h"
#include "kai/session/json_writer.h"
#include "kai/session/plan_json.h"

namespace kai {
namespace {

constexpr int64_t kVersion = 1;

// ---- writing ------------------------------------------------------------------------------------

void WriteNumber(std::string_view key, int64_t value, JsonWriter* json) {
  json->Key(key);
  json->Int(value);
}

void WriteNames(std::string_view key, const std::vector<std::string>& names, JsonWriter* json) {
  json->Key(key);
  json->Begin('[');
  for (const std::string& name : names) json->String(name);
  json->End(']');
}

void WriteRequirements(std::string_view key, const std::vector<SelectorRequirement>& requirements,
                       JsonWriter* json) {
  json->Key(key);
  json->Begin('[');
  for (const SelectorRequirement& each : requirements) {
    json->Begin('{');
    json->Pair("key", each.key);
    json->Pair("operator", NameOf(each.op));
    WriteNames("values", each.values, json);
    json->End('}');
  }
  json->End(']');
}

void WriteAllocation(const ClaimAllocationRow& allocation, JsonWriter* json) {
  json->Begin('{');
  json->Key("devices");
  json->Begin('{');
  json->Key("results");
  json->Begin('[');
  for (const ClaimAllocationRow::Given& given : allocation.devices) {
    json->Begin('{');
    json->Pair("request", given.request);
    json->Pair("driver", given.device.driver);
    json->Pair("pool", given.device.pool);
    json->Pair("device", given.device.device);
    json->Key("adminAccess");
    json->Bool(given.admin_access);
    json->End('}');
  }
  json->End(']');
  json->End('}');
  if (allocation.has_node_selector) {
    json->Key("nodeSelector");
    json->Begin('{');
    json->Key("nodeSelectorTerms");
    json->Begin('[');
    for (const NodeSelectorTerm& term : allocation.node_selector) {
      json->Begin('{');
      WriteRequirements("matchExpressions", term.expressions, json);
      WriteRequirements("matchFields", term.fields, json);
      json->End('}');
    }
    json->End(']');
    json->End('}');
  }
  json->End('}');
}

void WriteClaims(const BindRequestRow& request, JsonWriter* json) {
  json->Key("resourceClaimAllocations");
  json->Begin('[');
  for (const auto& [name, allocation] : request.claims) {
    if (name == kExtendedClaim) continue;
    json->Begin('{');
    json->Pair("name", name);
    json->Key("allocation");
    WriteAllocation(allocation, json);
    json->End('}');
  }
  json->End(']');
  for (const auto& [name, allocation] : request.claims) {
    if (name != kExtendedClaim) continue;
    json->Key("extendedResourceClaimAllocation");
    json->Begin('{');
    json->Key("allocation");
    WriteAllocation(allocation, json);
    json->End('}');
  }
}

void WriteZones(const BindRequestRow& request, JsonWriter* json) {
  json->Key("predictedNUMAZones");
  json->Begin('[');
  for (const ZoneAmountsRow& zone : request.zones) {
    json->Begin('{');
    json->Pair("zone", zone.zone);
    json->Key("amount");
    json->Begin('{');
    for (const auto& [resource, amount] : zone.amounts)
      json->Pair(resource, StrCat(amount, resource == "cpu" ? "m" : ""));
    json->End('}');
    json->End('}');
  }
  json->End(']');
}

// In Kubernetes' format.
void WriteRequest(const BindRequestRow& request, JsonWriter* json) {
  json->Begin('{');
  json->Key("metadata");
  json->Begin('{');
  json->Pair("namespace", request.namespace_name);
  json->Pair("name", request.name);
  json->End('}');
  json->Key("spec");
  json->Begin('{');
  json->Pair("podName", request.pod);
  json->Pair("selectedNode", request.node);
  json->Pair("receivedResourceType", request.received_type);
  WriteNames("selectedGPUGroups", request.gpu_groups, json);
  WriteZones(request, json);
  WriteClaims(request, json);
  if (request.backoff_limit) WriteNumber("backoffLimit", *request.backoff_limit, json);
  json->End('}');
  json->Key("status");
  json->Begin('{');
  json->Pair("phase", request.phase);
  WriteNumber("failedAttempts", request.failed_attempts, json);
  json->End('}');
  json->End('}');
}

void WriteAssumed(const Assumptions::All& assumed, JsonWriter* json) {
  json->Begin('{');
  WriteNumber("last_id", assumed.last_id, json);
  json->Key("bound");
  json->Begin('[');
  for (const Assumptions::Bound& each : assumed.bound) {
    json->Begin('{');
    WriteNumber("id", each.id, json);
    json->Pair("uid", each.uid);
    json->Key("request");
    WriteRequest(each.request, json);
    json->Key("replaces");
    json->Bool(each.replaces);
    json->End('}');
  }
  json->End(']');
  json->Key("evicted");
  json->Begin('[');
  for (const Assumptions::Evicted& each : assumed.evicted) {
    json->Begin('{');
    WriteNumber("id", each.id, json);
    json->Pair("pod", each.pod);
    json->Pair("uid", each.uid);
    WriteNumber("at_ns", each.at_ns, json);
    json->End('}');
  }
  json->End(']');
  json->End('}');
}

void WriteEvicted(std::string_view key, const std::vector<EvictedPod>& pods, JsonWriter* json) {
  json->Key(key);
  json->Begin('[');
  for (const EvictedPod& each : pods) {
    json->Begin('{');
    json->Pair("pod_group", StrCat(each.namespace_name, "/", each.pod_group));
    json->Pair("pod", each.pod);
    json->Pair("node", each.node);
    json->End('}');
  }
  json->End(']');
}

void WriteEvictor(const Evictor& evictor, JsonWriter* json) {
  json->Begin('{');
  json->Pair("pod_group", StrCat(evictor.namespace_name, "/", evictor.pod_group));
  json->Pair("queue", evictor.queue);
  WriteNumber("created_ns", evictor.created_ns, json);
  WriteNumber("unkept", evictor.unkept, json);
  WriteNumber("since_ns", evictor.since_ns, json);
  WriteNumber("evicted_ns", evictor.evicted_ns, json);
  WriteEvicted("victims", evictor.victims, json);
  WriteEvicted("lost", evictor.lost, json);
  WriteNumber("lost_ns", evictor.lost_ns, json);
  json->End('}');
}

// ---- reading ------------------------------------------------------------------------------------

FieldStatus Require(const std::string& text, std::string_view field) {
  return text.empty() ? FieldStatus::Bad(std::string(field), "is missing") : FieldStatus();
}

FieldStatus ReadRequest(JsonValue& value, BindRequestRow* request) {
  JsonObject object;
  KAI_RETURN_IF_BAD(ReadObject(value, &object));
  if (const std::optional<Rejection> bad = ReadBindRequest(object, request))
    return FieldStatus::Bad(bad->field, bad->message);
  return Require(request->pod, "spec.podName");
}

FieldStatus ReadBound(JsonValue& value, Assumptions::Bound* bound) {
  KAI_RETURN_IF_BAD(ForEachMember(value, [&](std::string_view key, JsonValue& part) {
    if (key == "id") return ReadInt(part, &bound->id, 1);
    if (key == "uid") return ReadString(part, &bound->uid);
    if (key == "replaces") return ReadBool(part, &bound->replaces);
    return key == "request" ? ReadRequest(part, &bound->request) : Skip();
  }));
  if (bound->id == 0) return FieldStatus::Bad("id", "is missing");
  return Require(bound->request.name, "request");
}

FieldStatus ReadEvicted(JsonValue& value, Assumptions::Evicted* evicted) {
  KAI_RETURN_IF_BAD(ForEachMember(value, [&](std::string_view key, JsonValue& part) {
    if (key == "id") return ReadInt(part, &evicted->id, 1);
    if (key == "pod") return ReadString(part, &evicted->pod);
    if (key == "uid") return ReadString(part, &evicted->uid);
    return key == "at_ns" ? ReadInt(part, &evicted->at_ns) : Skip();
  }));
  if (evicted->id == 0) return FieldStatus::Bad("id", "is missing");
  return Require(evicted->pod, "pod");
}

FieldStatus ReadAssumed(JsonValue& value, Assumptions::All* assumed) {
  return ForEachMember(value, [&](std::string_view key, JsonValue& part) {
    if (key == "last_id") return ReadInt(part, &assumed->last_id, 0);
    if (key == "bound") {
      return ForEachElement(
          part, [&](JsonValue& each) { return ReadBound(each, &assumed->bound.emplace_back()); });
    }
    if (key != "evicted") return Skip();
    return ForEachElement(
        part, [&](JsonValue& each) { return ReadEvicted(each, &assumed->evicted.emplace_back()); });
  });
}

// "namespace/name", of a Promise, an Evictor or an EvictedPod.
template <typename Remembered>
FieldStatus SetGroup(std::string_view group, Remembered* each) {
  const size_t slash = group.find('/');
  if (slash == std::string_view::npos || slash == 0 || slash + 1 == group.size())
    return FieldStatus::Bad("pod_group", "expected \"namespace/name\"");
  each->namespace_name = group.substr(0, slash);
  each->pod_group = group.substr(slash + 1);
  return FieldStatus();
}

FieldStatus ReadEvicted(JsonValue& value, EvictedPod* evicted) {
  std::string group;
  KAI_RETURN_IF_BAD(ForEachMember(value, [&](std::string_view key, JsonValue& part) {
    if (key == "pod_group") return ReadString(part, &group);
    if (key == "pod") return ReadString(part, &evicted->pod);
    return key == "node" ? ReadString(part, &evicted->node) : Skip();
  }));
  KAI_RETURN_IF_BAD(SetGroup(group, evicted));
  return Require(evicted->pod, "pod");
}

FieldStatus ReadEvictor(JsonValue& value, Evictor* evictor) {
  std::string group;
  KAI_RETURN_IF_BAD(ForEachMember(value, [&](std::string_view key, JsonValue& part) {
    if (key == "pod_group") return ReadString(part, &group);
    if (key == "queue") return ReadString(part, &evictor->queue);
    if (key == "created_ns") return ReadInt(part, &evictor->created_ns);
    if (key == "unkept") return ReadInt(part, &evictor->unkept, 0);
    if (key == "since_ns") return ReadInt(part, &evictor->since_ns);
    if (key == "evicted_ns") return ReadInt(part, &evictor->evicted_ns);
    if (key == "lost_ns") return ReadInt(part, &evictor->lost_ns);
    if (key != "victims" && key != "lost") return Skip();
    std::vector<EvictedPod>& pods = key == "lost" ? evictor->lost : evictor->victims;
    return ForEachElement(part,
                          [&](JsonValue& each) { return ReadEvicted(each, &pods.emplace_back()); });
  }));
  return SetGroup(group, evictor);
}

FieldStatus ReadPromise(JsonValue& value, Promise* promise) {
  std::string group;
  KAI_RETURN_IF_BAD(ForEachMember(value, [&](std::string_view key, JsonValue& part) {
    if (key == "pod_group") return ReadString(part, &group);
    if (key == "queue") return ReadString(part, &promise->queue);
    if (key == "created_ns") return ReadInt(part, &promise->created_ns);
    if (key == "pod_set") return ReadString(part, &promise->pod_set);
    if (key == "pod") return ReadString(part, &promise->pod);
    if (key == "node") return ReadString(part, &promise->node);
    if (key == "gpus") return ReadStrings(part, &promise->gpus);
    return key == "kept_ns" ? ReadInt(part, &promise->kept_ns) : Skip();
  }));
  KAI_RETURN_IF_BAD(SetGroup(group, promise));
  return Require(promise->node, "node");
}

FieldStatus ReadTrusted(JsonValue& value, TrustedTime* trusted) {
  return ForEachMember(value, [&](std::string_view key, JsonValue& part) {
    if (key == "from_ns") return ReadInt(part, &trusted->from_ns);
    return key == "until_ns" ? ReadInt(part, &trusted->until_ns) : Skip();
  });
}

}  // namespace

std::string MemoryJson(const EngineMemory& memory) {
  JsonWriter json;
  json.Begin('{');
  WriteNumber("version", kVersion, &json);
  json.Key("assumed");
  WriteAssumed(memory.assumed, &json);
  json.Key("evictors");
  json.Begin('[');
  for (const Evictor& each : memory.evictors) WriteEvictor(each, &json);
  json.End(']');
  json.Key("promises");
  json.Begin('[');
  for (const Promise& each : memory.promises) {
    json.Begin('{');
    json.Pair("pod_group", StrCat(each.namespace_name, "/", each.pod_group));
    json.Pair("queue", each.queue);
    WriteNumber("created_ns", each.created_ns, &json);
    json.Pair("pod_set", each.pod_set);
    json.Pair("pod", each.pod);
    json.Pair("node", each.node);
    WriteNames("gpus", each.gpus, &json);
    WriteNumber("kept_ns", each.kept_ns, &json);
    json.End('}');
  }
  json.End(']');
  if (memory.trusted != TrustedTime()) {
    json.Key("trusted");
    json.Begin('{');
    WriteNumber("from_ns", memory.trusted.from_ns, &json);
    WriteNumber("until_ns", memory.trusted.until_ns, &json);
    json.End('}');
  }
  json.End('}');
  return std::move(json).Take();
}

absl::StatusOr<EngineMemory> ReadMemory(std::string_view json) {
  JsonDocument document;
  const absl::StatusOr<JsonObject> object = document.Parse(json);
  if (!object.ok()) {
    return absl::InvalidArgumentError(StrCat("memory: ", std::string(object.status().message())));
  }
  EngineMemory memory;
  int64_t version = 0;
  FieldStatus status = ForEachMember(*object, [&](std::string_view key, JsonValue& value) {
    if (key == "version") return ReadInt(value, &version);
    if (key == "assumed") return ReadAssumed(value, &memory.assumed);
    if (key == "trusted") return ReadTrusted(value, &memory.trusted);
    if (key == "evictors") {
      memory.evictors.clear();
      return ForEachElement(value, [&](JsonValue& each) {
        return ReadEvictor(each, &memory.evictors.emplace_back());
      });
    }
    if (key != "promises") return Skip();
    memory.promises.clear();
    return ForEachElement(
        value, [&](JsonValue& each) { return ReadPromise(each, &memory.promises.emplace_back()); });
  });
  if (status.ok() && version != kVersion)
    status = FieldStatus::Bad("version", StrCat("expected ", kVersion, ", found ", version));
  if (status.ok()) return memory;
  return absl::InvalidArgumentError(
      StrCat("memory: ", status.field(), status.field().empty() ? "" : ": ", status.message()));
}

}  // namespace kai
