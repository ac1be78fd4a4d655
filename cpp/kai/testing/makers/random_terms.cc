#include "kai/testing/makers/random_terms.h"

#include <map>

#include "kai/base/text.h"
#include "kai/testing/makers/random_cluster.h"

namespace kai {
namespace {

constexpr uint64_t kTermsSeed = 0x9e3779b97f4a7c15;
constexpr int64_t kGigabyte = 1'000'000'000;

class Terms {
 public:
  Terms(uint64_t seed, const RandomTermsOptions& options, ClusterRows* rows)
      : random_(seed ^ kTermsSeed), options_(options), rows_(*rows) {}

  void Add() {
    const bool volumes = options_.volumes && random_.Coin();
    if (volumes) AddStorage();
    if (options_.config_maps && random_.OneIn(3))
      rows_.config_maps = std::vector{ConfigMapRow{.namespace_name = "ns", .name = "settings"}};
    const bool ports = options_.host_ports && random_.Coin();
    const bool spread = options_.spread && random_.Coin();
    const bool preferred = options_.preferred_nodes && random_.Coin();
    std::map<std::string, PodRow> like;  // by pod group, whose pods are mostly equal
    for (PodRow& pod : rows_.pods) {
      const auto [found, added] = like.try_emplace(pod.namespace_name + "/" + pod.pod_group);
      if (added || random_.OneIn(6)) {
        found->second = PodRow();
        if (ports && random_.OneIn(3)) AddPorts(&found->second);
        if (spread && random_.OneIn(4)) AddSpread(&found->second);
        if (preferred && random_.OneIn(4)) AddPreferred(&found->second);
        if (volumes && random_.OneIn(3)) AddVolumes(&found->second);
        if (options_.config_maps && random_.OneIn(10))
          found->second.config_maps = {random_.Coin() ? "settings" : "missing"};
      }
      pod.host_ports = found->second.host_ports;
      pod.spread = found->second.spread;
      pod.preferred_nodes = found->second.preferred_nodes;
      pod.volumes = found->second.volumes;
      pod.config_maps = found->second.config_maps;
    }
    if (options_.namespaces && random_.OneIn(3)) SelectNamespaces();
    if (volumes && random_.OneIn(8)) rows_.storage = StorageRows();
  }

 private:
  void AddPorts(PodRow* pod) {
    for (int64_t i = random_.Between(1, 2); i > 0; --i) {
      pod->host_ports.push_back(
          {.port = random_.Coin() ? 80 : 443,
           .protocol = random_.OneIn(5) ? "UDP" : "TCP",
           .address = random_.Pick(std::vector<std::string>{"", "", "0.0.0.0", "10.0.0.1"})});
    }
  }

  void AddSpread(PodRow* pod) {
    for (int64_t i = random_.OneIn(4) ? 2 : 1; i > 0; --i) {
      SpreadConstraintRow spread;
      spread.topology_key = random_.Coin() ? "zone" : "kubernetes.io/hostname";
      spread.max_skew = random_.Between(1, 2);
      spread.min_domains = random_.Between(1, 3);
      spread.required = !random_.OneIn(5);
      spread.honor_node_affinity = !random_.OneIn(4);
      spread.honor_taints = random_.OneIn(4);
      if (!random_.OneIn(8)) {
        spread.selector = {{.key = "app", .op = SelectorOp::kIn, .values = {"web"}}};
        if (random_.OneIn(4)) spread.selector = LabelSelector();
      }
      pod->spread.push_back(spread);
    }
  }

  NodeSelectorTerm ZoneTerm() {
    return {.expressions = {{.key = "zone",
                             .op = SelectorOp::kIn,
                             .values = {StrCat("z", random_.Below(3))}}},
            .fields = {}};
  }

  void AddPreferred(PodRow* pod) {
    for (int64_t i = random_.Between(1, 3); i > 0; --i) {
      WeightedNodeTerm term{.term = ZoneTerm(), .weight = 0};
      if (random_.OneIn(3))
        term.term.expressions[0] = {.key = "model", .op = SelectorOp::kExists, .values = {}};
      term.weight = static_cast<int32_t>(random_.Pick(std::vector<int64_t>{1, 10, 50}));
      pod->preferred_nodes.push_back(term);
    }
  }

