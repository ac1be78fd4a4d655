#include "kai/ingest/pod_reader.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "kai/base/keys.h"
#include "kai/ingest/gpu_request.h"
#include "kai/ingest/metadata_reader.h"
#include "kai/ingest/pod_requests.h"
#include "kai/ingest/resource_list.h"
#include "kai/ingest/scheduling_terms.h"

namespace kai {
namespace {

struct Container {
  ContainerRequest request;
  bool sidecar = false;  // only init containers can be one
  bool host_port = false;
};

// What is known of a pod only once all of it has been seen: members come in any order.
struct Draft {
  GpuAnnotations gpu;
  std::vector<Container> containers;
  std::vector<Container> init_containers;
  bool claims_volume = false;
  absl::flat_hash_map<std::string, std::string> claim_names;  // status.resourceClaimStatuses
};

FieldStatus ReadAnnotations(JsonValue& annotations, PodRow* row, Draft* draft) {
  return ForEachEntry(annotations, [&](std::string_view key, JsonValue& value) {
    if (key == keys::kPodGroup) return ReadString(value, &row->pod_group);
    if (key == keys::kReceivedType) return ReadString(value, &row->received_type);
    if (!GpuAnnotations::Matters(key)) return Skip();
    JsonText text;
    KAI_RETURN_IF_BAD(text.Read(value));
    draft->gpu.Take(key, text.view());
    return FieldStatus();
  });
}

FieldStatus ReadPorts(JsonValue& ports, Container* container) {
  return ForEachElement(ports, [&](JsonValue& port) {
    return ForEachMember(port, [&](std::string_view key, JsonValue& value) {
      if (key != "hostPort") return Skip();
      int64_t host_port = 0;
      KAI_RETURN_IF_BAD(ReadInt(value, &host_port, 0, 65535));
      container->host_port |= host_port != 0;
      return FieldStatus();
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
      if (key == "ports") return ReadPorts(value, &container);
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

FieldStatus ReadVolumes(JsonValue& volumes, Draft* draft) {
  draft->claims_volume = false;
  return ForEachElement(volumes, [&](JsonValue& volume) {
    return ForEachMember(volume, [&](std::string_view key, JsonValue&) {
      draft->claims_volume |= key == "persistentVolumeClaim" || key == "ephemeral";
      return Skip();
    });
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
    if (key == "affinity") return ReadAffinity(value, row);
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
    if (key != "phase") return Skip();
    JsonText phase;
    KAI_RETURN_IF_BAD(phase.Read(value));
    row->phase = phase.view() == "Pending"     ? Phase::kPending
                 : phase.view() == "Running"   ? Phase::kRunning
                 : phase.view() == "Succeeded" ? Phase::kSucceeded
                 : phase.view() == "Failed"    ? Phase::kFailed
                                               : Phase::kUnknown;  // spec 2 S2
    return FieldStatus();
  });
}

// Spec 3 R20: without the plain label the prefixed ones count for nothing.
void FindGpuGroups(PodRow* row) {
  std::vector<std::pair<std::string_view, std::string_view>> prefixed;
  for (const auto& [key, value] : row->labels) {
    if (key == keys::kGpuGroup) row->gpu_groups.push_back(value);
    if (key.starts_with(keys::kGpuGroupPrefix)) prefixed.emplace_back(key, value);
  }
  if (row->gpu_groups.empty()) return;
  std::sort(prefixed.begin(), prefixed.end());
  for (const auto& [key, group] : prefixed) {
    if (group != row->gpu_groups.front()) row->gpu_groups.emplace_back(group);
  }
}

FieldStatus AddUpRequests(Draft* draft, PodRow* row) {
  PodRequests requests;
  bool host_port = false;
  for (Container& container : draft->containers) {
    host_port |= container.host_port;
    requests.AddContainer(std::move(container.request));
    if (!requests.within_limits()) return TooManyResources().Inside("spec.containers");
  }
  for (Container& container : draft->init_containers) {
    host_port |= container.host_port;
    requests.AddInitContainer(container.request, container.sidecar);
    if (!requests.within_limits()) return TooManyResources().Inside("spec.initContainers");
  }
  if (host_port) row->not_built.emplace_back("host-port");
  if (draft->claims_volume) row->not_built.emplace_back("persistent-volume-claim");

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
        return member == "annotations" ? ReadAnnotations(part, row, &draft)
                                       : ReadMetadataMember(member, part, row);
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
  FindGpuGroups(row);
  for (PodRow::Claim& claim : row->claims) {
    if (!claim.from_template) continue;
    const auto known = draft.claim_names.find(claim.name);
    claim.resource_claim = known == draft.claim_names.end() ? "" : known->second;
  }
  std::sort(row->not_built.begin(), row->not_built.end());
  return FieldStatus();
}

}  // namespace

std::optional<Rejection> ReadPod(JsonObject object, PodRow* row) {
  return RejectIfBad("Pod", object, ReadFields(object, row));
}

}  // namespace kai
