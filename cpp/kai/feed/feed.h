// Feed: takes what lists and watches brought into a store, and says what that means for those who
// write to the cluster.
//
//   Feed feed{&store, "kai-scheduler"};
//   const Feed::Drained drained = feed.Drain(&inbox);
//   feed.GroupStatusOf("q/g")
//
// It follows the store, so that sums and facts are right also for what others do to it.
//
// Invariants: random chunks of a stream lead to the store that its events one by one lead to. Of a
// pod of ours the JSON is handed over when it is new, and when what a grouper looks at changed.
// Cost: parsing, the store's, and about as much again for facts; a pod costs 8 bytes and its name
// beside its row, and some 100 while it waits. Threads: those of the store's writer.
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
#include "kai/feed/gpu_users.h"
#include "kai/feed/inbox.h"
#include "kai/feed/object_facts.h"
#include "kai/feed/status_sums.h"
#include "kai/store/store.h"

namespace kai {

class Feed final : private Follower {
 public:
  // `store` has to outlive it. `scheduler`: whose pods are ours.
  Feed(Store* store, std::string scheduler);
  Feed(const Feed&) = delete;
  Feed& operator=(const Feed&) = delete;
  ~Feed() override;

  struct Gone {
    Kind kind{};
    std::string name;
    std::string uid;
  };
  // A pod of ours that has failed on a node.
  struct Failed {
    std::string name;
    std::string uid;
    std::string group;  // "namespace/name"; empty: it belongs to none
    std::string node;
    std::string reason;  // status.reason
    std::string message;
  };
  struct Drained {
    std::vector<std::pair<std::string, std::string>> pods;  // names and JSON
    std::vector<Gone> gone;                                 // pods of ours, and pod groups
    std::vector<Failed> failed;
    std::vector<GpuUser> gpu_users;   // that changed, or went
    bool is_scaling_up = false;       // a pod in the namespace of scaling pods waits for a node
    std::vector<std::string> groups;  // of which a pod, or the group itself, changed; by name
    std::vector<std::string> queues;  // that changed; by name
    // That changed, or got or lost a pod that is not ours; by name.
    std::vector<std::string> nodes;
    std::vector<Kind> synced;         // kinds that have been listed by now
    std::vector<Rejection> rejected;  // what made no sense this time
    int64_t events = 0;
  };
  Drained Drain(Inbox* inbox);

  // Nothing: there is none. Of a pod that has a node, or is not ours: without a verdict.
  std::optional<PodFacts> PodFactsOf(std::string_view name) const;
  const GroupFacts* GroupFactsOf(std::string_view name) const;
  // A claim for storage of the pod is not bound yet, or not known.
  bool WaitsForVolumes(std::string_view pod) const;

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
    std::string written;  // its status as JSON, as the server has it
  };
  std::map<std::string, QueueStatus> QueueStatuses() const;

  // Pods of ours that wait for a node and are in a pod group that is not there or makes no sense;
  // with its name, "namespace/name". Cost: all pods that wait.
  std::vector<std::pair<std::string, std::string>> Stranded() const;

 private:
  struct PodNote {
    uint64_t digest = 0;
    std::unique_ptr<PodFacts> facts;  // null: its row says it all
  };
  template <typename T>
  using ByName = absl::flat_hash_map<std::string, T, NameHash, std::equal_to<>>;

  void Changing(Kind kind, std::string_view name) override;
  void Changed(Kind kind, std::string_view name) override;
  void Take(const Inbox::Item& item);
  void TakeLines(Kind kind, std::string_view lines);
  void Upsert(Kind kind, JsonObject object);
  void NotePod(const std::string& name, JsonObject object, bool makes_sense);
  void NoteFailure(const std::string& name, PodReading reading);
  void Touch(std::string_view group) {
    if (!group.empty()) groups_touched_.emplace(group);
  }
  // What it takes part with in the sums, and from now on does; null: the pod is not there.
  PodShare Share(std::string_view name, const CompactPod* row);
  // An object changed that shares of pods may depend on.
  void LookAtUsersOf(Kind kind, std::string_view name);
  // The node of a pod that is not ours; empty: it has none, or is ours.
  std::string ForeignNodeOf(const CompactPod* row) const;
  void Reject(Kind kind, std::string_view why);

  Store& store_;
  const std::string scheduler_;
  JsonDocument document_;
  ByName<PodNote> pods_;  // of ours
  SharedValues<PodVerdict> verdicts_;
  ByName<GroupFacts> groups_;
  ByName<std::string> queues_;  // their status
  StatusSums sums_;
  GpuUsers gpu_users_;
  // Of pods whose shares change with other objects: with their resource claims, and with the node
  // that has the GPU memory which they hold.
  struct User {
    PodShare share;
    std::vector<std::string> uses;  // as KeyOf() them
  };
  ByName<User> users_;
  ByName<std::set<std::string, std::less<>>> users_of_;  // by KeyOf()
  // Of the pod that may be changing.
  PodShare before_;
  std::string uid_before_;
  bool had_failed_ = false;   // or was not there while pods were being listed
  std::string foreign_node_;  // the node of a pod that is not ours
  Drained drained_;
  absl::flat_hash_set<std::string> groups_touched_;
  absl::flat_hash_set<std::string> queues_touched_;
  absl::flat_hash_set<std::string> nodes_touched_;
};

}  // namespace kai

#endif  // KAI_FEED_FEED_H_