  // A few classes, volumes and claims of every kind, with names that pods can use.
  void AddStorage() {
    StorageRows& storage = rows_.storage;
    storage.classes = {
        {.name = "fast",
         .provisioner = "csi.example.com",
         .waits_for_consumer = true,
         .allowed_topologies = {}},
        {.name = "local",
         .provisioner = "kubernetes.io/no-provisioner",
         .waits_for_consumer = true,
         .allowed_topologies = {}},
        {.name = "at-once", .provisioner = "csi.example.com", .allowed_topologies = {}}};
    if (random_.Coin()) storage.classes[0].allowed_topologies = {ZoneTerm(), ZoneTerm()};
    if (random_.Coin())
      storage.drivers = {{.name = "csi.example.com", .reports_capacity = random_.Coin()}};
    for (int64_t i = random_.Below(4); i > 0; --i) {
      CsiStorageCapacityRow capacity;
      capacity.name = StrCat("capacity-", i);
      capacity.storage_class = "fast";
      if (!random_.OneIn(6)) capacity.nodes = ZoneTerm().expressions;
      if (!random_.OneIn(6)) capacity.bytes = random_.Between(1, 3) * kGigabyte;
      if (random_.OneIn(4)) capacity.largest_volume_bytes = kGigabyte;
      storage.capacities.push_back(capacity);
    }
    for (int64_t i = 0; i < 6; ++i) {
      PersistentVolumeRow volume;
      volume.name = StrCat("pv-", i);
      volume.storage_class = random_.OneIn(4) ? "fast" : "local";
      volume.bytes = random_.Between(1, 3) * kGigabyte;
      volume.access_modes = {"ReadWriteOnce"};
      volume.is_available = !random_.OneIn(5);
      if (random_.OneIn(5)) volume.deletion_ns = kTestNowNs;
      if (!random_.OneIn(3)) {
        volume.has_node_affinity = true;
        volume.node_affinity = {ZoneTerm()};
        if (random_.OneIn(3)) {
          volume.node_affinity[0].expressions[0] = {.key = "kubernetes.io/hostname",
                                                    .op = SelectorOp::kIn,
                                                    .values = {StrCat("n", random_.Below(4))}};
        }
      }
      if (random_.OneIn(4)) {
        volume.claim_namespace = "ns";
        volume.claim_name = StrCat("claim-", random_.Below(8));
      }
      storage.volumes.push_back(volume);
    }
    for (const char* space : {"ns", "ns-2"}) {
      for (int64_t i = 0; i < 8; ++i) {
        if (random_.OneIn(10)) continue;  // it does not exist
        PersistentVolumeClaimRow claim;
        claim.namespace_name = space;
        claim.name = StrCat("claim-", i);
        claim.storage_class = random_.Pick(
            std::vector<std::string>{"fast", "fast", "local", "local", "at-once", "none"});
        claim.bytes = random_.Below(4) * kGigabyte;
        claim.access_modes = {random_.OneIn(5) ? "ReadWriteMany" : "ReadWriteOnce"};
        if (random_.OneIn(12)) claim.is_lost = true;
        if (random_.OneIn(12)) claim.deletion_ns = kTestNowNs;
        if (random_.OneIn(5)) claim.selected_node = StrCat("n", random_.Below(4));
        if (random_.OneIn(3)) {
          claim.volume = random_.OneIn(6) ? "gone" : StrCat("pv-", random_.Below(6));
          claim.bind_completed = !random_.OneIn(6);
        }
        storage.claims.push_back(claim);
      }
    }
  }

  void AddVolumes(PodRow* pod) {
    for (int64_t i = random_.OneIn(3) ? 2 : 1; i > 0; --i)
      pod->volumes.push_back({.claim = StrCat("claim-", random_.Below(8))});
  }

  void SelectNamespaces() {
    if (random_.Coin()) {
      rows_.namespaces = {{.name = "ns", .labels = {{"team", "a"}}},
                          {.name = "ns-2", .labels = {{"team", "b"}}}};
    }
    for (PodRow& pod : rows_.pods) {
      const auto change = [&](PodAffinityTerm* term) {
        if (!random_.OneIn(3)) return;
        term->all_namespaces = false;
        const bool by_name = rows_.namespaces.empty() ? !random_.OneIn(8) : random_.Coin();
        term->namespace_selector = {{.key = by_name ? "kubernetes.io/metadata.name" : "team",
                                     .op = random_.Coin() ? SelectorOp::kIn : SelectorOp::kNotIn,
                                     .values = {by_name ? "ns" : "a"}}};
      };
      for (auto* terms : {&pod.affinity.required, &pod.affinity.required_anti}) {
        for (PodAffinityTerm& term : *terms) change(&term);
      }
      for (auto* terms : {&pod.affinity.preferred, &pod.affinity.preferred_anti}) {
        for (WeightedPodAffinityTerm& each : *terms) change(&each.term);
      }
    }
  }

  Random random_;
  const RandomTermsOptions& options_;
  ClusterRows& rows_;
};

}  // namespace

void AddRandomTerms(uint64_t seed, const RandomTermsOptions& options, ClusterRows* rows) {
  Terms(seed, options, rows).Add();
}

}  // namespace kai
