// Feed: writes what lists and watches bring into a store, and reports what changed to the parts of
// the program that write to the cluster.
//
//   Feed feed{&store, "kai-scheduler"};
//   const Feed::Drained drained = feed.Drain(&inbox);
//   feed.GroupStatusOf("q/g")
//
// It follows the store, so its sums and facts also include changes that other code makes to it.
//
// Invariants: any split of a stream into chunks leads to the same store as its events one by one.
// The JSON of one of our pods is handed over when the pod is new, and when a field that groupers
// read has changed. Cost: parsing, the work of the store, and about as much again for facts; a pod
// costs 8 bytes and its name besides its row, and about 100 bytes while it waits. Threads: those of
// the store's writer.
#ifndef KAI_FEED_FEED_H_
#define KAI_FEED_FEED_H_

#include <array>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "kai/feed/gpu_users.h"
#include "kai/feed/inbox.h"
#include "kai/feed/object_facts.h"
#include "kai/feed/shown_objects.h"
#include "kai/feed/status_sums.h"
#include "kai/store/store.h"

namespace kai {

class Feed final : private Follower {
 public:
  // `store` must outlive it. `scheduler`: our pods are those with this schedulerName.
  Feed(Store* store, std::string scheduler);
  Feed(const Feed&) = delete;
  Feed& operator=(const Feed&) = delete;
  ~Feed() override;

  struct Gone {
    Kind kind{};
    std::string name;
    std::string uid;
  };
  // One of our pods that has failed on a node.
  struct Failed {
    std::string name;
    std::string uid;
    std::string group;  // "namespace/name"; empty: it has no group
    std::string node;
    std::string reason;  // status.reason
    std::string message;
  };
  struct Drained {
    std::vector<std::pair<std::string, std::string>> pods;  // names and JSON
    std::vector<Gone> gone;                                 // our pods, and pod groups
    std::vector<Failed> failed;
    std::vector<GpuUser> gpu_users;   // changed or gone
    bool is_scaling_up = false;       // a scaling pod waits for a node
    std::vector<std::string> groups;  // groups that changed, or whose pods changed; by name
    std::vector<std::string> queues;  // queues that changed; by name
    // Nodes that changed, or got or lost a pod of another scheduler; by name.
    std::vector<std::string> nodes;
    std::vector<Kind> synced;         // kinds that have been listed completely
    std::vector<Rejection> rejected;  // objects that this drain rejected
    std::vector<ShownObjects::State> shown;
    std::vector<ShownObjects::Relisted> relisted;
    int64_t events = 0;
  };
  Drained Drain(Inbox* inbox);

  // Empty if there is no such pod. A pod that has a node, or is not ours, has no verdict.
  std::optional<PodFacts> PodFactsOf(std::string_view name) const;
  const GroupFacts* GroupFactsOf(std::string_view name) const;
  // True if a PersistentVolumeClaim of the pod is not bound yet, or is unknown.
  bool WaitsForVolumes(std::string_view pod) const;

  // An object that was read by itself: counts like an event of a watch.
  void Show(Kind kind, std::string_view json);

  // The objects in a page of a list that are known only at earlier versions. InvalidArgument if it
  // is not a list.
  absl::StatusOr<std::vector<std::string>> Behind(Kind kind, std::string_view page);

  using Texts = std::map<std::string, std::string>;
  struct GroupStatus {
    Texts requested;
    Texts allocated;
    Texts allocated_non_preemptible;
    bool is_preemptible = true;
  };
  std::vector<std::optional<GroupStatus>> GroupStatusOf(
      const std::vector<std::string>& names) const;
  std::optional<GroupStatus> GroupStatusOf(const std::string& name) const {
    return GroupStatusOf(std::vector{name})[0];
  }
  struct QueueStatus {
    std::vector<std::string> children;  // by name
    Texts requested;
    Texts allocated;
    Texts allocated_non_preemptible;
    std::string written;  // its current status on the server, as JSON
  };
  std::map<std::string, QueueStatus> QueueStatuses() const;

  // Our pods that wait for a node although their pod group does not exist or was rejected; with the
  // group's name, "namespace/name". Cost: all pods that wait.
  std::vector<std::pair<std::string, std::string>> Stranded() const;

 private:
  struct PodNote {
    uint64_t digest = 0;
    std::unique_ptr<PodFacts> facts;  // null: its row has all of it
  };
  template <typename T>
  using ByName = absl::flat_hash_map<std::string, T, NameHash, std::equal_to<>>;

  void Changing(Kind kind, std::string_view name) override;
  void Changed(Kind kind, std::string_view name) override;
  void Take(const Inbox::Item& item);
  void TakePage(const Inbox::Item& item);
  void EndList(Kind kind);
  void TakeLines(Kind kind, std::string_view lines);
  void Upsert(Kind kind, JsonObject object);
  void NotePod(const std::string& name, JsonObject object, bool makes_sense);
  void NoteFailure(const std::string& name, PodReading reading);
  void Touch(std::string_view group) {
    if (!group.empty()) groups_touched_.emplace(group);
  }
  // Computes the pod's current share of the sums, and records which objects it depends on; null:
  // the pod does not exist.
  PodShare Share(std::string_view name, const CompactPod* row);
  // Updates the shares of pods that depend on this object.
  void LookAtUsersOf(Kind kind, std::string_view name);
  // The node of a pod of another scheduler; empty if it has none, or is ours.
  std::string ForeignNodeOf(const CompactPod* row) const;
  void Reject(Kind kind, std::string_view why);

  Store& store_;
  const std::string scheduler_;
  JsonDocument document_;
  ByName<PodNote> pods_;  // our pods
  SharedValues<PodVerdict> verdicts_;
  ByName<GroupFacts> groups_;
  ByName<std::string> queues_;  // their statuses
  StatusSums sums_;
  ShownObjects shown_;
  std::vector<std::string>* left_out_ =
      nullptr;  // set while a list ends: names that it did not have
  GpuUsers gpu_users_;
  // Pods whose shares depend on other objects: on their resource claims, and on the node whose GPU
  // memory they hold.
  struct User {
    PodShare share;
    std::vector<std::string> uses;  // keys made by KeyOf()
  };
  ByName<User> users_;
  ByName<std::set<std::string, std::less<>>> users_of_;  // keys made by KeyOf()
  // State of the pod before the change that the store is making.
  PodShare before_;
  std::string uid_before_;
  bool had_failed_ = false;   // or was unknown while pods were being listed
  std::string foreign_node_;  // the node of a pod of another scheduler
  Drained drained_;
  absl::flat_hash_set<std::string> groups_touched_;
  absl::flat_hash_set<std::string> queues_touched_;
  absl::flat_hash_set<std::string> nodes_touched_;
};

}  // namespace kai

#endif  // KAI_FEED_FEED_H_
