#include "kai/testing/makers/random_sharers.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "kai/api/units.h"
#include "kai/base/clock.h"
#include "kai/base/text.h"
#include "kai/model/building/row_lookup.h"
#include "kai/testing/makers/random_cluster.h"

namespace kai {
namespace {

class SharersWriter {
 public:
  SharersWriter(uint64_t seed, const RandomSharersOptions& options, ClusterRows* rows)
      : random_(seed * 7919 + 3), options_(options), rows_(*rows) {}

  void Make() {
    if (!options_.quarters) UseOneQueue();
    FindLeaves();
    LabelNodes();
    FindFree();
    for (Node& node : nodes_) Share(&node);
    ShareWaitingPods();
    for (int64_t i = random_.Between(0, options_.max_waiting_groups); i > 0; --i) AddWaiting();
    random_.Shuffle(&rows_.pod_groups);
    random_.Shuffle(&rows_.pods);
  }

 private:
  struct Node {
    const NodeRow* row = nullptr;
    int64_t gpus = 0;  // not held by any pod
    int64_t millicpu = 0;
    int64_t pods = 0;
    double mib = 0;  // per device; 0: unknown
  };
  struct Device {
    std::string name;
    double left = 1;
  };

  // ---- queues -----------------------------------------------------------------------------------

  void UseOneQueue() {
    rows_.queues = {MakeQueueRow("all", {.deserved_gpus = kUnlimited})};
    for (PodGroupRow& group : rows_.pod_groups) {
      if (group.queue != "nowhere") group.queue = "all";
    }
  }

  void FindLeaves() {
    std::set<std::string> parents;
    std::set<std::string> names;
    for (const QueueRow& queue : rows_.queues) {
      parents.insert(queue.parent);
      names.insert(queue.name);
    }
    for (const std::string& name : names) {
      if (!parents.contains(name) && name != "orphan") leaves_.push_back(name);
    }
  }

  // ---- nodes ------------------------------------------------------------------------------------

  void LabelNodes() {
    // Half a device is a whole number of MiB for each of these values.
    const std::vector<std::string> round = {"16000", "16050", "32000", "32000", "16777216000"};
    const std::vector<std::string> odd = {"15360", "40960", "46068", "81559", "much"};
    for (NodeRow& node : rows_.nodes) {
      const bool has_one =
          std::any_of(node.labels.begin(), node.labels.end(),
                      [](const auto& each) { return each.first == "nvidia.com/gpu.memory"; });
      if (options_.quarters && (has_one || random_.OneIn(3))) continue;
      std::erase_if(node.labels,
                    [](const auto& each) { return each.first == "nvidia.com/gpu.memory"; });
      if (!options_.quarters && random_.OneIn(4)) continue;
      node.labels.emplace_back("nvidia.com/gpu.memory",
                               random_.Pick(options_.quarters ? round : odd));
    }
  }

  static double MibOf(const NodeRow& node) {
    for (const auto& [key, value] : node.labels) {
      if (key != "nvidia.com/gpu.memory" || value == "much") continue;
      int64_t mib = std::stoll(value);
      if (mib >= 1048576) mib /= 1048576;
      return static_cast<double>(mib - mib % 100);
    }
    return 0;
  }

  void FindFree() {
    std::map<std::string, std::set<std::string>> shared;  // devices by node
    std::map<std::string, int64_t> gpus, millicpu, pods;
    for (const PodRow& pod : rows_.pods) {
      std::string node = pod.node_name;
      std::vector<std::string> groups = pod.gpu_groups;
      for (const BindRequestRow& each : rows_.bind_requests) {
        if (each.pod != pod.name || each.namespace_name != pod.namespace_name) continue;
        if (node.empty()) node = each.node;
        groups.insert(groups.end(), each.gpu_groups.begin(), each.gpu_groups.end());
      }
      if (node.empty()) continue;
      ++pods[node];
      millicpu[node] += AmountOf(pod.requests, "cpu");
      if (pod.gpu.IsShared() && !groups.empty()) {
        shared[node].insert(groups.begin(), groups.end());
      } else {
        gpus[node] += pod.gpu.count;
      }
    }
    for (const NodeRow& row : rows_.nodes) {
      nodes_.push_back({.row = &row,
                        .gpus = AmountOf(row.allocatable, "nvidia.com/gpu") - gpus[row.name] -
                                static_cast<int64_t>(shared[row.name].size()),
                        .millicpu = AmountOf(row.allocatable, "cpu") - millicpu[row.name],
                        .pods = AmountOf(row.allocatable, "pods") - pods[row.name],
                        .mib = MibOf(row)});
    }
  }

  // ---- requests ---------------------------------------------------------------------------------

