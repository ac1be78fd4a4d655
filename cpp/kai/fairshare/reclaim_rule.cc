#include "kai/fairshare/reclaim_rule.h"

#include <algorithm>
#include <limits>

namespace kai {
namespace {

constexpr int32_t kNone = -1;

template <typename Test>
bool AnyResource(const Test& test) {
  for (size_t i = 0; i < kQuotaResources; ++i) {
    if (test(i)) return true;
  }
  return false;
}

// spec 1 F26
bool Exceeds(const QuotaCount& amount, const QuotaVector& bound) {
  return AnyResource([&](size_t i) { return Less(bound[i], amount[i]); });
}

// For non-preemptible pods.
bool HasQuotaFor(const QueueView& queue, const QuotaCount& request) {
  const QuotaCount allocated = queue.allocated_non_preemptible() + request;
  return !AnyResource([&](size_t i) { return Less(queue[i].deserved, allocated[i]); });
}

double Smaller(double a, double b) { return Less(a, b) ? a : b; }

// spec 1 F91
uint8_t Involved(const QuotaCount& amount, double whole_gpus) {
  unsigned bits = 0;
  if (amount[kQuotaCpu] > 0) bits |= 1U << kQuotaCpu;
  if (amount[kQuotaMemory] > 0) bits |= 1U << kQuotaMemory;
  if (whole_gpus > 0) bits |= 1U << kQuotaGpu;
  return static_cast<uint8_t>(bits);
}

// spec 1 F92
double Saturation(double amount, double fair_share) {
  if (fair_share == 0) return amount > 0 ? std::numeric_limits<double>::infinity() : 0;
  if (fair_share == kUnlimited) return 0;
  return amount / fair_share;
}

size_t DepthOf(const QueueColumns& queues, QueueId queue) {
  size_t depth = 0;
  for (; queue.valid(); queue = queues.parent[queue]) ++depth;
  return depth;
}

}  // namespace

bool ExceedsAllocatable(const QueueShare& share, const QuotaCount& remaining) {
  return AnyResource([&](size_t i) { return Less(Allocatable(share[i]), remaining[i]); });
}

bool ExceedsDeserved(const QueueShare& share, const QuotaCount& remaining) {
  return AnyResource([&](size_t i) { return Less(share[i].deserved, remaining[i]); });
}

bool StaysWithinDeserved(const QueueView& queue, const QuotaCount& request) {
  const QuotaCount allocated = queue.allocated() + request;
  return !AnyResource([&](size_t i) { return Less(queue[i].deserved, allocated[i]); });
}

QueueFork ForkOf(const QueueColumns& queues, QueueId first, QueueId second) {
  QueueFork fork;
  const auto climb = [&queues](QueueId* at, QueueId* below) {
    *below = *at;
    *at = queues.parent[*at];
  };
  size_t first_depth = DepthOf(queues, first);
  size_t second_depth = DepthOf(queues, second);
  for (; first_depth > second_depth; --first_depth) climb(&first, &fork.first);
  for (; second_depth > first_depth; --second_depth) climb(&second, &fork.second);
  while (first != second) {  // above the top queues both are invalid, and so equal
    climb(&first, &fork.first);
    climb(&second, &fork.second);
  }
  return fork;
}

ReclaimRule::ReclaimRule(const QueueTable& queues, const Reclaimer& reclaimer,
                         const Options& options)
    : queues_(queues), reclaimer_(reclaimer), options_(options) {
  options_.saturation_multiplier = std::max(1.0, options.saturation_multiplier);  // spec 1 F93
}

bool ReclaimRule::MayStart(const QuotaCount& request) const {  // spec 1 F84
  const QueueView queue = queues_[reclaimer_.queue];
  const QuotaCount allocated = queue.allocated() + request;
  if (AnyResource([&](size_t i) { return Less(queue[i].fair_share, allocated[i]); })) return false;
  return reclaimer_.preemptible || HasQuotaFor(queue, request);
}

bool ReclaimRule::MayBeVictim(QueueId victim, const QuotaCount& request) const {  // spec 1 F86
  const Leveled level = LevelOf(victim);
  if (level.reclaimer == level.victim) return true;
  const QueueView queue = queues_[level.victim];
  if (!StaysWithinDeserved(queues_[level.reclaimer], request)) {
    return ExceedsAllocatable(*queue.share, queue.allocated());
  }
  bool some_below = false;
  for (size_t i = 0; i < kQuotaResources; ++i) {
    if (request[i] <= 0 || queue[i].deserved == kUnlimited) continue;
    if (queue.allocated()[i] > queue[i].deserved) return true;
    some_below = some_below || queue.allocated()[i] < queue[i].deserved;
  }
  return !some_below;  // exactly what it deserves: its pods may be moved
}

bool ReclaimRule::Accepts(std::span<const QueueLoss> losses, const QuotaCount& request,
                          double whole_gpus) {
  if (!reclaimer_.preemptible && !StaysWithinQuota(request)) return false;
  for (const LossRow& loser : loss_rows_) row_[loser.queue] = kNone;
  loss_rows_.clear();
  row_.Resize(queues_.tree.size(), kNone);

  for (const QueueLoss& loss : losses) {
    const int32_t victim = VictimRowOf(loss.queue, request);
    const LossRow& level = loss_rows_[loss_rows_[victim].level];
    if (!Exceeds(level.remaining, level.bound)) return false;  // spec 1 F90
    const uint8_t involved = Involved(loss.amount, loss.whole_gpus);
    for (int32_t row = victim; row != kNone;) {  // spec 1 F91
      LossRow& loser = loss_rows_[row];
      loser.remaining -= loss.amount;
      loser.involved |= involved;
      row = loser.parent;
    }
  }
  return StaysBelowSiblings(request, Involved(request, whole_gpus));
}

ReclaimRule::Leveled ReclaimRule::LevelOf(QueueId victim) const {
  const QueueFork fork = ForkOf(queues_.tree, reclaimer_.queue, victim);
  if (!fork.first.valid()) return {reclaimer_.queue, reclaimer_.queue};
  if (!fork.second.valid()) return {victim, victim};
  return {fork.first, fork.second};
}

// The row of a victim's own queue, prepared for the test.
int32_t ReclaimRule::VictimRowOf(QueueId victim, const QuotaCount& request) {
  const int32_t row = RowOf(victim);
  if (loss_rows_[row].level != kNone) return row;
  const Leveled queues = LevelOf(victim);
  const int32_t level = row_[queues.victim];
  loss_rows_[row].level = level;
  // Each strategy of spec 1 F90 requires more than its bound in some resource, so the smaller of
  // the two bounds is enough.
  const bool guarantees = StaysWithinDeserved(queues_[queues.reclaimer], request);
  const QueueShare& share = queues_.shares[queues.victim];
  QuotaVector& bound = loss_rows_[level].bound;
  for (size_t i = 0; i < kQuotaResources; ++i) {
    bound[i] = Allocatable(share[i]);
    if (guarantees) bound[i] = Smaller(bound[i], share[i].deserved);
  }
  return row;
}

// The row of a queue. It is created with the rows of all ancestors at its first use.
int32_t ReclaimRule::RowOf(QueueId queue) {
  const int32_t row = row_[queue];
  if (row != kNone) return row;
  LossRow loser{.queue = queue, .remaining = queues_[queue].allocated()};
  const QueueId parent = queues_.tree.parent[queue];
  if (parent.valid()) loser.parent = RowOf(parent);
  loss_rows_.push_back(loser);
  return row_[queue] = static_cast<int32_t>(loss_rows_.size()) - 1;
}

bool ReclaimRule::StaysWithinQuota(const QuotaCount& request) const {  // spec 1 F92.3
  for (QueueId queue = reclaimer_.queue; queue.valid(); queue = queues_.tree.parent[queue]) {
    if (!HasQuotaFor(queues_[queue], request)) return false;
  }
  return true;
}

// True: no queue on the reclaimer's path would exceed its fair share and a sibling that loses pods.
bool ReclaimRule::StaysBelowSiblings(const QuotaCount& request, uint8_t involved) const {
  for (QueueId queue = reclaimer_.queue; queue.valid(); queue = queues_.tree.parent[queue]) {
    const QueueView view = queues_[queue];
    const int32_t row = row_[queue];
    const QuotaCount held = request + (row == kNone ? view.allocated() : loss_rows_[row].remaining);
    QuotaVector saturation;  // spec 1 F92.1
    unsigned above = 0;
    for (size_t i = 0; i < kQuotaResources; ++i) {
      saturation[i] = Saturation(held[i], view[i].fair_share);
      if (saturation[i] > 1) above |= 1U << i;
    }
    if (above == 0) continue;
    const QueueId parent = queues_.tree.parent[queue];
    for (const LossRow& loser : loss_rows_) {  // spec 1 F92.2
      if (loser.queue == queue || queues_.tree.parent[loser.queue] != parent) continue;
      const unsigned looked_at = above & (loser.involved | involved);
      const QueueShare& other = queues_.shares[loser.queue];
      if (AnyResource([&](size_t i) {
            return (looked_at & 1U << i) != 0 && other[i].fair_share > 0 &&
                   saturation[i] * options_.saturation_multiplier >=
                       Saturation(loser.remaining[i], other[i].fair_share);
          })) {
        return false;
      }
    }
  }
  return true;
}

}  // namespace kai
