// The program whose instructions `make bench` counts: loads a snapshot, plans it, and plans it
// again after each batch of events. Prints the number of decisions of each plan, one line per plan.
//
//   kai_phases snapshot.json             load, and a first plan
//   kai_phases snapshot.json events      and another plan after each batch
//
// `events` has a pod as JSON in each line, and an empty line after each batch. Each phase is a
// function with a fixed name, because callgrind counts by function (tools/bench.py).
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kai/base/check.h"
#include "kai/engine/engine.h"
#include "kai/ingest/snapshot_reader.h"
#include "kai/session/session.h"
#include "kai/store/fill_store.h"

namespace kai {
namespace {

constexpr int64_t kNowNs = 1'767'225'600'000'000'000;  // 2026-01-01T00:00:00Z, as in kai bench

using Batch = std::vector<std::string>;

std::string ContentOf(const char* path) {
  std::ifstream file(path, std::ios::binary);
  KAI_CHECK(file.good()) << "cannot read " << path;
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

template <typename Value>
Value ValueOf(absl::StatusOr<Value> value) {
  KAI_CHECK(value.ok()) << value.status().ToString();
  return *std::move(value);
}

}  // namespace

// ---- phases: not static, and never inlined ------------------------------------------------------

[[gnu::noinline]] SnapshotFile PhaseLoad(std::string_view json) {
  return ValueOf(ReadSnapshot(json));
}

[[gnu::noinline]] Plan PhasePlan(const Session& session, std::shared_ptr<Cluster> cluster) {
  return ValueOf(session.Run(std::move(cluster), kNowNs, nullptr));
}

[[gnu::noinline]] Engine::PlanPtr PhaseNext(const Batch& batch, Store* store, Engine* engine) {
  for (const std::string& object : batch) store->Upsert(Kind::kPod, object);
  return ValueOf(engine->Plan(kNowNs, nullptr));
}

namespace {

void LoadAndPlan(std::string_view json) {
  SnapshotFile file = PhaseLoad(json);
  const Session session(ValueOf(Config::Parse(file.config_json, {})));
  std::printf("%zu\n", PhasePlan(session, std::move(file.cluster)).decisions.size());
}

void LiveOn(std::string_view json, std::istream& events) {
  SnapshotRows rows = ValueOf(ReadSnapshotRows(json));
  Config config = ValueOf(Config::Parse(rows.config_json, {}));
  const ShardParams params = rows.cluster.params;
  Store store;
  KAI_CHECK(FillStore(&rows, &store));
  Engine engine(&store, std::move(config), params);
  KAI_CHECK(engine.Plan(kNowNs, nullptr).ok());
  Batch batch;
  for (std::string line; std::getline(events, line);) {
    if (!line.empty()) {
      batch.push_back(std::move(line));
      continue;
    }
    std::printf("%zu\n", PhaseNext(batch, &store, &engine)->decisions.size());
    batch.clear();
  }
}

}  // namespace
}  // namespace kai

int main(int count, char** arguments) {
  if (count != 2 && count != 3) {
    std::fprintf(stderr, "usage: kai_phases SNAPSHOT [EVENTS]\n");
    return 2;
  }
  const std::string json = kai::ContentOf(arguments[1]);
  kai::LoadAndPlan(json);
  if (count == 3) {
    std::ifstream events(arguments[2]);
    KAI_CHECK(events.good()) << "cannot read " << arguments[2];
    kai::LiveOn(json, events);
  }
}
