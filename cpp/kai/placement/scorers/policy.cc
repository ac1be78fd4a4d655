// A placement policy from the literature instead of packing (kai/packing/policies.h): it gives the
// score of a node, from 0 to 100, and the GPU for a pod that shares one.
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "kai/base/text.h"
#include "kai/placement/node_shapes.h"
#include "kai/placement/scorers/scorers.h"

namespace kai {
namespace {

class PolicyScorer final : public Scorer, public Listener, public GpuChooser {
 public:
  PolicyScorer(const Cluster& cluster, const PolicyOptions& options)
      : cluster_(cluster),
        options_(options),
        shapes_(cluster),
        rater_({.policy = options.policy, .most = shapes_.largest(), .exact = options.exact},
               FragmentationOf(cluster, options), WasteOf(cluster, options)) {
    versions_.Resize(cluster.nodes().size(), 1);
  }

  Dependence DependsOn(PodClassId) const override { return Dependence::kNode; }
  Listener* listener() override { return this; }
  const GpuChooser* gpu_chooser() const override { return this; }

  double Score(PodClassId pod_class, NodeId node, const ScoreView& view) const override {
    if (options_.policy == packing::Policy::kRandom)
      return packing::RandomScore(options_.seed, PodText(view.pod), NodeText(node));
    return RatingOf(pod_class, node).score;
  }

  int32_t ChooseGpu(PodClassId pod_class, NodeId node, PodId pod,
                    std::span<const int32_t> candidates) const override {
    if (options_.policy != packing::Policy::kRandom) {
      const int32_t gpu = RatingOf(pod_class, node).gpu;
      return gpu < 0 ? kNoChoice : shapes_.PlaceOf(node, gpu);
    }
    double best = -1;
    int32_t chosen = kNoChoice;
    for (const int32_t each : candidates) {
      const double score =
          packing::RandomScore(options_.seed, PodText(pod), StrCat(NodeText(node), "#", each));
      if (score > best) chosen = each;
      best = std::max(best, score);
    }
    return chosen;
  }

  void Applied(const Change& change) override { Note(change, change.from_node, change.to_node); }
  void Undone(const Change& change) override { Note(change, change.to_node, change.from_node); }

 private:
  static constexpr size_t kMostEntries = 4'000'000;

  // The score of a class of pods on a node, and the version of the node.
  struct Entry {
    int64_t version = 0;
    packing::Rating rating;
  };

  static packing::PodMix MixOf(const Cluster& cluster, const PolicyOptions& options) {
    return options.typical_pods ? *options.typical_pods
                                : TypicalPodsOf(cluster, options.typical_percent);
  }
  static std::shared_ptr<const packing::Fragmentation> FragmentationOf(
      const Cluster& cluster, const PolicyOptions& options) {
    if (options.policy != packing::Policy::kFgd) return nullptr;
    return std::make_shared<const packing::Fragmentation>(MixOf(cluster, options));
  }
  static std::shared_ptr<packing::Waste> WasteOf(const Cluster& cluster,
                                                 const PolicyOptions& options) {
    if (options.policy != packing::Policy::kLeastWaste) return nullptr;
    std::vector<int64_t> supply_milli(cluster.node_classes().size());
    for (const NodeId node : cluster.nodes().name.ids()) {
      supply_milli[cluster.nodes().node_class[node].index()] +=
          static_cast<int64_t>(cluster.nodes().gpu_count[node]) * packing::kWholeGpu;
    }
    return std::make_shared<packing::Waste>(MixOf(cluster, options), supply_milli);
  }

  std::string PodText(PodId pod) const { return pod.valid() ? cluster_.PodName(pod) : ""; }
  std::string_view NodeText(NodeId node) const {
    return cluster_.Text(cluster_.nodes().name[node]);
  }

  const packing::Rating& RatingOf(PodClassId pod_class, NodeId node) const {
    if (rows_.size() * versions_.size() > kMostEntries) rows_.clear();
    std::vector<Entry>& row = rows_[pod_class];
    if (row.size() < versions_.size()) row.resize(versions_.size());
    Entry& entry = row[node.index()];
    if (entry.version != versions_[node]) {
      entry = {.version = versions_[node],
               .rating = rater_.Rate(shapes_.Of(node), shapes_.Of(pod_class, node))};
    }
    return entry.rating;
  }

  void Note(const Change& change, NodeId from, NodeId to) {
    if (from.valid()) ++versions_[from];
    if (to.valid()) ++versions_[to];
    shapes_.Moved(change.pod, from, to);
  }

  const Cluster& cluster_;
  PolicyOptions options_;
  NodeShapes shapes_;
  packing::Rater rater_;
  IndexVector<NodeId, int64_t> versions_;  // increases with each change of the node
  mutable absl::flat_hash_map<PodClassId, std::vector<Entry>> rows_;
};

}  // namespace

std::unique_ptr<Scorer> MakePolicyScorer(const Cluster& cluster, const PolicyOptions& options) {
  return std::make_unique<PolicyScorer>(cluster, options);
}

}  // namespace kai
