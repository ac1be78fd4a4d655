#include "kai/testing/oracle/slow_sharing.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include "kai/testing/oracle/slow_oracle.h"

namespace kai::oracle::parts {

// ---- memory and portions (spec 3 G1-G8) ---------------------------------------------------------

namespace {

std::optional<int64_t> MemoryLabel(const NodeRow& node) {
  const std::string* label = Label(node.labels, "nvidia.com/gpu.memory");
  const std::optional<int64_t> value = label == nullptr ? std::nullopt : Integer(*label);
  return value && *value > 0 ? value : std::nullopt;
}

}  // namespace

double MemoryOfGpu(const NodeRow& node) {
  const std::optional<int64_t> value = MemoryLabel(node);
  if (!value) return 100;
  const int64_t mib = *value >= 1048576 ? *value / 1048576 : *value;
  return static_cast<double>(mib - mib % 100);
}

bool HasMemoryOfGpu(const NodeRow& node) { return MemoryLabel(node).has_value(); }

double CeilToPercent(double portion) { return std::ceil(portion * 100) / 100; }

double PortionOn(const GpuRequest& gpu, double gpu_mib) {
  if (gpu.kind == GpuRequestKind::kMemory) {
    return CeilToPercent(static_cast<double>(gpu.memory_mib) / gpu_mib);
  }
  return gpu.kind == GpuRequestKind::kMig ? 0 : gpu.portion;
}

int64_t MibPerDevice(const GpuRequest& gpu, double gpu_mib) {
  if (gpu.kind == GpuRequestKind::kMemory) return gpu.memory_mib;
  return static_cast<int64_t>(PortionOn(gpu, gpu_mib) * gpu_mib);
}

int64_t Devices(const GpuRequest& gpu) { return std::max<int64_t>(gpu.count, 1); }

// ---- the ledger (spec 3 N1-N17) -----------------------------------------------------------------

namespace {

int64_t AmountAt(const std::map<std::string, int64_t>& amounts, const std::string& group) {
  const auto found = amounts.find(group);
  return found == amounts.end() ? 0 : found->second;
}

// int(Idle.gpu) + usedGPUs
double Known(const GpuLedger& ledger) {
  double groups = 0;
  for (const auto& [group, used] : ledger.u) groups += used > 0 ? 1 : 0;
  return std::trunc(ledger.idle) + std::trunc(ledger.used) + groups;
}

void AddToGroup(const std::string& group, int64_t m, PodStatus status, GpuLedger* ledger) {
  GpuLedger& node = *ledger;
  node.u[group] += m;
  const int64_t u = node.u[group];
  switch (status) {
    case PodStatus::kReleasing:
      node.r[group] += m;
      node.a[group] += m;
      if (u == node.r[group]) {
        if (!node.marked.contains(group)) {
          node.releasing += 1;
          node.marked.insert(group);
        }
        if (node.count < Known(node)) node.idle -= 1;
      }
      break;
    case PodStatus::kPipelined:
      node.r[group] -= m;
      if (u - m == node.r[group] + m) node.releasing -= 1;
      break;
    default:
      node.a[group] += m;
      if (u <= m && node.count < Known(node)) node.idle -= 1;
      if (node.marked.contains(group)) {
        node.releasing -= 1;
        node.marked.erase(group);
      }
      break;
  }
}

void RemoveFromGroup(const std::string& group, int64_t m, PodStatus status, GpuLedger* ledger) {
  GpuLedger& node = *ledger;
  node.u[group] -= m;
  const int64_t u = node.u[group];
  switch (status) {
    case PodStatus::kReleasing:
      node.r[group] -= m;
      node.a[group] -= m;
      if (u <= 0) {
        if (node.count >= Known(node)) node.idle += 1;
        if (node.marked.contains(group)) {
          node.releasing -= 1;
          node.marked.erase(group);
        }
      }
      break;
    case PodStatus::kPipelined:
      node.r[group] += m;
      if (u + m == node.r[group] - m || (u == 0 && node.r[group] == 0)) node.releasing += 1;
      break;
    default:
      node.a[group] -= m;
      if (u <= 0 && node.count >= Known(node)) node.idle += 1;
      if (u == node.r[group] && u != 0 && !node.marked.contains(group)) {
        node.releasing += 1;
        node.marked.insert(group);
      }
      break;
  }
}

void AddWhole(double gpus, PodStatus status, GpuLedger* ledger) {
  if (!ledger->is_any) return;
  ledger->used += gpus;
  if (status == PodStatus::kPipelined) {
    ledger->releasing -= gpus;
  } else {
    ledger->idle -= gpus;
    if (status == PodStatus::kReleasing) ledger->releasing += gpus;
  }
}

}  // namespace

void AddToGpus(const GpuPart& part, PodStatus status, GpuLedger* ledger) {
  AddWhole(part.whole, status, ledger);
  for (const std::string& group : part.groups) AddToGroup(group, part.mib, status, ledger);
}

void RemoveFromGpus(const GpuPart& part, PodStatus status, GpuLedger* ledger) {
  AddWhole(-part.whole, status, ledger);
  for (const std::string& group : part.groups) RemoveFromGroup(group, part.mib, status, ledger);
}

// The score functions of spec 3 W14 return an error below this, and the device is dropped.
bool CanBeJoined(double gpu_mib) { return gpu_mib >= 100; }

bool Matches(const GpuLedger& ledger, const std::string& group, double gpu_mib, int64_t mib) {
  const int64_t a = AmountAt(ledger.a, group);
  const int64_t r = AmountAt(ledger.r, group);
  return AmountAt(ledger.u, group) != 0 &&
         gpu_mib - static_cast<double>(a) + static_cast<double>(r) - static_cast<double>(mib) >=
             0 &&
         a != r;
}

bool HasIdle(const GpuLedger& ledger, const std::string& group, double gpu_mib, int64_t mib) {
  return ledger.a.contains(group) &&
         gpu_mib - static_cast<double>(AmountAt(ledger.a, group)) - static_cast<double>(mib) >= 0;
}

bool DevicesFit(const GpuRequest& gpu, const GpuLedger& ledger, double gpu_mib, double gpus) {
  if (static_cast<double>(MibPerDevice(gpu, gpu_mib)) > gpu_mib) return false;
  int64_t matching = 0;
  for (const auto& [group, used] : ledger.u) {
    const bool matches = Matches(ledger, group, gpu_mib, MibPerDevice(gpu, gpu_mib));
    matching += matches && CanBeJoined(gpu_mib) ? 1 : 0;
  }
  const int64_t count = Devices(gpu);
  return std::floor(gpus) + static_cast<double>(std::min(matching, count)) >=
         static_cast<double>(count);
}

// ---- the choice (spec 3 S1-S9) ------------------------------------------------------------------

DeviceChoice ChooseDevices(const GpuRequest& gpu, const GpuLedger& ledger, double gpu_mib,
                           const DeviceTaste& taste, bool fits_now, bool pipeline_only) {
  const int64_t mib = MibPerDevice(gpu, gpu_mib);
  struct Candidate {
    double score = 0;
    std::string group;  // "": a whole device
  };
  std::vector<Candidate> candidates;
  for (const auto& [group, used] : ledger.u) {  // spec 3 S1; by name
    if (!Matches(ledger, group, gpu_mib, mib) || !CanBeJoined(gpu_mib)) continue;
    const double share = static_cast<double>(used) / gpu_mib;
    candidates.push_back(
        {.score = (taste.pack ? share : 0) + (taste.spread ? 1 - share : 0), .group = group});
  }
  const auto whole = static_cast<int64_t>(std::trunc(ledger.idle) + std::trunc(ledger.releasing));
  for (int64_t i = 0; i < whole; ++i) {
    candidates.push_back({.score = taste.spread ? 1.0 : 0.0, .group = ""});
  }
  std::stable_sort(candidates.begin(), candidates.end(),  // spec 3 S2
                   [](const Candidate& a, const Candidate& b) { return a.score > b.score; });
  DeviceChoice choice;
  if (static_cast<int64_t>(candidates.size()) < Devices(gpu)) return choice;
  choice.found = true;
  candidates.resize(static_cast<size_t>(Devices(gpu)));  // spec 3 S3
  double idle = std::floor(ledger.idle);
  for (const Candidate& each : candidates) {
    choice.groups.push_back(each.group);
    const bool is_idle = each.group.empty() && (idle-- >= 1 || taste.bind_held);
    const bool is_releasing =  // spec 3 S4
        each.group.empty() ? pipeline_only || !fits_now || !is_idle
                           : !HasIdle(ledger, each.group, gpu_mib, mib) || !fits_now;
    choice.is_releasing = choice.is_releasing || is_releasing;
  }
  return choice;
}

double SharersThatFit(const GpuRequest& gpu, const GpuLedger& ledger, double gpu_mib) {
  double devices = ledger.idle + ledger.releasing;
  for (const auto& [group, used] : ledger.u) {
    const double free = gpu_mib - static_cast<double>(AmountAt(ledger.a, group)) +
                        static_cast<double>(AmountAt(ledger.r, group));
    if (Matches(ledger, group, gpu_mib, 0) && free > 0) devices += free / gpu_mib;
  }
  const double wanted = static_cast<double>(Devices(gpu)) *
                        static_cast<double>(MibPerDevice(gpu, gpu_mib)) / std::max(gpu_mib, 1.0);
  return std::floor(devices / wanted * (1 + 1e-9) + 1e-9);
}

GpuSums SumsOf(const GpuLedger& ledger, double gpu_mib) {
  GpuSums sums;
  sums.idle = ledger.idle;
  sums.releasing = ledger.releasing;
  sums.mib = (std::trunc(ledger.idle) + std::trunc(ledger.releasing)) * gpu_mib;
  for (const auto& [group, a] : ledger.a) {
    if (a <= 0) continue;
    sums.idle += 1 - CeilToPercent(static_cast<double>(a) / gpu_mib);
    sums.mib += gpu_mib - static_cast<double>(a);
  }
  for (const auto& [group, r] : ledger.r) {
    if (r <= 0 || r == AmountAt(ledger.u, group)) continue;
    sums.releasing += CeilToPercent(static_cast<double>(r) / gpu_mib);
    sums.mib += static_cast<double>(r);
  }
  return sums;
}

}  // namespace kai::oracle::parts
