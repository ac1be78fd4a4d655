#include "kai/ingest/storage_reader.h"

#include <string>
#include <string_view>

#include "kai/api/keys.h"
#include "kai/ingest/metadata_reader.h"
#include "kai/ingest/resource_list.h"
#include "kai/ingest/scheduling_terms.h"

namespace kai {
namespace {

FieldStatus ReadBytes(JsonValue& value, std::optional<int64_t>* out) {
  int64_t bytes = 0;
  KAI_RETURN_IF_BAD(ReadAmount(value, ResourceKind::kBytes, &bytes));
  *out = bytes;
  return FieldStatus();
}

// The member `storage` of a resource list.
FieldStatus ReadStorage(JsonValue& list, int64_t* out) {
  return ForEachEntry(list, [&](std::string_view name, JsonValue& value) {
    return name == "storage" ? ReadAmount(value, ResourceKind::kBytes, out) : Skip();
  });
}

FieldStatus ReadIs(std::string_view word, JsonValue& value, bool* out) {
  JsonText text;
  KAI_RETURN_IF_BAD(text.Read(value));
  *out = text.view() == word;
  return FieldStatus();
}

// Reads metadata, and passes annotations and owners to `read`.
template <typename Row, typename ReadPart>
FieldStatus ReadMetadataAnd(JsonValue& metadata, Row* row, const ReadPart& read) {
  return ForEachMember(metadata, [&](std::string_view key, JsonValue& value) {
    return key == "annotations" || key == "ownerReferences" ? read(key, value)
                                                            : ReadMetadataMember(key, value, row);
  });
}

FieldStatus ReadOwners(JsonValue& owners, PersistentVolumeClaimRow* row) {
  int count = 0;
  return ForEachElement(owners, [&](JsonValue& owner) {
    std::string kind, its_uid;
    KAI_RETURN_IF_BAD(ForEachMember(owner, [&](std::string_view key, JsonValue& value) {
      if (key == "kind") return ReadString(value, &kind);
      return key == "uid" ? ReadString(value, &its_uid) : Skip();
    }));
    if (kind == "Pod") row->owner_pod_uid = std::move(its_uid);
    row->has_other_owners = ++count > 1;
    return FieldStatus();
  });
}

FieldStatus ReadClaimFields(JsonObject object, PersistentVolumeClaimRow* row) {
  std::string class_of_spec, class_of_annotation, phase;
  KAI_RETURN_IF_BAD(ForEachMember(object, [&](std::string_view key, JsonValue& value) {
    if (key == "metadata") {
      return ReadMetadataAnd(value, row, [&](std::string_view member, JsonValue& part) {
        if (member == "ownerReferences") return ReadOwners(part, row);
        return ForEachEntry(part, [&](std::string_view name, JsonValue& text) {
          if (name == keys::kBindCompleted) row->bind_completed = true;
          if (name == keys::kSelectedNode) return ReadString(text, &row->selected_node);
          return name == keys::kStorageClass ? ReadString(text, &class_of_annotation) : Skip();
        });
      });
    }
    if (key == "spec") {
      return ForEachMember(value, [&](std::string_view member, JsonValue& part) {
        if (member == "volumeName") return ReadString(part, &row->volume);
        if (member == "storageClassName") return ReadString(part, &class_of_spec);
        if (member == "accessModes") return ReadStrings(part, &row->access_modes);
        if (member == "selector") return ReadLabelSelector(part, &row->selector);
        if (member == "volumeMode") return ReadIs("Block", part, &row->is_block);
        if (member != "resources") return Skip();
        return ForEachMember(part, [&](std::string_view list, JsonValue& amounts) {
          return list == "requests" ? ReadStorage(amounts, &row->bytes) : Skip();
        });
      });
    }
    if (key != "status") return Skip();
    return ForEachMember(value, [&](std::string_view member, JsonValue& part) {
      return member == "phase" ? ReadString(part, &phase) : Skip();
    });
  }));
  row->is_lost = phase == "Lost";
  row->is_bound = phase == "Bound";
  row->storage_class = class_of_annotation.empty() ? class_of_spec : class_of_annotation;
  return RequireName(row->name);
}

FieldStatus ReadClaimReference(JsonValue& value, PersistentVolumeRow* row) {
  return ForEachMember(value, [&](std::string_view key, JsonValue& part) {
    if (key == "namespace") return ReadString(part, &row->claim_namespace);
    if (key == "name") return ReadString(part, &row->claim_name);
    return key == "uid" ? ReadString(part, &row->claim_uid) : Skip();
  });
}

FieldStatus ReadVolumeSpec(JsonValue& spec, PersistentVolumeRow* row) {
  return ForEachMember(spec, [&](std::string_view member, JsonValue& part) {
    if (member == "storageClassName") return ReadString(part, &row->storage_class);
    if (member == "accessModes") return ReadStrings(part, &row->access_modes);
    if (member == "capacity") return ReadStorage(part, &row->bytes);
    if (member == "volumeMode") return ReadIs("Block", part, &row->is_block);
    if (member == "claimRef") return ReadClaimReference(part, row);
    if (member == "csi") {
      return ForEachMember(part, [&](std::string_view key, JsonValue& text) {
        if (key == "driver") return ReadString(text, &row->csi_driver);
        return key == "volumeHandle" ? ReadString(text, &row->csi_handle) : Skip();
      });
    }
    if (member != "nodeAffinity") return Skip();
    return ForEachMember(part, [&](std::string_view key, JsonValue& required) {
      if (key != "required") return Skip();
      row->has_node_affinity = true;
      return ForEachMember(required, [&](std::string_view list, JsonValue& terms) {
        return list == "nodeSelectorTerms" ? ReadNodeSelectorTerms(terms, &row->node_affinity)
                                           : Skip();
      });
    });
  });
}

FieldStatus ReadVolumeFields(JsonObject object, PersistentVolumeRow* row) {
  std::string class_of_annotation;
  KAI_RETURN_IF_BAD(ForEachMember(object, [&](std::string_view key, JsonValue& value) {
    if (key == "metadata") {
      return ReadMetadataAnd(value, row, [&](std::string_view member, JsonValue& part) {
        if (member != "annotations") return Skip();
        return ForEachEntry(part, [&](std::string_view name, JsonValue& text) {
          return name == keys::kStorageClass ? ReadString(text, &class_of_annotation) : Skip();
        });
      });
    }
    if (key == "spec") return ReadVolumeSpec(value, row);
    if (key != "status") return Skip();
    return ForEachMember(value, [&](std::string_view member, JsonValue& part) {
      return member == "phase" ? ReadIs("Available", part, &row->is_available) : Skip();
    });
  }));
  if (!class_of_annotation.empty()) row->storage_class = class_of_annotation;
  return RequireName(row->name);
}

// allowedTopologies: terms of {key, values}.
FieldStatus ReadTopologies(JsonValue& list, std::vector<NodeSelectorTerm>* out) {
  out->clear();
  return ForEachElement(list, [&](JsonValue& element) {
    NodeSelectorTerm& term = out->emplace_back();
    return ForEachMember(element, [&](std::string_view key, JsonValue& expressions) {
      if (key != "matchLabelExpressions") return Skip();
      return ForEachElement(expressions, [&](JsonValue& expression) {
        SelectorRequirement& requirement = term.expressions.emplace_back();
        return ForEachMember(expression, [&](std::string_view member, JsonValue& part) {
          if (member == "key") return ReadString(part, &requirement.key);
          return member == "values" ? ReadStrings(part, &requirement.values) : Skip();
        });
      });
    });
  });
}

FieldStatus ReadClassFields(JsonObject object, StorageClassRow* row) {
  KAI_RETURN_IF_BAD(ForEachMember(object, [&](std::string_view key, JsonValue& value) {
    if (key == "metadata") return ReadMetadata(value, row);
    if (key == "provisioner") return ReadString(value, &row->provisioner);
    if (key == "allowedTopologies") return ReadTopologies(value, &row->allowed_topologies);
    if (key != "volumeBindingMode") return Skip();
    return ReadIs("WaitForFirstConsumer", value, &row->waits_for_consumer);
  }));
  return RequireName(row->name);
}

FieldStatus ReadDriverFields(JsonObject object, CsiDriverRow* row) {
  KAI_RETURN_IF_BAD(ForEachMember(object, [&](std::string_view key, JsonValue& value) {
    if (key == "metadata") return ReadMetadata(value, row);
    if (key != "spec") return Skip();
    return ForEachMember(value, [&](std::string_view member, JsonValue& part) {
      return member == "storageCapacity" ? ReadBool(part, &row->reports_capacity) : Skip();
    });
  }));
  return RequireName(row->name);
}

FieldStatus ReadDriverOfNode(JsonValue& driver, CsiNodeRow* row) {
  std::string name;
  std::optional<int64_t> most;
  KAI_RETURN_IF_BAD(ForEachMember(driver, [&](std::string_view key, JsonValue& value) {
    if (key == "name") return ReadString(value, &name);
    if (key != "allocatable") return Skip();
    return ForEachMember(value, [&](std::string_view member, JsonValue& part) {
      return member == "count" ? ReadInt(part, &most, 0, kMaxInt32) : Skip();
    });
  }));
  if (most) row->most_volumes.emplace_back(std::move(name), *most);
  return FieldStatus();
}

FieldStatus ReadNodeFields(JsonObject object, CsiNodeRow* row) {
  KAI_RETURN_IF_BAD(ForEachMember(object, [&](std::string_view key, JsonValue& value) {
    if (key == "metadata") return ReadMetadata(value, row);
    if (key != "spec") return Skip();
    return ForEachMember(value, [&](std::string_view member, JsonValue& list) {
      if (member != "drivers") return Skip();
      row->most_volumes.clear();
      return ForEachElement(list, [&](JsonValue& driver) { return ReadDriverOfNode(driver, row); });
    });
  }));
  return RequireName(row->name);
}

FieldStatus ReadCapacityFields(JsonObject object, CsiStorageCapacityRow* row) {
  KAI_RETURN_IF_BAD(ForEachMember(object, [&](std::string_view key, JsonValue& value) {
    if (key == "metadata") return ReadMetadata(value, row);
    if (key == "storageClassName") return ReadString(value, &row->storage_class);
    if (key == "nodeTopology") return ReadLabelSelector(value, &row->nodes.emplace());
    if (key == "capacity") return ReadBytes(value, &row->bytes);
    return key == "maximumVolumeSize" ? ReadBytes(value, &row->largest_volume_bytes) : Skip();
  }));
  return RequireName(row->name);
}

}  // namespace

std::optional<Rejection> ReadPersistentVolumeClaim(JsonObject object,
                                                   PersistentVolumeClaimRow* row) {
  return RejectIfBad("PersistentVolumeClaim", object, ReadClaimFields(object, row));
}

std::optional<Rejection> ReadPersistentVolume(JsonObject object, PersistentVolumeRow* row) {
  return RejectIfBad("PersistentVolume", object, ReadVolumeFields(object, row));
}

std::optional<Rejection> ReadStorageClass(JsonObject object, StorageClassRow* row) {
  return RejectIfBad("StorageClass", object, ReadClassFields(object, row));
}

std::optional<Rejection> ReadCsiDriver(JsonObject object, CsiDriverRow* row) {
  return RejectIfBad("CSIDriver", object, ReadDriverFields(object, row));
}

std::optional<Rejection> ReadCsiNode(JsonObject object, CsiNodeRow* row) {
  return RejectIfBad("CSINode", object, ReadNodeFields(object, row));
}

std::optional<Rejection> ReadCsiStorageCapacity(JsonObject object, CsiStorageCapacityRow* row) {
  return RejectIfBad("CSIStorageCapacity", object, ReadCapacityFields(object, row));
}

}  // namespace kai
