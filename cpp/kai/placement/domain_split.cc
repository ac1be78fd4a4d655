#include "kai/placement/domain_split.h"

#include <algorithm>
#include <numeric>

namespace kai {
namespace {

class Splitter {
 public:
  explicit Splitter(const SplitQuestion& question)
      : question_(question), order_(question.rooms.size()) {
    // First domains with placed pods, because these are used in any case; then the roomiest.
    std::iota(order_.begin(), order_.end(), size_t{0});
    std::stable_sort(order_.begin(), order_.end(), [&](size_t a, size_t b) {
      const bool used_a = question.standing[a] > 0, used_b = question.standing[b] > 0;
      return used_a != used_b ? used_a : question.rooms[a] > question.rooms[b];
    });
    for (const int64_t pods : question.standing) used_ += pods > 0 ? 1 : 0;
  }

  std::optional<std::vector<int64_t>> Split() const {
    const auto all = static_cast<int64_t>(order_.size());
    const int64_t most = question_.most > 0 ? std::min(question_.most, all) : all;
    std::optional<std::vector<int64_t>> best;
    int64_t best_spread = 0;
    for (int64_t count = std::max({question_.least, used_, int64_t{1}}); count <= most; ++count) {
      std::optional<std::vector<int64_t>> split = Over(count);
      if (!split) continue;
      const int64_t spread = question_.balanced ? SpreadOf(*split, count) : 0;
      if (!best || spread < best_spread) {
        best = std::move(split);
        best_spread = spread;
      }
      if (best_spread <= 1) break;
    }
    return best;
  }

 private:
  // Divides the pods over the first `count` domains of the order. Each of them gets a pod or
  // already has one.
  std::optional<std::vector<int64_t>> Over(int64_t count) const {
    int64_t room = 0;
    for (int64_t i = 0; i < count; ++i) {
      const size_t at = order_[static_cast<size_t>(i)];
      room += std::max<int64_t>(question_.rooms[at], 0);
      if (question_.standing[at] == 0 && question_.rooms[at] < 1) return std::nullopt;
    }
    if (room < question_.pods || count - used_ > question_.pods) return std::nullopt;
    return question_.balanced ? Even(count) : Packed(count);
  }

  std::vector<int64_t> Even(int64_t count) const {
    std::vector<int64_t> pods(order_.size());
    for (int64_t placed = 0; placed < question_.pods; ++placed) {
      size_t emptiest = order_.size();
      for (int64_t i = 0; i < count; ++i) {
        const size_t at = order_[static_cast<size_t>(i)];
        if (pods[at] >= question_.rooms[at]) continue;
        if (emptiest == order_.size() ||
            question_.standing[at] + pods[at] < question_.standing[emptiest] + pods[emptiest])
          emptiest = at;
      }
      ++pods[emptiest];
    }
    return pods;
  }

  std::vector<int64_t> Packed(int64_t count) const {
    std::vector<int64_t> pods(order_.size());
    int64_t left = question_.pods;
    for (int64_t i = 0; i < count; ++i) {  // one for each domain without pods
      const size_t at = order_[static_cast<size_t>(i)];
      if (question_.standing[at] > 0) continue;
      pods[at] = 1;
      --left;
    }
    size_t last = order_.size();
    for (int64_t i = 0; i < count && left > 0; ++i) {
      const size_t at = order_[static_cast<size_t>(i)];
      const int64_t more = std::min(std::max<int64_t>(question_.rooms[at], 0) - pods[at], left);
      if (more > 0) last = at;
      pods[at] += more;
      left -= more;
    }
    if (last != order_.size() && question_.standing[last] == 0) MoveToTightest(last, &pods);
    return pods;
  }

  // Moves the pods of the last domain to the domain with the least remaining room.
  void MoveToTightest(size_t last, std::vector<int64_t>* pods) const {
    size_t tightest = last;
    for (const size_t at : order_) {
      const bool is_free = (*pods)[at] == 0 && question_.standing[at] == 0;
      if (is_free && question_.rooms[at] >= (*pods)[last] &&
          question_.rooms[at] < question_.rooms[tightest])
        tightest = at;
    }
    std::swap((*pods)[tightest], (*pods)[last]);
  }

  int64_t SpreadOf(std::span<const int64_t> pods, int64_t count) const {
    int64_t most = 0, fewest = -1;
    for (int64_t i = 0; i < count; ++i) {
      const size_t at = order_[static_cast<size_t>(i)];
      const int64_t there = question_.standing[at] + pods[at];
      most = std::max(most, there);
      fewest = fewest < 0 ? there : std::min(fewest, there);
    }
    return most - fewest;
  }

  const SplitQuestion& question_;
  std::vector<size_t> order_;
  int64_t used_ = 0;  // domains with placed pods
};

}  // namespace

std::optional<std::vector<int64_t>> SplitPods(const SplitQuestion& question) {
  return Splitter(question).Split();
}

}  // namespace kai
