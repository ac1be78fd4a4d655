#include "kai/ingest/snapshot_reader.h"

#include <algorithm>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>
#include <variant>

#include "absl/status/status.h"
#include "kai/base/nearest.h"
#include "kai/base/quote.h"
#include "kai/base/status_macros.h"
#include "kai/base/text.h"
#include "kai/ingest/json_document.h"
#include "kai/ingest/json_reader.h"
#include "kai/ingest/kinds.h"
#include "kai/model/rows/cluster_rows.h"

namespace kai {
namespace {

// The versions that KAI supports (spec 3 D1).
constexpr std::string_view kResourceVersions[] = {"resource.k8s.io/v1", "resource.k8s.io/v1beta2",
                                                  "resource.k8s.io/v1beta1"};
constexpr std::string_view kPartition = "partitionParams";

// Reads the objects of one list of rawObjects: each into *begin(), then calls end(true if it is
// valid). Each invalid object becomes a rejection; if it has no name, the message gives its
// position in the list.
template <typename Row, typename Begin, typename End>
FieldStatus ReadEach(JsonValue& list, const KindEntry<Row>& kind, const Begin& begin,
                     const End& end, std::vector<Rejection>* rejections) {
  size_t index = 0;
  return ForEachElement(list, [&](JsonValue& element) {
    std::optional<Rejection> rejection;
    JsonObject object;
    if (FieldStatus status = ReadObject(element, &object); !status.ok()) {
      rejection = Rejection{
          .kind = std::string(kind.name), .name = "", .field = "", .message = status.message()};
    } else {
      rejection = kind.read(object, begin());
      end(!rejection.has_value());
    }
    if (rejection.has_value()) {
      if (rejection->name.empty()) {
        rejection->message += StrCat(" (rawObjects.", kind.list, "[", index, "])");
      }
      rejections->push_back(*std::move(rejection));
    }
    ++index;
    return FieldStatus();
  });
}

// Reserves memory for the elements of a list. The text's length limits it: a list of a million
// zeros must not reserve gigabytes.
template <typename Row>
FieldStatus Reserve(JsonValue& list, std::vector<Row>* rows) {
  constexpr std::string_view kSmallest = R"({"metadata":{"name":"a"}})";
  size_t count = 0;
  const char* const begin = RawToken(list).data();
  const char* end = begin;
  KAI_RETURN_IF_BAD(ForEachElement(list, [&](JsonValue& element) {
    end = RawToken(element).data();
    ++count;
    return Skip();
  }));
  rows->clear();
  rows->reserve(std::min(count, static_cast<size_t>(end - begin) / kSmallest.size() + 1));
  return FieldStatus();
}

// Reads into `rows` or `compact`. Of two lists of one kind, the last counts.
template <typename Row>
FieldStatus ReadList(JsonValue& list, const KindEntry<Row>& kind, ClusterRows* rows,
                     CompactRows* compact) {
  if constexpr (std::is_same_v<Row, PodRow> || std::is_same_v<Row, PodGroupRow>) {
    if (compact != nullptr) {
      if constexpr (std::is_same_v<Row, PodRow>) {
        KAI_RETURN_IF_BAD(Reserve(list, &compact->pods));
      } else {
        KAI_RETURN_IF_BAD(Reserve(list, &compact->pod_groups));
      }
      std::optional<Row> row;
      const auto end = [&](bool is_good) {
        if (is_good) compact->Add(*std::move(row));
      };
      return ReadEach(list, kind, [&] { return &row.emplace(); }, end, &rows->rejections);
    }
  }
  std::vector<Row>& out = kind.in(rows);
  KAI_RETURN_IF_BAD(Reserve(list, &out));
  const auto end = [&](bool is_good) {
    if (!is_good) out.pop_back();
  };
  return ReadEach(list, kind, [&] { return &out.emplace_back(); }, end, &rows->rejections);
}

FieldStatus ReadRawObjects(JsonValue& raw_objects, ClusterRows* rows, CompactRows* compact) {
  return ForEachMember(raw_objects, [&](std::string_view key, JsonValue& list) {
    FieldStatus status;
    AnyKind([&](const auto& kind) {
      if (kind.list != key) return false;
      status = ReadList(list, kind, rows, compact);
      return true;
    });
    return status;
  });
}

// A member of schedulerParams and its field. monostate: KAI has it, but no plan depends on it.
struct KnownParam {
  std::string_view name;
  std::variant<std::monostate, std::string ShardParams::*, bool ShardParams::*,
               int64_t ShardParams::*>
      member;
};

constexpr KnownParam kParams[] = {
    {"schedulerName", &ShardParams::scheduler_name},
    {"restrictSchedulingNodes", &ShardParams::restrict_node_scheduling},
    {"maxNumberConsolidationPreemptees", &ShardParams::max_consolidation_preemptees},
    {"scheduleCSIStorage", &ShardParams::schedule_csi_storage},
    {"useSchedulingSignatures", &ShardParams::use_scheduling_signatures},
    {"fullHierarchyFairness", &ShardParams::full_hierarchy_fairness},
    {"allowConsolidatingReclaim", &ShardParams::allow_consolidating_reclaim},
    {"numOfStatusRecordingWorkers", {}},
    {"globalDefaultStalenessGracePeriod", &ShardParams::default_staleness_grace_ns},
    {"schedulePeriod", {}},
    {"stuckInReleasingThreshold", &ShardParams::stuck_in_releasing_threshold_ns},
    {"detailedFitErrors", &ShardParams::detailed_fit_errors},
    {"updatePodEvictionCondition", {}},
    {"queueLabelKey", &ShardParams::queue_label_key},
    {"countMigAsParts", &ShardParams::count_mig_as_parts},
    {"countAllAccelerators", &ShardParams::count_all_accelerators},
    {kPartition, {}},
};
constexpr KnownParam kPartitionParams[] = {
    {"NodePoolLabelKey", &ShardParams::node_pool_label_key},
    {"NodePoolLabelValue", &ShardParams::node_pool_label_value},
};

std::vector<std::string_view> NamesOf(std::span<const KnownParam> known) {
  std::vector<std::string_view> names;
  for (const KnownParam& each : known) names.push_back(each.name);
  return names;
}

// Reads a member listed in the table; reports and skips one that is not.
FieldStatus ReadParam(std::string_view key, JsonValue& part, std::span<const KnownParam> known,
                      const std::string& place, ShardParams* params,
                      std::vector<std::string>* warnings) {
  const auto found = std::ranges::find(known, key, &KnownParam::name);
  if (found == known.end()) {
    warnings->push_back(StrCat(place, " ", Quote(key), " is not known and is skipped",
                               DidYouMean(key, NamesOf(known))));
    return Skip();
  }
  if (const auto* text = std::get_if<std::string ShardParams::*>(&found->member))
    return ReadString(part, &(params->**text));
  if (const auto* flag = std::get_if<bool ShardParams::*>(&found->member))
    return ReadBool(part, &(params->**flag));
  if (const auto* number = std::get_if<int64_t ShardParams::*>(&found->member))
    return ReadInt(part, &(params->**number));
  return Skip();
}

// Here a missing member means Go's zero value and not the flag's default (spec 2 L7), because KAI
// omits zeros when it writes.
FieldStatus ReadSchedulerParams(JsonValue& value, ShardParams* out,
                                std::vector<std::string>* warnings) {
  ShardParams params{.scheduler_name = "",
                     .restrict_node_scheduling = false,
                     .node_pool_label_key = "",
                     .node_pool_label_value = "",
                     .max_consolidation_preemptees = 0,
                     .schedule_csi_storage = false,
                     .use_scheduling_signatures = false,
                     .full_hierarchy_fairness = false,
                     .allow_consolidating_reclaim = false,
                     .default_staleness_grace_ns = 0,
                     .stuck_in_releasing_threshold_ns = 0,
                     .detailed_fit_errors = false,
                     .queue_label_key = "",
                     .count_mig_as_parts = false,
                     .count_all_accelerators = false};
  KAI_RETURN_IF_BAD(ForEachMember(value, [&](std::string_view key, JsonValue& part) {
    if (key != kPartition)
      return ReadParam(key, part, kParams, "schedulerParams: member", &params, warnings);
    return ForEachMember(part, [&](std::string_view member, JsonValue& text) {
      return ReadParam(member, text, kPartitionParams, "schedulerParams.partitionParams: member",
                       &params, warnings);
    });
  }));
  const ShardParams defaults;
  if (params.scheduler_name.empty()) params.scheduler_name = defaults.scheduler_name;
  if (params.stuck_in_releasing_threshold_ns <= 0) {  // spec 2 S2
    params.stuck_in_releasing_threshold_ns = defaults.stuck_in_releasing_threshold_ns;
  }
  *out = std::move(params);
  return FieldStatus();
}

// Reads whether the cluster served the API of resource claims (spec 3 D1). If the snapshot has no
// such list, it is assumed that it did.
FieldStatus ReadDiscovery(JsonValue& value, std::optional<bool>* serves_claims) {
  return ForEachMember(value, [&](std::string_view key, JsonValue& lists) {
    if (key != "resources") return Skip();
    *serves_claims = false;
    return ForEachElement(lists, [&](JsonValue& list) {
      return ForEachMember(list, [&](std::string_view member, JsonValue& part) {
        if (member != "groupVersion") return Skip();
        std::string group_version;
        KAI_RETURN_IF_BAD(ReadString(part, &group_version));
        if (std::ranges::find(kResourceVersions, group_version) != std::end(kResourceVersions))
          *serves_claims = true;
        return FieldStatus();
      });
    });
  });
}

FieldStatus ReadPastUsage(JsonValue& value, QuotaVector* usage) {
  return ForEachMember(value, [&](std::string_view resource, JsonValue& part) {
    QuotaResource place = kQuotaGpu;
    if (resource == "cpu") {
      place = kQuotaCpu;
    } else if (resource == "memory") {
      place = kQuotaMemory;
    } else if (resource != "gpu") {
      return FieldStatus::Bad("is not a resource of queues; use gpu, cpu or memory");
    }
    KAI_RETURN_IF_BAD(ReadDouble(part, &(*usage)[place]));
    return IsPastUsage((*usage)[place]) ? FieldStatus()
                                        : FieldStatus::Bad("must be a number of at least 0");
  });
}

FieldStatus ReadPastUsages(JsonValue& value, PastUsages* usages) {
  usages->clear();
  return ForEachEntry(value, [&](std::string_view queue, JsonValue& parts) {
    return ReadPastUsage(parts, &(*usages)[std::string(queue)]);
  });
}

// Where the parts of a snapshot are stored.
struct Destination {
  SnapshotRows* rows;
  CompactRows* compact;  // null: pods go to `rows`, too
  bool has_raw_objects = false;
};

// Reads one member of a snapshot.
FieldStatus ReadMember(std::string_view key, JsonValue& value, Destination* to) {
  ClusterRows& cluster = to->rows->cluster;
  if (key == "config") return ReadRawObject(value, &to->rows->config_json);
  if (key == "memory") return ReadRawObject(value, &to->rows->memory_json);
  if (key == "now") return ReadString(value, &to->rows->now);
  if (key == "schedulerParams")
    return ReadSchedulerParams(value, &cluster.params, &to->rows->warnings);
  if (key == "discovery") return ReadDiscovery(value, &cluster.serves_claims);
  if (key == "usage") return ReadPastUsages(value, &to->rows->past_usages);
  if (key != "rawObjects") return Skip();
  to->has_raw_objects = true;
  cluster.rejections.clear();
  return ReadRawObjects(value, &cluster, to->compact);
}

absl::Status ReadInto(std::string_view json, SnapshotRows* rows, CompactRows* compact) {
  JsonDocument document;
  const absl::StatusOr<JsonObject> top = document.Parse(json);
  if (!top.ok()) {
    return absl::Status(top.status().code(),
                        StrCat("the snapshot ", std::string(top.status().message())));
  }
  Destination to{.rows = rows, .compact = compact};
  const FieldStatus status = ForEachMember(*top, [&](std::string_view key, JsonValue& value) {
    if (key != "snapshot") return ReadMember(key, value, &to);
    return ForEachMember(value, [&](std::string_view member, JsonValue& part) {
      return ReadMember(member, part, &to);
    });
  });
  if (!status.ok()) {
    return absl::InvalidArgumentError(
        StrCat("the snapshot's ", status.field(), ": ", status.message()));
  }
  if (!to.has_raw_objects) return absl::InvalidArgumentError("the snapshot has no rawObjects");
  for (QueueRow& queue : rows->cluster.queues) {
    const auto usage = rows->past_usages.find(queue.name);
    if (usage != rows->past_usages.end()) queue.past_usage = usage->second;
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<SnapshotRows> ReadSnapshotRows(std::string_view json) {
  SnapshotRows rows;
  KAI_RETURN_IF_ERROR(ReadInto(json, &rows, nullptr));
  return rows;
}

absl::StatusOr<SnapshotFile> ReadSnapshot(std::string_view json) {
  SnapshotRows rows;
  CompactRows compact;
  KAI_RETURN_IF_ERROR(ReadInto(json, &rows, &compact));
  return SnapshotFile{.cluster = rows.cluster.BuildWith(compact),
                      .params = std::move(rows.cluster.params),
                      .config_json = std::move(rows.config_json),
                      .memory_json = std::move(rows.memory_json),
                      .now = std::move(rows.now),
                      .warnings = std::move(rows.warnings)};
}

std::vector<std::pair<std::string, std::vector<std::string>>> SchedulerParamNames() {
  const auto strings = [](std::span<const KnownParam> known) {
    const std::vector<std::string_view> names = NamesOf(known);
    return std::vector<std::string>(names.begin(), names.end());
  };
  return {{"", strings(kParams)}, {std::string(kPartition), strings(kPartitionParams)}};
}

}  // namespace kai