  std::optional<int64_t> CreatedNs() {
    if (random_.OneIn(12)) return std::nullopt;
    return random_.Between(1, 5) * kSecondNs;
  }

  GpuRequest SomePart() {
    GpuRequest gpu{.kind = GpuRequestKind::kFraction, .count = 1, .portion = 0, .mig = {}};
    if (options_.memory && random_.OneIn(3)) {
      gpu.kind = GpuRequestKind::kMemory;
      gpu.memory_mib = options_.quarters
                           ? random_.Pick(std::vector<int64_t>{8000, 8000, 16000})
                           : random_.Pick(std::vector<int64_t>{700, 2000, 5000, 9000, 20000});
    } else {
      gpu.portion =
          options_.quarters
              ? random_.Pick(std::vector<double>{0.25, 0.25, 0.5, 0.5, 0.5, 0.75, 1})
              : random_.Pick(std::vector<double>{0.1, 0.125, 0.3, 0.33, 0.29, 0.57, 0.7, 0.9});
    }
    if (options_.several_devices && random_.OneIn(4)) gpu.count = random_.Between(2, 3);
    return gpu;
  }

  // The part of one device of the node, with rounding; more than 1 if it does not fit this node.
  static double PartOn(const GpuRequest& gpu, const Node& node) {
    if (gpu.kind == GpuRequestKind::kFraction) return gpu.portion;
    return node.mib == 0 ? 2 : static_cast<double>(gpu.memory_mib) / node.mib;
  }

  PodRow SomePod(const PodGroupRow& group, const GpuRequest& gpu) {
    PodRow row;
    row.namespace_name = group.namespace_name;
    row.pod_group = group.name;
    row.name = StrCat(group.name, "-", pods_made_++);
    row.created_ns = CreatedNs();
    row.scheduler_name = rows_.params.scheduler_name;
    row.gpu = gpu;
    return row;
  }

  PodGroupRow SomeGroup() {
    PodGroupRow group;
    group.namespace_name = random_.Coin() ? "a" : "b";
    group.name = StrCat("sharers-", groups_made_++);
    group.created_ns = CreatedNs();
    group.queue = random_.Pick(leaves_);
    if (random_.OneIn(3)) group.priority_class = random_.Coin() ? "low" : "train";
    if (random_.OneIn(8)) group.preemptibility = "non-preemptible";
    return group;
  }

  // ---- running pods -----------------------------------------------------------------------------

  void Share(Node* node) {
    if (node->gpus <= 0 || random_.OneIn(5)) return;
    std::vector<Device> devices;
    for (int64_t i = random_.Between(1, std::min<int64_t>(node->gpus, 4)); i > 0; --i) {
      // A group whose name is a number does not count as new (spec 3 P6).
      const std::string number = StrCat(devices.size());
      devices.push_back({random_.OneIn(6) ? number : StrCat("d", number, "-", node->row->name)});
    }
    std::set<std::string> used;
    for (int64_t i = random_.Between(1, options_.max_running_groups); i > 0 && node->pods > 2;
         --i) {
      PodGroupRow group = SomeGroup();
      const GpuRequest gpu = SomePart();
      int64_t pods = 0;
      for (int64_t j = random_.Between(1, 3); j > 0 && node->pods > 2; --j) {
        std::vector<std::string> groups;
        random_.Shuffle(&devices);
        for (const Device& device : devices) {
          const bool is_enough = static_cast<int64_t>(groups.size()) == gpu.count;
          if (!is_enough && device.left >= PartOn(gpu, *node)) groups.push_back(device.name);
        }
        if (static_cast<int64_t>(groups.size()) != gpu.count) break;
        for (Device& device : devices) {
          if (std::find(groups.begin(), groups.end(), device.name) != groups.end()) {
            device.left -= PartOn(gpu, *node);
          }
        }
        used.insert(groups.begin(), groups.end());
        AddRunning(group, gpu, groups, node);
        ++pods;
      }
      if (pods == 0) continue;
      group.min_member = random_.OneIn(3) ? 1 : pods;
      if (random_.Coin()) {
        group.last_start_ns =
            kTestNowNs - random_.Pick(std::vector<int64_t>{5, 30, 600}) * kSecondNs;
      }
      rows_.pod_groups.push_back(group);
    }
    node->gpus -= static_cast<int64_t>(used.size());
    for (const std::string& device : used) {
      if (options_.reservations && random_.OneIn(3) && node->pods > 2) Reserve(device, node);
    }
    if (options_.unknown_devices && random_.OneIn(6)) AddUnknown(node);
  }

