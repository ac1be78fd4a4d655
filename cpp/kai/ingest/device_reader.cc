#include "kai/ingest/device_reader.h"

#include <algorithm>
#include <utility>

#include "kai/base/quote.h"
#include "kai/base/text.h"
#include "kai/ingest/metadata_reader.h"
#include "kai/ingest/resource_list.h"
#include "kai/ingest/scheduling_terms.h"

namespace kai {
namespace {

// {"string": "A100"}, or another type.
FieldStatus ReadAttribute(JsonValue& value, std::optional<AttributeValue>* out) {
  return ForEachMember(value, [&](std::string_view kind, JsonValue& part) {
    if (kind == "bool") {
      bool is = false;
      KAI_RETURN_IF_BAD(ReadBool(part, &is));
      *out = is;
    } else if (kind == "int") {
      int64_t number = 0;
      KAI_RETURN_IF_BAD(ReadInt(part, &number));
      *out = number;
    } else if (kind == "string" || kind == "version") {
      std::string text;
      KAI_RETURN_IF_BAD(ReadString(part, &text));
      if (kind == "version") {
        absl::StatusOr<Semver> version = Semver::Parse(text);
        if (!version.ok()) return FieldStatus::Bad(std::string(version.status().message()));
        *out = *std::move(version);
      } else {
        *out = std::move(text);
      }
    }
    return FieldStatus();
  });
}

// {"value": "80Gi"}. The rules for sharing a capacity are skipped, as KAI lets no claims share one.
FieldStatus ReadCapacity(JsonValue& value, Quantity* out) {
  if (RawToken(value).front() != '{') return ReadQuantity(value, out);
  return ForEachMember(value, [&](std::string_view key, JsonValue& part) {
    return key == "value" ? ReadQuantity(part, out) : Skip();
  });
}

FieldStatus ReadCounters(JsonValue& map, ByName<Quantity>* out) {
  return ForEachEntry(map, [&](std::string_view name, JsonValue& value) {
    return ReadCapacity(value, &(*out)[std::string(name)]);
  });
}

FieldStatus ReadCounterUses(JsonValue& list, std::vector<CounterUse>* out) {
  out->clear();
  return ForEachElement(list, [&](JsonValue& element) {
    CounterUse& use = out->emplace_back();
    return ForEachMember(element, [&](std::string_view key, JsonValue& value) {
      if (key == "counterSet") return ReadString(value, &use.counter_set);
      return key == "counters" ? ReadCounters(value, &use.counters) : Skip();
    });
  });
}

FieldStatus ReadCounterSets(JsonValue& list, std::vector<CounterSet>* out) {
  out->clear();
  return ForEachElement(list, [&](JsonValue& element) {
    CounterSet& set = out->emplace_back();
    return ForEachMember(element, [&](std::string_view key, JsonValue& value) {
      if (key == "name") return ReadString(value, &set.name);
      return key == "counters" ? ReadCounters(value, &set.counters) : Skip();
    });
  });
}

// A device before its driver is known, which is the domain of names without one.
struct DeviceDraft {
  Device device;
  std::vector<std::pair<std::string, AttributeValue>> attributes;
  std::vector<std::pair<std::string, Quantity>> capacity;
};

FieldStatus ReadDeviceMember(std::string_view key, JsonValue& value, DeviceDraft* draft) {
  if (key == "attributes") {
    return ForEachEntry(value, [&](std::string_view name, JsonValue& part) {
      std::optional<AttributeValue> attribute;
      KAI_RETURN_IF_BAD(ReadAttribute(part, &attribute));
      if (attribute) draft->attributes.emplace_back(name, *std::move(attribute));
      return FieldStatus();
    });
  }
  if (key == "capacity") {
    return ForEachEntry(value, [&](std::string_view name, JsonValue& part) {
      return ReadCapacity(part, &draft->capacity.emplace_back(name, Quantity()).second);
    });
  }
  if (key == "consumesCounters") return ReadCounterUses(value, &draft->device.consumes);
  if (key == "allowMultipleAllocations") {
    return ReadBool(value, &draft->device.allow_multiple_allocations);
  }
  if (key == "bindingConditions") {
    draft->device.has_binding_conditions = false;
    return ForEachElement(value, [&](JsonValue&) {
      draft->device.has_binding_conditions = true;
      return Skip();
    });
  }
  return Skip();
}

FieldStatus ReadDevices(JsonValue& list, std::vector<DeviceDraft>* out) {
  out->clear();
  return ForEachElement(list, [&](JsonValue& element) {
    DeviceDraft& draft = out->emplace_back();
    return ForEachMember(element, [&](std::string_view key, JsonValue& value) {
      if (key == "name") return ReadString(value, &draft.device.name);
      if (key != "basic") return ReadDeviceMember(key, value, &draft);
      return ForEachMember(value, [&](std::string_view member, JsonValue& part) {
        return ReadDeviceMember(member, part, &draft);
      });
    });
  });
}

FieldStatus ReadPool(JsonValue& value, ResourceSlice* slice) {
  return ForEachMember(value, [&](std::string_view key, JsonValue& part) {
    if (key == "name") return ReadString(part, &slice->pool);
    if (key == "generation") return ReadInt(part, &slice->generation);
    return key == "resourceSliceCount" ? ReadInt(part, &slice->slices_in_pool) : Skip();
  });
}

FieldStatus ReadSliceSpec(JsonValue& spec, ResourceSliceRow* row,
                          std::vector<DeviceDraft>* drafts) {
  return ForEachMember(spec, [&](std::string_view key, JsonValue& value) {
    if (key == "nodeName") return ReadString(value, &row->node);
    if (key == "driver") return ReadString(value, &row->slice.driver);
    if (key == "pool") return ReadPool(value, &row->slice);
    if (key == "allNodes") return ReadBool(value, &row->all_nodes);
    if (key == "perDeviceNodeSelection") return ReadBool(value, &row->slice.nodes_per_device);
    if (key == "sharedCounters") return ReadCounterSets(value, &row->slice.counter_sets);
    if (key == "devices") return ReadDevices(value, drafts);
    if (key != "nodeSelector") return Skip();
    row->has_node_selector = true;
    return ForEachMember(value, [&](std::string_view member, JsonValue& terms) {
      return member == "nodeSelectorTerms" ? ReadNodeSelectorTerms(terms, &row->node_selector)
                                           : Skip();
    });
  });
}

FieldStatus ReadSliceFields(JsonObject object, ResourceSliceRow* row) {
  std::vector<DeviceDraft> drafts;
  KAI_RETURN_IF_BAD(ForEachMember(object, [&](std::string_view key, JsonValue& value) {
    if (key == "metadata") return ReadMetadata(value, row);
    return key == "spec" ? ReadSliceSpec(value, row, &drafts) : Skip();
  }));
  row->slice.name = row->name;
  for (DeviceDraft& draft : drafts) {
    Device& device = row->slice.devices.emplace_back(std::move(draft.device));
    device.driver = row->slice.driver;
    device.pool = row->slice.pool;
    for (auto& [name, value] : draft.attributes) device.SetAttribute(name, std::move(value));
    for (const auto& [name, value] : draft.capacity) device.SetCapacity(name, {.value = value});
  }
  if (NamesGpu(row->slice.driver)) row->gpus = static_cast<int64_t>(row->slice.devices.size());
  return RequireName(row->name);
}

FieldStatus ReadClassFields(JsonObject object, DeviceClassRow* row) {
  KAI_RETURN_IF_BAD(ForEachMember(object, [&](std::string_view key, JsonValue& value) {
    if (key == "metadata") return ReadMetadata(value, row);
    if (key != "spec") return Skip();
    return ForEachMember(value, [&](std::string_view member, JsonValue& part) {
      if (member == "selectors") return ReadDeviceSelectors(part, &row->selectors);
      return member == "extendedResourceName" ? ReadString(part, &row->extended_resource) : Skip();
    });
  }));
  return RequireName(row->name);
}

}  // namespace

bool NamesGpu(std::string_view name) {
  constexpr std::string_view kGpu = "gpu";
  const auto same = [](char a, char b) { return (a | 0x20) == b; };
  return std::search(name.begin(), name.end(), kGpu.begin(), kGpu.end(), same) != name.end();
}

FieldStatus ReadDeviceSelectors(JsonValue& list, std::vector<std::string>* out) {
  out->clear();
  return ForEachElement(list, [&](JsonValue& element) {
    // A selector of another kind than CEL selects nothing: its empty expression is an error.
    std::string& expression = out->emplace_back();
    return ForEachMember(element, [&](std::string_view key, JsonValue& value) {
      if (key != "cel") return Skip();
      return ForEachMember(value, [&](std::string_view member, JsonValue& part) {
        return member == "expression" ? ReadString(part, &expression) : Skip();
      });
    });
  });
}

std::optional<Rejection> ReadResourceSlice(JsonObject object, ResourceSliceRow* row) {
  return RejectIfBad("ResourceSlice", object, ReadSliceFields(object, row));
}

std::optional<Rejection> ReadDeviceClass(JsonObject object, DeviceClassRow* row) {
  return RejectIfBad("DeviceClass", object, ReadClassFields(object, row));
}

}  // namespace kai
