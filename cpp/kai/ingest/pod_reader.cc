#include "kai/ingest/pod_reader.h"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "kai/api/accelerators.h"
#include "kai/api/keys.h"
#include "kai/base/parse.h"
#include "kai/base/text.h"
#include "kai/ingest/field_managers.h"
#include "kai/ingest/gpu_request.h"
#include "kai/ingest/metadata_reader.h"
#include "kai/ingest/pod_requests.h"
#include "kai/ingest/pod_resize.h"
#include "kai/ingest/resource_list.h"
#include "kai/ingest/scheduling_terms.h"
#include "kai/ingest/zone_reader.h"

namespace kai {
namespace {

struct Container {
  JsonText name;
  ContainerRequest request;
  bool sidecar = false;  // only init containers can be one
  struct Port {
    HostPort host;
    int32_t own = 0;  // containerPort
  };
  std::vector<Port> ports;
  std::vector<std::string> config_maps;  // that its environment needs
  std::vector<std::string> mounts;       // names of volumes
};

// A volume with files from ConfigMaps.
struct ConfigMapVolume {
  std::string name;
  std::vector<std::string> config_maps;
};

// Parts of a pod that are processed after all members were read, as members come in any order.
struct Draft {
  GpuAnnotations gpu;
  PodResize resize;
  std::vector<Container> containers;
  std::vector<Container> init_containers;
  std::vector<Container> ephemeral_containers;
  bool host_network = false;
  std::vector<VolumeClaimRow> claims;          // of its volumes
  std::vector<std::string> ephemeral_volumes;  // their names
  std::vector<ConfigMapVolume> config_map_volumes;
  std::string shared_gpu_config_map;  // prefix of ConfigMaps that are created with the binding
  std::vector<TermLabelKeys> affinity_label_keys;
  std::vector<std::vector<std::string>> spread_label_keys;
  absl::flat_hash_map<std::string, std::string> claim_names;  // status.resourceClaimStatuses
  bool has_controller = false;
  std::optional<bool> movable;  // annotation kai.scheduler/movable
};

FieldStatus ReadAnnotations(JsonValue& annotations, PodRow* row, Draft* draft) {
  return ForEachEntry(annotations, [&](std::string_view key, JsonValue& value) {
    if (key == keys::kPodGroup) return ReadString(value, &row->pod_group);
    if (key == keys::kReceivedType) return ReadString(value, &row->received_type);
    if (key == keys::kSharedGpuConfigMap) return ReadString(value, &draft->shared_gpu_config_map);
    const bool observed = key == keys::kNumaObserved;
    const bool is_zone_record = observed || key == keys::kNumaPredicted;
    const bool is_rank = key == keys::kTopologyRank;
    const bool is_movable = key == keys::kMovable;
    if (!is_zone_record && !is_rank && !is_movable && !GpuAnnotations::Matters(key)) return Skip();
    JsonText text;
    KAI_RETURN_IF_BAD(text.Read(value));
    if (is_movable) {  // other values have no meaning
      if (text.view() == "true" || text.view() == "false") draft->movable = text.view() == "true";
      return FieldStatus();
    }
    if (is_rank) {  // the scheduler writes it: an invalid value counts as no rank
      row->topology_rank = ParseInteger(text.view());
      return FieldStatus();
    }
    if (is_zone_record) {
      using Source = ZoneRecordRow::Source;
      row->zone_records.push_back(
          ReadZoneRecord(observed ? Source::kObserved : Source::kPredicted, text.view()));
      return FieldStatus();
    }
    draft->gpu.Take(key, text.view());
    return FieldStatus();
  });
}

FieldStatus ReadOwners(JsonValue& owners, Draft* draft) {
  return ForEachElement(owners, [&](JsonValue& owner) {
    return ForEachMember(owner, [&](std::string_view key, JsonValue& value) {
      if (key != "controller") return Skip();
      bool controls = false;
      KAI_RETURN_IF_BAD(ReadBool(value, &controls));
      draft->has_controller = draft->has_controller || controls;
      return FieldStatus();
    });
  });
}

FieldStatus ReadPorts(JsonValue& ports, std::vector<Container::Port>* out) {
  out->clear();
  return ForEachElement(ports, [&](JsonValue& element) {
    Container::Port& port = out->emplace_back();
    return ForEachMember(element, [&](std::string_view key, JsonValue& value) {
      const auto read = [&](int32_t* number) {
        int64_t read_number = 0;
        KAI_RETURN_IF_BAD(ReadInt(value, &read_number, 0, 65535));
        *number = static_cast<int32_t>(read_number);
        return FieldStatus();
      };
      if (key == "hostPort") return read(&port.host.port);
      if (key == "containerPort") return read(&port.own);
      if (key == "hostIP") return ReadString(value, &port.host.address);
      return key == "protocol" ? ReadString(value, &port.host.protocol) : Skip();
    });
  });
}

// A reference to a ConfigMap: its name, unless the reference is optional.
FieldStatus ReadConfigMapReference(JsonValue& reference, std::vector<std::string>* out) {
  std::string name;
  bool optional = false;
  KAI_RETURN_IF_BAD(ForEachMember(reference, [&](std::string_view key, JsonValue& value) {
    if (key == "name") return ReadString(value, &name);
    return key == "optional" ? ReadBool(value, &optional) : Skip();
  }));
  if (!optional && !name.empty()) out->push_back(std::move(name));
  return FieldStatus();
}

FieldStatus ReadEnvironment(JsonValue& list, std::string_view reference,
                            std::vector<std::string>* out) {
  return ForEachElement(list, [&](JsonValue& element) {
    return ForEachMember(element, [&](std::string_view key, JsonValue& value) {
      if (key == reference) return ReadConfigMapReference(value, out);
      if (key != "valueFrom") return Skip();
      return ForEachMember(value, [&](std::string_view source, JsonValue& part) {
        return source == reference ? ReadConfigMapReference(part, out) : Skip();
      });
    });
  });
}

FieldStatus ReadMounts(JsonValue& list, std::vector<std::string>* out) {
  return ForEachElement(list, [&](JsonValue& element) {
    return ForEachMember(element, [&](std::string_view key, JsonValue& value) {
      return key == "name" ? ReadString(value, &out->emplace_back()) : Skip();
    });
  });
}

FieldStatus ReadContainers(JsonValue& list, std::vector<Container>* out) {
  out->clear();
  return ForEachElement(list, [&](JsonValue& element) {
    Container& container = out->emplace_back();
    return ForEachMember(element, [&](std::string_view key, JsonValue& value) {
      if (key == "resources") {
        return ForEachMember(value, [&](std::string_view part, JsonValue& requests) {
          return part == "requests" ? ReadContainerRequest(requests, &container.request) : Skip();
        });
      }
      if (key == "name") return container.name.Read(value);
      if (key == "ports") return ReadPorts(value, &container.ports);
      if (key == "env") return ReadEnvironment(value, "configMapKeyRef", &container.config_maps);
      if (key == "envFrom") return ReadEnvironment(value, "configMapRef", &container.config_maps);
      if (key == "volumeMounts") return ReadMounts(value, &container.mounts);
      if (key != "restartPolicy") return Skip();
      JsonText policy;
      KAI_RETURN_IF_BAD(policy.Read(value));
      container.sidecar = policy.view() == "Always";
      return FieldStatus();
    });
  });
}

FieldStatus ReadOverhead(JsonValue& overhead, ResourceAmounts* out) {
  out->clear();
  return ForEachResource(overhead, [&](ResourceKind kind, std::string_view name, int64_t amount) {
    const bool device = kind == ResourceKind::kGpu || kind == ResourceKind::kMig;
    if (!device && kind != ResourceKind::kPods) SetAmount(out, name, amount);  // spec 3 R3
  });
}

FieldStatus ReadVolumeSource(std::string_view key, JsonValue& value, ConfigMapVolume* config_maps,
                             std::string* claim, bool* ephemeral) {
  if (key == "name") return ReadString(value, &config_maps->name);
  if (key == "configMap") return ReadConfigMapReference(value, &config_maps->config_maps);
  if (key == "persistentVolumeClaim") {
    return ForEachMember(value, [&](std::string_view member, JsonValue& part) {
      return member == "claimName" ? ReadString(part, claim) : Skip();
    });
  }
  if (key == "ephemeral") {
    *ephemeral = true;
    return Skip();
  }
  if (key != "projected") return Skip();
  return ForEachMember(value, [&](std::string_view member, JsonValue& sources) {
    if (member != "sources") return Skip();
    return ForEachElement(sources, [&](JsonValue& source) {
      return ForEachMember(source, [&](std::string_view kind, JsonValue& part) {
        return kind == "configMap" ? ReadConfigMapReference(part, &config_maps->config_maps)
                                   : Skip();
      });
    });
  });
}

FieldStatus ReadVolumes(JsonValue& volumes, Draft* draft) {
  draft->claims.clear();
  draft->ephemeral_volumes.clear();
  draft->config_map_volumes.clear();
  return ForEachElement(volumes, [&](JsonValue& volume) {
    ConfigMapVolume config_maps;
    std::string claim;
    bool ephemeral = false;
    KAI_RETURN_IF_BAD(ForEachMember(volume, [&](std::string_view key, JsonValue& value) {
      return ReadVolumeSource(key, value, &config_maps, &claim, &ephemeral);
    }));
    if (!claim.empty()) draft->claims.push_back({.claim = std::move(claim)});
    if (ephemeral) draft->ephemeral_volumes.push_back(config_maps.name);
    if (!config_maps.config_maps.empty())
      draft->config_map_volumes.push_back(std::move(config_maps));
    return FieldStatus();
  });
}

FieldStatus ReadClaims(JsonValue& claims, std::vector<PodRow::Claim>* out) {
  out->clear();
  return ForEachElement(claims, [&](JsonValue& element) {
    PodRow::Claim& claim = out->emplace_back();
    return ForEachMember(element, [&](std::string_view key, JsonValue& value) {
      if (key == "name") return ReadString(value, &claim.name);
      if (key == "resourceClaimName") return ReadString(value, &claim.resource_claim);
      if (key != "resourceClaimTemplateName") return Skip();
      JsonText name;
      KAI_RETURN_IF_BAD(name.Read(value));
      claim.from_template = !name.view().empty();
      return FieldStatus();
    });
  });
}

FieldStatus ReadClaimStatuses(JsonValue& statuses, Draft* draft) {
  draft->claim_names.clear();
  return ForEachElement(statuses, [&](JsonValue& element) {
    std::string name, claim;
    KAI_RETURN_IF_BAD(ForEachMember(element, [&](std::string_view key, JsonValue& value) {
      if (key == "name") return ReadString(value, &name);
      if (key == "resourceClaimName") return ReadString(value, &claim);
      return Skip();
    }));
    draft->claim_names[std::move(name)] = std::move(claim);
    return FieldStatus();
  });
}

FieldStatus ReadSpec(JsonValue& spec, PodRow* row, Draft* draft) {
  return ForEachMember(spec, [&](std::string_view key, JsonValue& value) {
    if (key == "containers") return ReadContainers(value, &draft->containers);
    if (key == "initContainers") return ReadContainers(value, &draft->init_containers);
    if (key == "overhead") return ReadOverhead(value, &row->overhead);
    if (key == "schedulerName") return ReadString(value, &row->scheduler_name);
    if (key == "nodeName") return ReadString(value, &row->node_name);
    if (key == "nodeSelector") return ReadStringMap(value, &row->node_selector);
    if (key == "ephemeralContainers") return ReadContainers(value, &draft->ephemeral_containers);
    if (key == "affinity") return ReadAffinity(value, row, &draft->affinity_label_keys);
    if (key == "topologySpreadConstraints")
      return ReadSpread(value, &row->spread, &draft->spread_label_keys);
    if (key == "hostNetwork") return ReadBool(value, &draft->host_network);
    if (key == "tolerations") return ReadTolerations(value, &row->tolerations);
    if (key == "resourceClaims") return ReadClaims(value, &row->claims);
    if (key == "volumes") return ReadVolumes(value, draft);
    if (key == "schedulingGates") {
      row->gated = false;
      return ForEachElement(value, [&](JsonValue&) {
        row->gated = true;
        return Skip();
      });
    }
    return Skip();
  });
}

FieldStatus ReadStatus(JsonValue& status, PodRow* row, Draft* draft) {
  return ForEachMember(status, [&](std::string_view key, JsonValue& value) {
    if (key == "nominatedNodeName") return ReadString(value, &row->nominated_node);
    if (key == "resourceClaimStatuses") return ReadClaimStatuses(value, draft);
    if (key == "conditions") return draft->resize.ReadConditions(value);
    if (key == "containerStatuses" || key == "initContainerStatuses")
      return draft->resize.ReadContainerStatuses(value);
    if (key == "extendedResourceClaimStatus") {
      return ForEachMember(value, [&](std::string_view member, JsonValue& part) {
        return member == "resourceClaimName" ? ReadString(part, &row->extended_claim) : Skip();
      });
    }
    if (key != "phase" && key != "qosClass") return Skip();
    JsonText text;
    KAI_RETURN_IF_BAD(text.Read(value));
    if (key == "qosClass") {
      row->guaranteed = text.view() == "Guaranteed";
      return FieldStatus();
    }
    row->phase = text.view() == "Pending"     ? Phase::kPending
                 : text.view() == "Running"   ? Phase::kRunning
                 : text.view() == "Succeeded" ? Phase::kSucceeded
                 : text.view() == "Failed"    ? Phase::kFailed
                                              : Phase::kUnknown;  // spec 2 S2
    return FieldStatus();
  });
}

// Spec 3 R20. KAI's binder writes no plain label for several devices, and KAI's scheduler reads the
// prefixed labels only beside a plain one. So KAI can give such devices away twice (spec 3 R20).
void FindGpuGroups(PodRow* row) {
  std::vector<std::pair<std::string_view, std::string_view>> prefixed;
  for (const auto& [key, value] : row->labels) {
    if (key == keys::kGpuGroup) row->gpu_groups.push_back(value);
    if (key.starts_with(keys::kGpuGroupPrefix)) prefixed.emplace_back(key, value);
  }
  std::sort(prefixed.begin(), prefixed.end());
  for (const auto& [key, group] : prefixed) {
    if (row->gpu_groups.empty() || group != row->gpu_groups.front())
      row->gpu_groups.emplace_back(group);
  }
}

// Ports that are in use while the pod runs. Those of ordinary init containers are not.
void FindHostPorts(const Draft& draft, PodRow* row) {
  const auto add = [&](const Container& container) {
    for (const Container::Port& port : container.ports) {
      HostPort host = port.host;
      if (host.port == 0 && draft.host_network) host.port = port.own;  // as the API server does
      if (host.port != 0) row->host_ports.push_back(std::move(host));
    }
  };
  for (const Container& container : draft.containers) add(container);
  for (const Container& container : draft.init_containers) {
    if (container.sidecar) add(container);
  }
}

// ConfigMaps without which a container cannot start (spec 3 P13).
void FindConfigMaps(const Draft& draft, PodRow* row) {
  std::vector<std::string>& needed = row->config_maps;
  std::vector<std::string_view> mounted;
  for (const auto* containers :
       {&draft.init_containers, &draft.containers, &draft.ephemeral_containers}) {
    for (const Container& container : *containers) {
      needed.insert(needed.end(), container.config_maps.begin(), container.config_maps.end());
      mounted.insert(mounted.end(), container.mounts.begin(), container.mounts.end());
    }
  }
  for (const ConfigMapVolume& volume : draft.config_map_volumes) {
    if (std::find(mounted.begin(), mounted.end(), volume.name) != mounted.end())
      needed.insert(needed.end(), volume.config_maps.begin(), volume.config_maps.end());
  }
  const std::string& made_later = draft.shared_gpu_config_map;
  std::erase_if(needed, [&](const std::string& name) {
    return !made_later.empty() && name.starts_with(made_later);
  });
  std::sort(needed.begin(), needed.end());
  needed.erase(std::unique(needed.begin(), needed.end()), needed.end());
}

void FindVolumeClaims(const Draft& draft, PodRow* row) {
  row->volumes = draft.claims;
  for (const std::string& volume : draft.ephemeral_volumes)
    row->volumes.push_back({.claim = StrCat(row->name, "-", volume), .ephemeral = true});
}

// Lists the containers, except for a pod with one container, whose request is the pod's.
void ListContainers(const Draft& draft, PodRow* row) {
  if (draft.containers.size() == 1 && draft.init_containers.empty() && row->overhead.empty())
    return;
  const auto add = [&](const Container& container, ContainerRow::Kind kind) {
    const ContainerRequest& request = container.request;
    ContainerRow& listed =
        row->containers.emplace_back(ContainerRow{.kind = kind, .requests = request.amounts});
    AddAmounts(&listed.requests, request.mig);
    if (request.gpus.portion > 0) SetAmount(&listed.requests, kAnyGpu, request.gpus.count);
  };
  using Kind = ContainerRow::Kind;
  for (const Container& container : draft.init_containers)
    add(container, container.sidecar ? Kind::kSidecar : Kind::kInit);
  for (const Container& container : draft.containers) add(container, Kind::kApp);
}

// Requests that a device class may serve (spec 3 D10).
void ListExtendedRequests(Draft* draft, PodRow* row) {
  using Kind = ContainerRow::Kind;
  int32_t containers = 0;
  const auto add = [&](Container& container, Kind kind) {
    for (ExtendedRequestRow& request : container.request.extended) {
      request.container = containers;
      request.kind = kind;
      request.container_name = container.name.view();
      row->extended_requests.push_back(std::move(request));
    }
    ++containers;
  };
  for (Container& container : draft->init_containers)
    add(container, container.sidecar ? Kind::kSidecar : Kind::kInit);
  for (Container& container : draft->containers) add(container, Kind::kApp);
}

FieldStatus AddUpRequests(Draft* draft, PodRow* row) {
  if (!draft->resize.empty()) {
    for (std::vector<Container>* list : {&draft->containers, &draft->init_containers}) {
      for (Container& each : *list) draft->resize.Settle(each.name.view(), &each.request.amounts);
    }
  }
  ListContainers(*draft, row);
  ListExtendedRequests(draft, row);
  PodRequests requests;
  for (Container& container : draft->containers) {
    requests.AddContainer(std::move(container.request));
    if (!requests.within_limits()) return TooManyResources().Inside("spec.containers");
  }
  for (Container& container : draft->init_containers) {
    requests.AddInitContainer(container.request, container.sidecar);
    if (!requests.within_limits()) return TooManyResources().Inside("spec.initContainers");
  }
  ContainerRequest total = std::move(requests).Total();
  row->requests = std::move(total.amounts);
  AddAmounts(&row->requests, row->overhead);  // spec 3 R3
  return MakeGpuRequest(draft->gpu, total.gpus, std::move(total.mig), &row->gpu);
}

FieldStatus ReadFields(JsonObject object, PodRow* row) {
  Draft draft;
  KAI_RETURN_IF_BAD(ForEachMember(object, [&](std::string_view key, JsonValue& value) {
    if (key == "metadata") {
      return ForEachMember(value, [&](std::string_view member, JsonValue& part) {
        if (member == "annotations") return ReadAnnotations(part, row, &draft);
        if (member == "ownerReferences") return ReadOwners(part, &draft);
        return ReadMetadataMember(member, part, row);
      });
    }
    if (key == "spec") return ReadSpec(value, row, &draft);
    if (key == "status") return ReadStatus(value, row, &draft);
    return Skip();
  }));
  KAI_RETURN_IF_BAD(RequireName(row->name));
  KAI_RETURN_IF_BAD(AddUpRequests(&draft, row));

  for (const auto& [key, value] : row->labels) {
    if (key == keys::kSubgroup) row->subgroup = value;
  }
  // A nomination by another component is a preference (spec 2 T9). Our own is a promise, which the
  // engine stores itself.
  if (!row->nominated_node.empty() &&
      OwnsStatusField(object, keys::kFieldManager, "nominatedNodeName"))
    row->nominated_node.clear();
  row->bare = !draft.movable.value_or(draft.has_controller);
  FindGpuGroups(row);
  FindHostPorts(draft, row);
  FindConfigMaps(draft, row);
  FindVolumeClaims(draft, row);
  SettleLabelKeys(draft.affinity_label_keys, row);
  SettleSpreadLabelKeys(draft.spread_label_keys, row);
  for (PodRow::Claim& claim : row->claims) {
    if (!claim.from_template) continue;
    const auto known = draft.claim_names.find(claim.name);
    claim.resource_claim = known == draft.claim_names.end() ? "" : known->second;
  }
  return FieldStatus();
}

}  // namespace

std::optional<Rejection> ReadPod(JsonObject object, PodRow* row) {
  return RejectIfBad("Pod", object, ReadFields(object, row));
}

}  // namespace kai
