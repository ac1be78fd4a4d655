#include "kai/feed/feed.h"

#include <algorithm>
#include <array>

#include "kai/base/text.h"
#include "kai/feed/watch_event.h"
#include "kai/model/building/pod_facts.h"
#include "kai/model/building/pod_group_writer.h"

namespace kai {
namespace {

constexpr size_t kMostRejected = 1000;      // limit for one drain
constexpr int64_t kPreemptibleBelow = 100;  // spec 1 F96

std::vector<std::string> Sorted(const absl::flat_hash_set<std::string>& names) {
  std::vector<std::string> sorted(names.begin(), names.end());
  std::ranges::sort(sorted);
  return sorted;
}

bool IsPreemptible(const PodGroupSpecRow& group, const PriorityClasses& priorities) {
  if (!group.preemptibility.empty()) return group.preemptibility == "preemptible";
  return priorities.ValueOf(group.priority_class) < kPreemptibleBelow;
}

// A key that is unique among objects of all kinds.
std::string KeyOf(Kind kind, std::string_view name) { return StrCat(NameOf(kind), "/", name); }

}  // namespace

Feed::Feed(Store* store, std::string scheduler) : store_(*store), scheduler_(std::move(scheduler)) {
  for (const CompactPod* pod : store_.RowsOfMany().pods) sums_.Add(Share(NameInTable(*pod), pod));
  store_.Follow(this);
}

Feed::~Feed() { store_.Unfollow(this); }

Feed::Drained Feed::Drain(Inbox* inbox) {
  for (Inbox::Item& item : inbox->TakeAll()) {
    Take(item);
    inbox->Done(std::exchange(item.bytes, {}).size());
  }
  Drained drained = std::exchange(drained_, {});
  drained.gpu_users = gpu_users_.TakeChanged();
  drained.is_scaling_up = gpu_users_.is_scaling_up();
  drained.groups = Sorted(std::exchange(groups_touched_, {}));
  drained.queues = Sorted(std::exchange(queues_touched_, {}));
  drained.nodes = Sorted(std::exchange(nodes_touched_, {}));
  drained.shown = shown_.states();
  AnyKind([&](const auto& each) {
    if (store_.IsSynced(each.kind)) drained.synced.push_back(each.kind);
    return false;
  });
  return drained;
}

void Feed::Take(const Inbox::Item& item) {
  switch (item.what) {
    case Inbox::Item::What::kBeginList:
      shown_.BeginList(item.kind);
      store_.BeginList(item.kind);
      break;
    case Inbox::Item::What::kEndList:
      EndList(item.kind);
      break;
    case Inbox::Item::What::kLines:
      TakeLines(item.kind, item.bytes);
      break;
    case Inbox::Item::What::kPage:
      TakePage(item);
      break;
  }
  shown_.At(item.kind, item.version);
}

void Feed::EndList(Kind kind) {
  std::vector<std::string> left_out;
  left_out_ = &left_out;
  store_.EndList(kind);
  left_out_ = nullptr;
  if (std::optional<ShownObjects::Relisted> relisted = shown_.EndList(kind, std::move(left_out)))
    drained_.relisted.push_back(*std::move(relisted));
}

void Feed::Show(Kind kind, std::string_view json) {
  const absl::StatusOr<JsonObject> object = document_.Parse(json);
  if (!object.ok()) return Reject(kind, std::string(object.status().message()));
  Upsert(kind, *object);
}

absl::StatusOr<std::vector<std::string>> Feed::Behind(Kind kind, std::string_view bytes) {
  absl::StatusOr<ListPage> page = ReadListPage(bytes, NameOf(kind), &document_);
  if (!page.ok()) return page.status();
  std::vector<std::string> behind;
  if (!page->has_items) return behind;
  const FieldStatus read = ForEachElement(page->items, [&](JsonValue& element) {
    JsonObject object;
    if (!ReadObject(element, &object).ok()) return Skip();
    ObjectIdentity identity = IdentityOf(object);
    if (shown_.IsBehind(kind, identity.name, VersionOf(identity.version)))
      behind.push_back(std::move(identity.name));
    return Skip();
  });
  return behind;
}

void Feed::TakePage(const Inbox::Item& item) {
  absl::StatusOr<ListPage> page = ReadListPage(item.bytes, NameOf(item.kind), &document_);
  if (!page.ok()) return Reject(item.kind, std::string(page.status().message()));
  if (!page->has_items) return;
  const FieldStatus read = ForEachElement(page->items, [&](JsonValue& element) {
    JsonObject object;
    if (const FieldStatus status = ReadObject(element, &object); !status.ok()) {
      Reject(item.kind, status.message());
    } else {
      Upsert(item.kind, object);
    }
    return Skip();
  });
}

void Feed::TakeLines(Kind kind, std::string_view lines) {
  while (!lines.empty()) {
    const size_t end = std::min(lines.find('\n'), lines.size());
    const std::string_view line = lines.substr(0, end);
    lines.remove_prefix(std::min(end + 1, lines.size()));
    if (line.find_first_not_of(" \t\r") == line.npos) continue;
    absl::StatusOr<WatchEvent> event = ReadWatchEvent(line, &document_);
    if (!event.ok()) {
      Reject(kind, std::string(event.status().message()));
    } else if (event->type == WatchEventType::kDeleted) {
      ++drained_.events;
      const ObjectIdentity identity = IdentityOf(event->object);
      if (identity.name.empty()) {
        Reject(kind, "the object that was deleted has no metadata.name");
      } else {
        shown_.Drop(kind, identity.name);
        store_.Delete(kind, identity.name, VersionOf(identity.version));
      }
    } else if (event->type == WatchEventType::kAdded || event->type == WatchEventType::kModified) {
      Upsert(kind, event->object);
    }
  }
}

void Feed::Reject(Kind kind, std::string_view why) {
  if (drained_.rejected.size() >= kMostRejected) return;
  drained_.rejected.push_back(
      {.kind = std::string(NameOf(kind)), .name = "", .field = "", .message = std::string(why)});
}

void Feed::Upsert(Kind kind, JsonObject object) {
  ++drained_.events;
  const ObjectIdentity identity = IdentityOf(object);
  const std::string& name = identity.name;
  if (name.empty()) return Reject(kind, "the object has no metadata.name");
  shown_.Put(kind, name, VersionOf(identity.version));
  // The UID of the previous object; the store's row is about to be replaced.
  std::string uid_before;
  const auto note = kind == Kind::kPod ? pods_.find(name) : pods_.end();
  if (note != pods_.end()) uid_before = PodFactsOf(name).value_or(PodFacts()).uid;
  if (kind == Kind::kPod) {
    const CompactPod* row = store_.Find<PodRow>(name);
    had_failed_ = row == nullptr ? !store_.IsSynced(kind) : row->phase == Phase::kFailed;
  }
  const Store::Outcome outcome = store_.Upsert(kind, object, identity);
  if (outcome == Store::Outcome::kStale) return;
  const bool makes_sense = outcome == Store::Outcome::kApplied;
  if (!makes_sense && drained_.rejected.size() < kMostRejected) {
    if (const Rejection* why = store_.FindRejection(kind, name)) drained_.rejected.push_back(*why);
  }
  if (kind == Kind::kPod) {
    NotePod(name, object, makes_sense);
    const std::string& uid = PodFactsOf(name).value_or(PodFacts()).uid;
    if (!uid_before.empty() && uid != uid_before)
      drained_.gone.push_back({.kind = kind, .name = name, .uid = std::move(uid_before)});
  } else if (kind == Kind::kPodGroup) {
    GroupFacts facts = ReadGroupFacts(object);
    GroupFacts& known = groups_[name];
    if (known == facts) return;
    if (!known.uid.empty() && known.uid != facts.uid)
      drained_.gone.push_back({.kind = kind, .name = name, .uid = known.uid});
    known = std::move(facts);
    Touch(name);
  } else if (kind == Kind::kQueue) {
    std::string status = ReadRawStatus(object);
    std::string& known = queues_[name];
    if (known == status) return;
    known = std::move(status);
    queues_touched_.insert(name);
  }
}

void Feed::NotePod(const std::string& name, JsonObject object, bool makes_sense) {
  gpu_users_.Update(name, makes_sense ? store_.Find<PodRow>(name) : nullptr, object);
  PodReading reading = ReadPodReading(object);
  if (reading.scheduler != scheduler_) {
    pods_.erase(name);
    return;
  }
  const auto [found, is_new] = pods_.try_emplace(name);
  PodNote& note = found->second;
  if (is_new || note.digest != reading.digest) drained_.pods.emplace_back(name, RawJson(object));
  note.digest = reading.digest;
  const CompactPod* row = store_.Find<PodRow>(name);
  if (!had_failed_ && row != nullptr && row->phase == Phase::kFailed) NoteFailure(name, reading);
  if (note.facts != nullptr) {
    if (note.facts->verdict->status != reading.verdict.status && row != nullptr &&
        !row->pod_group.empty())
      Touch(row->namespace_name + "/" + row->pod_group);
    verdicts_.Release(std::move(note.facts->verdict));
    note.facts = nullptr;
  }
  if (makes_sense && !reading.node.empty()) return;
  note.facts =
      std::make_unique<PodFacts>(PodFacts{.uid = std::move(reading.uid),
                                          .node = std::move(reading.node),
                                          .verdict = verdicts_.Share(std::move(reading.verdict))});
}

void Feed::NoteFailure(const std::string& name, PodReading reading) {
  const CompactPod& row = *store_.Find<PodRow>(name);
  if (row.node_name.empty()) return;
  const std::string group(row.pod_group);
  drained_.failed.push_back({.name = name,
                             .uid = std::move(reading.uid),
                             .group = group.empty() ? "" : row.namespace_name + "/" + group,
                             .node = row.node_name,
                             .reason = std::move(reading.reason),
                             .message = std::move(reading.message)});
}

std::string Feed::ForeignNodeOf(const CompactPod* row) const {
  // A reservation pod takes no capacity of its own: pods that share its device have it already.
  if (row == nullptr || row->spec->scheduler_name == scheduler_ || IsReservation(*row)) return "";
  return std::string(row->node_name);
}

PodShare Feed::Share(std::string_view name, const CompactPod* row) {
  if (const auto known = users_.find(name); known != users_.end()) {
    for (const std::string& used : known->second.uses) {
      const auto users = users_of_.find(used);
      users->second.erase(users->second.find(name));
      if (users->second.empty()) users_of_.erase(users);
    }
    users_.erase(known);
  }
  if (row == nullptr) return PodShare();
  PodShare share = ShareOf(*row);
  std::vector<std::string> uses;
  std::set<std::string> claims;  // a set: a pod may name a claim twice
  for (const PodExtrasRow::Claim& each : row->extras->claims) {
    if (!each.resource_claim.empty())
      claims.insert(StrCat(row->namespace_name, "/", each.resource_claim));
  }
  for (const std::string& claim : claims) {
    uses.push_back(KeyOf(Kind::kResourceClaim, claim));
    if (const auto* asked = store_.Find<ResourceClaimRow>(claim)) AddClaim(*asked, *row, &share);
  }
  if (share.is_allocated && row->spec->gpu.kind == GpuRequestKind::kMemory) {
    uses.push_back(KeyOf(Kind::kNode, row->node_name));
    if (const auto* node = store_.Find<NodeRow>(row->node_name)) MeasureMemory(*node, *row, &share);
  }
  if (uses.empty()) return share;
  for (const std::string& used : uses) users_of_[used].emplace(name);
  users_[name] = {.share = share, .uses = std::move(uses)};
  return share;
}

void Feed::LookAtUsersOf(Kind kind, std::string_view name) {
  if (users_of_.empty()) return;
  const auto users = users_of_.find(KeyOf(kind, name));
  if (users == users_of_.end()) return;
  for (const std::string& pod : std::set(users->second)) {
    sums_.Subtract(users_.find(pod)->second.share);
    const PodShare after = Share(pod, store_.Find<PodRow>(pod));
    sums_.Add(after);
    Touch(after.group);
  }
}

void Feed::Changing(Kind kind, std::string_view name) {
  if (kind != Kind::kPod) return;
  const CompactPod* row = store_.Find<PodRow>(name);
  const auto user = users_.find(name);
  before_ = row == nullptr ? PodShare() : user != users_.end() ? user->second.share : ShareOf(*row);
  uid_before_ = row == nullptr ? "" : row->uid;
  foreign_node_ = ForeignNodeOf(row);
}

void Feed::Changed(Kind kind, std::string_view name) {
  if (name.empty()) return;
  if (left_out_ != nullptr && !store_.Has(kind, name)) left_out_->emplace_back(name);
  if (kind == Kind::kPod) {
    const CompactPod* row = store_.Find<PodRow>(name);
    const PodShare after = Share(name, row);
    sums_.Subtract(before_);
    sums_.Add(after);
    Touch(before_.group);
    Touch(after.group);
    before_ = after;
    for (std::string& node : std::array{std::move(foreign_node_), ForeignNodeOf(row)})
      if (!node.empty()) nodes_touched_.insert(std::move(node));
    foreign_node_.clear();
    if (store_.Has(kind, name)) return;
    gpu_users_.Gone(name);
    const auto note = pods_.find(name);
    if (note == pods_.end()) return;
    if (note->second.facts != nullptr) {
      uid_before_ = std::move(note->second.facts->uid);
      verdicts_.Release(std::move(note->second.facts->verdict));
    }
    drained_.gone.push_back({.kind = kind, .name = std::string(name), .uid = uid_before_});
    pods_.erase(note);
    return;
  }
  if (kind == Kind::kNode) nodes_touched_.emplace(name);
  if (kind == Kind::kNode || kind == Kind::kResourceClaim) LookAtUsersOf(kind, name);
  if (kind == Kind::kQueue) {
    queues_touched_.emplace(name);
    if (!store_.Has(kind, name)) queues_.erase(name);
    return;
  }
  if (kind != Kind::kPodGroup) return;
  Touch(name);
  const auto known = groups_.find(name);
  if (known == groups_.end() || store_.Has(kind, name)) return;
  drained_.gone.push_back(
      {.kind = kind, .name = std::string(name), .uid = std::move(known->second.uid)});
  groups_.erase(known);
}

std::optional<PodFacts> Feed::PodFactsOf(std::string_view name) const {
  static const auto kNone = std::make_shared<const PodVerdict>();
  const auto note = pods_.find(name);
  const CompactPod* row = store_.Find<PodRow>(name);
  const bool is_kept = note != pods_.end() && note->second.facts != nullptr;
  if (row == nullptr && !is_kept) return std::nullopt;
  PodFacts facts = is_kept ? *note->second.facts
                           : PodFacts{.uid = row->uid, .node = row->node_name, .verdict = kNone};
  if (row == nullptr || row->pod_group.empty()) return facts;
  facts.group = row->pod_group;
  const CompactPodGroup* group =
      store_.Find<PodGroupRow>(StrCat(row->namespace_name, "/", row->pod_group));
  facts.is_marked = group == nullptr || group->spec->mark_unschedulable;
  return facts;
}

const GroupFacts* Feed::GroupFactsOf(std::string_view name) const {
  const auto known = groups_.find(name);
  return known == groups_.end() ? nullptr : &known->second;
}

bool Feed::WaitsForVolumes(std::string_view pod) const {
  const CompactPod* row = store_.Find<PodRow>(pod);
  if (row == nullptr) return false;
  return std::ranges::any_of(row->extras->volumes, [&](const VolumeClaimRow& volume) {
    const auto* claim =
        store_.Find<PersistentVolumeClaimRow>(StrCat(row->namespace_name, "/", volume.claim));
    return claim == nullptr || claim->volume.empty() || !claim->bind_completed;
  });
}

std::vector<std::optional<Feed::GroupStatus>> Feed::GroupStatusOf(
    const std::vector<std::string>& names) const {
  const PriorityClasses priorities(store_.RowsOfKind<PriorityClassRow>());
  std::vector<std::optional<GroupStatus>> all;
  for (const std::string& name : names) {
    std::optional<GroupStatus>& status = all.emplace_back();
    const CompactPodGroup* group = store_.Find<PodGroupRow>(name);
    if (group == nullptr) continue;
    const StatusSums::Sums& sums = sums_.Of(name);
    status.emplace();
    status->is_preemptible = IsPreemptible(*group->spec, priorities);
    status->requested = TextsOf(sums.requested);
    status->allocated = TextsOf(sums.allocated);
    if (!status->is_preemptible) status->allocated_non_preemptible = status->allocated;
  }
  return all;
}

std::map<std::string, Feed::QueueStatus> Feed::QueueStatuses() const {
  struct Node {
    std::string parent;
    StatusAmounts requested, allocated, non_preemptible;
  };
  const PriorityClasses priorities(store_.RowsOfKind<PriorityClassRow>());
  std::map<std::string, Node> own;
  for (const QueueRow& queue : store_.RowsOfKind<QueueRow>()) own[queue.name].parent = queue.parent;
  for (const auto& [name, sums] : sums_.all()) {
    const CompactPodGroup* group = store_.Find<PodGroupRow>(name);
    if (group == nullptr) continue;
    const auto queue = own.find(group->spec->queue);
    if (queue == own.end()) continue;
    AddTo(&queue->second.requested, sums.requested);
    AddTo(&queue->second.allocated, sums.allocated);
    if (!IsPreemptible(*group->spec, priorities))
      AddTo(&queue->second.non_preemptible, sums.allocated);
  }
  std::map<std::string, Node> total;
  std::map<std::string, QueueStatus> statuses;
  for (const auto& [name, node] : own) {
    if (own.contains(node.parent)) statuses[node.parent].children.push_back(name);
    // Adds to all queues above; `seen` stops at a cycle in the tree.
    absl::flat_hash_set<std::string> seen;
    for (auto at = own.find(name); at != own.end() && seen.insert(at->first).second;
         at = own.find(at->second.parent)) {
      Node& sum = total[at->first];
      AddTo(&sum.requested, node.requested);
      AddTo(&sum.allocated, node.allocated);
      AddTo(&sum.non_preemptible, node.non_preemptible);
    }
  }
  for (const auto& [name, sum] : total) {
    QueueStatus& status = statuses[name];
    status.requested = TextsOf(sum.requested);
    status.allocated = TextsOf(sum.allocated);
    status.allocated_non_preemptible = TextsOf(sum.non_preemptible);
    if (const auto written = queues_.find(name); written != queues_.end())
      status.written = written->second;
  }
  return statuses;
}

std::vector<std::pair<std::string, std::string>> Feed::Stranded() const {
  std::vector<std::pair<std::string, std::string>> stranded;
  for (const auto& [name, note] : pods_) {
    if (note.facts == nullptr || !note.facts->node.empty()) continue;
    const CompactPod* row = store_.Find<PodRow>(name);
    if (row == nullptr || row->phase != Phase::kPending || row->pod_group.empty()) continue;
    std::string group = StrCat(row->namespace_name, "/", row->pod_group);
    if (store_.Find<PodGroupRow>(group) == nullptr) stranded.emplace_back(name, std::move(group));
  }
  std::ranges::sort(stranded);
  return stranded;
}

}  // namespace kai
