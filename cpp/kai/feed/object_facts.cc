#include "kai/feed/object_facts.h"

#include <utility>

#include "absl/hash/hash.h"
#include "kai/api/keys.h"
#include "kai/feed/watch_event.h"
#include "kai/ingest/field_managers.h"

namespace kai {
namespace {

// Skips a value that is not a string, and continues with the next one.
FieldStatus Take(JsonValue& value, std::string* out) {
  const FieldStatus ignored = ReadString(value, out);
  return Skip();
}

FieldStatus TakeCondition(JsonValue& element, PodVerdict* out) {
  std::string type;
  PodVerdict found;
  const FieldStatus ignored = ForEachMember(element, [&](std::string_view key, JsonValue& value) {
    if (key == "type") return Take(value, &type);
    if (key == "status") return Take(value, &found.status);
    if (key == "reason") return Take(value, &found.reason);
    return key == "message" ? Take(value, &found.message) : Skip();
  });
  if (type != "PodScheduled") return Skip();
  found.nominated_node = std::move(out->nominated_node);
  *out = std::move(found);
  return Skip();
}

FieldStatus TakeStatus(JsonValue& status, PodReading* out) {
  PodVerdict& verdict = out->verdict;
  return ForEachMember(status, [&](std::string_view key, JsonValue& value) {
    if (key == "nominatedNodeName") return Take(value, &verdict.nominated_node);
    if (key == "reason") return Take(value, &out->reason);
    if (key == "message") return Take(value, &out->message);
    if (key != "conditions") return Skip();
    const FieldStatus ignored =
        ForEachElement(value, [&](JsonValue& element) { return TakeCondition(element, &verdict); });
    return Skip();
  });
}

}  // namespace

size_t HashOfPart(const PodVerdict& verdict) {
  return absl::HashOf(verdict.status, verdict.reason, verdict.message, verdict.nominated_node);
}

PodReading ReadPodReading(JsonObject pod) {
  PodReading reading;
  std::string_view labels, annotations, owners, gates;
  bool is_deleted = false;
  const FieldStatus ignored = ForEachMember(pod, [&](std::string_view key, JsonValue& value) {
    FieldStatus part;
    if (key == "metadata") {
      part = ForEachMember(value, [&](std::string_view member, JsonValue& its) {
        if (member == "uid") return Take(its, &reading.uid);
        if (member == "labels") labels = RawJson(its);
        if (member == "annotations") annotations = RawJson(its);
        if (member == "ownerReferences") owners = RawJson(its);
        if (member == "deletionTimestamp") is_deleted = true;
        return Skip();
      });
    } else if (key == "spec") {
      part = ForEachMember(value, [&](std::string_view member, JsonValue& its) {
        if (member == "schedulerName") return Take(its, &reading.scheduler);
        if (member == "nodeName") return Take(its, &reading.node);
        if (member == "schedulingGates") gates = RawJson(its);
        return Skip();
      });
    } else if (key == "status") {
      part = TakeStatus(value, &reading);
    }
    return Skip();
  });
  // A nomination by another scheduler is not part of our verdict.
  std::string& nominated = reading.verdict.nominated_node;
  if (!nominated.empty() && !OwnsStatusField(pod, keys::kFieldManager, "nominatedNodeName"))
    nominated.clear();
  reading.digest = absl::HashOf(reading.uid, labels, annotations, owners, gates, is_deleted);
  return reading;
}

GroupFacts ReadGroupFacts(JsonObject group) {
  GroupFacts facts;
  const FieldStatus ignored = ForEachMember(group, [&](std::string_view key, JsonValue& value) {
    FieldStatus part;
    if (key == "metadata") {
      part = ForEachMember(value, [&](std::string_view member, JsonValue& its) {
        if (member == "uid") return Take(its, &facts.uid);
        if (member != "annotations") return Skip();
        const FieldStatus unread = ForEachEntry(its, [&](std::string_view name, JsonValue& text) {
          if (name == keys::kLastStart) return Take(text, &facts.last_start);
          if (name == keys::kStaleSince) return Take(text, &facts.stale_since);
          if (name == keys::kAttainedService) return Take(text, &facts.attained_service);
          return name == keys::kLastEviction ? Take(text, &facts.last_eviction) : Skip();
        });
        return Skip();
      });
    } else if (key == "status") {
      part = ForEachMember(value, [&](std::string_view member, JsonValue& its) {
        if (member == "schedulingConditions") facts.conditions = RawJson(its);
        if (member == "resourcesStatus") facts.resources_status = RawJson(its);
        return Skip();
      });
    }
    return Skip();
  });
  return facts;
}

std::string ReadRawStatus(JsonObject object) {
  std::string status;
  const FieldStatus ignored = ForEachMember(object, [&](std::string_view key, JsonValue& value) {
    if (key == "status") status = RawJson(value);
    return Skip();
  });
  return status;
}

}  // namespace kai