  void AddRunning(const PodGroupRow& group, const GpuRequest& gpu,
                  const std::vector<std::string>& groups, Node* node) {
    PodRow row = SomePod(group, gpu);
    if (node->millicpu >= 1000 && random_.Coin()) {
      row.requests.emplace_back("cpu", 250);
      node->millicpu -= 250;
    }
    --node->pods;
    row.phase = random_.OneIn(12) ? Phase::kPending : Phase::kRunning;
    row.received_type = "Fraction";
    if (options_.bind_requests && random_.OneIn(6)) {
      BindRequestRow request{.namespace_name = row.namespace_name,
                             .pod = row.name,
                             .node = node->row->name,
                             .received_type = "Fraction",
                             .gpu_groups = groups,
                             .phase = {},
                             .backoff_limit = {}};
      rows_.bind_requests.push_back(request);
      // The request is done, or not yet; then only the request has the devices.
      if (random_.Coin()) {
        row.phase = Phase::kPending;
        rows_.pods.push_back(row);
        return;
      }
    }
    row.gpu_groups = groups;
    row.node_name = node->row->name;
    if (options_.leaving && random_.OneIn(4)) {
      row.deletion_ns = kTestNowNs - random_.Pick(std::vector<int64_t>{1, 1, 119, 600}) * kSecondNs;
    }
    rows_.pods.push_back(row);
  }

  void AddUnknown(Node* node) {
    GpuRequest gpu = SomePart();
    if (node->gpus < gpu.count || PartOn(gpu, *node) > 1 || node->pods <= 2) return;
    node->gpus -= gpu.count;
    --node->pods;
    PodGroupRow group = SomeGroup();
    PodRow row = SomePod(group, gpu);
    row.phase = Phase::kRunning;
    row.node_name = node->row->name;
    group.min_member = 1;
    rows_.pods.push_back(row);
    rows_.pod_groups.push_back(group);
  }

  void Reserve(const std::string& device, Node* node) {
    --node->pods;
    PodRow row;
    row.namespace_name = "kai-resource-reservation";
    row.name = StrCat("gpu-reservation-", node->row->name, "-", device);
    row.scheduler_name = "";
    row.labels = {{"app", "kai-resource-reservation"}, {"runai-gpu-group", device}};
    row.gpu = {.count = 1, .portion = 1, .mig = {}};
    row.node_name = node->row->name;
    row.phase = Phase::kRunning;
    rows_.pods.push_back(row);
  }

  // ---- waiting pods -----------------------------------------------------------------------------

  void ShareWaitingPods() {
    std::map<std::string, std::vector<PodRow*>> waiting;  // by pod group
    for (PodRow& pod : rows_.pods) {
      const bool waits =
          pod.phase == Phase::kPending && pod.node_name.empty() && !pod.gpu.IsShared();
      const bool is_bound = std::any_of(
          rows_.bind_requests.begin(), rows_.bind_requests.end(), [&](const BindRequestRow& each) {
            return each.namespace_name == pod.namespace_name && each.pod == pod.name;
          });
      if (!waits || is_bound || pod.pod_group.empty() || pod.gpu.kind == GpuRequestKind::kMig) {
        continue;
      }
      waiting[pod.namespace_name + "/" + pod.pod_group].push_back(&pod);
    }
    for (auto& [group, pods] : waiting) {
      if (random_.Coin()) continue;
      GpuRequest gpu = SomePart();
      const bool mixed = random_.OneIn(5);
      std::sort(pods.begin(), pods.end(),
                [](const PodRow* a, const PodRow* b) { return a->name < b->name; });
      for (PodRow* pod : pods) {
        if (mixed && random_.OneIn(3)) continue;
        if (mixed) gpu = SomePart();
        pod->gpu = gpu;
      }
    }
  }

  void AddWaiting() {
    PodGroupRow group = SomeGroup();
    if (random_.OneIn(3)) group.priority_class = "high";
    const GpuRequest gpu = SomePart();
    const int64_t pods = random_.Between(1, 5);
    for (int64_t i = 0; i < pods; ++i) {
      PodRow row = SomePod(group, gpu);
      row.phase = Phase::kPending;
      if (random_.OneIn(4)) row.requests.emplace_back("cpu", 500);
      rows_.pods.push_back(row);
    }
    group.min_member = random_.Coin() ? random_.Between(1, pods) : pods;
    rows_.pod_groups.push_back(group);
  }

  Random random_;
  const RandomSharersOptions& options_;
  ClusterRows& rows_;
  std::vector<std::string> leaves_;
  std::vector<Node> nodes_;  // parallel to rows_.nodes
  int groups_made_ = 0;
  int pods_made_ = 0;
};

}  // namespace

void AddRandomSharers(uint64_t seed, const RandomSharersOptions& options, ClusterRows* rows) {
  SharersWriter(seed, options, rows).Make();
}

}  // namespace kai
