#include "kai/packing/go_random.h"

namespace kai::packing {
namespace {

constexpr int64_t kPrime = (int64_t{1} << 31) - 1;
constexpr int kSkipped = 20;  // numbers of Lehmer's generator before the first start value
constexpr uint64_t kSteps = 7'800'000'000'000;

// Three numbers of Lehmer's generator make a start value, each `shift` bits above the next.
template <typename State>
void Start(int64_t seed, int shift, State* state) {
  int64_t x = seed % kPrime;
  if (x < 0) x += kPrime;
  if (x == 0) x = 89482311;
  const auto next = [&x] {
    x = x * 48271 % kPrime;
    return static_cast<uint64_t>(x);
  };
  for (int i = 0; i < kSkipped; ++i) next();
  for (uint64_t& each : *state) {
    each = next() << (2 * shift);
    each ^= next() << shift;
    each ^= next();
  }
}

// Polynomials modulo t^607 - t^334 - 1, which is the recurrence; coefficients modulo 2^64.
constexpr size_t kDegree = 607;
constexpr size_t kMiddle = 334;
using Polynomial = std::vector<uint64_t>;

Polynomial Reduced(Polynomial all) {
  for (size_t i = all.size(); i-- > kDegree;) {
    all[i - kDegree] += all[i];
    all[i - kDegree + kMiddle] += all[i];
  }
  all.resize(kDegree);
  return all;
}

Polynomial Squared(const Polynomial& of) {
  Polynomial all(2 * kDegree - 1);
  for (size_t i = 0; i < kDegree; ++i) {
    for (size_t j = 0; j < kDegree; ++j) all[i + j] += of[i] * of[j];
  }
  return Reduced(std::move(all));
}

// t^steps.
Polynomial Power(uint64_t steps) {
  Polynomial power(kDegree);
  power[0] = 1;
  for (int bit = 63; bit >= 0; --bit) {
    power = Squared(power);
    if ((steps >> bit & 1) == 0) continue;
    power.insert(power.begin(), 0);
    power = Reduced(std::move(power));
  }
  return power;
}

}  // namespace

const GoRandom::State& GoRandom::Constants() {
  static const State constants = [] {
    State start;
    Start(1, 10, &start);
    // x[i] of the recurrence is at index (940 - i) mod 607 of the state.
    const auto place = [](uint64_t i) { return (940 - i % kLength) % kLength; };
    std::vector<uint64_t> x(2 * kLength);
    for (size_t i = 0; i < kLength; ++i) x[i] = start[place(i)];
    for (size_t i = kLength; i < x.size(); ++i) x[i] = x[i - kLength] + x[i - kTap];
    const Polynomial power = Power(kSteps);
    State end;
    for (size_t i = 0; i < kLength; ++i) {
      uint64_t sum = 0;
      for (size_t k = 0; k < kLength; ++k) sum += power[k] * x[i + k];
      end[place(i + kSteps)] = sum;
    }
    return end;
  }();
  return constants;
}

GoRandom::GoRandom(int64_t seed) {
  Start(seed, 20, &state_);
  const State& constants = Constants();
  for (size_t i = 0; i < kLength; ++i) state_[i] ^= constants[i];
}

uint64_t GoRandom::Uint64() {
  tap_ = (tap_ + kLength - 1) % kLength;
  feed_ = (feed_ + kLength - 1) % kLength;
  return state_[feed_] += state_[tap_];
}

int32_t GoRandom::Below(int32_t n) {
  const auto draw = [this] { return static_cast<int32_t>(Int63() >> 32); };
  if ((n & (n - 1)) == 0) return draw() & (n - 1);
  const auto beyond = static_cast<int32_t>((uint32_t{1} << 31) % static_cast<uint32_t>(n));
  const int32_t most = INT32_MAX - beyond;
  int32_t value = draw();
  while (value > most) value = draw();
  return value % n;
}

uint32_t GoRandom::BelowByProduct(uint32_t n) {
  const auto draw = [this, n] { return uint64_t{static_cast<uint32_t>(Int63() >> 31)} * n; };
  uint64_t product = draw();
  if (static_cast<uint32_t>(product) < n) {
    const uint32_t least = -n % n;
    while (static_cast<uint32_t>(product) < least) product = draw();
  }
  return static_cast<uint32_t>(product >> 32);
}

std::vector<int32_t> GoRandom::Permutation(int32_t n) {
  std::vector<int32_t> order(static_cast<size_t>(n));
  for (int32_t i = 0; i < n; ++i) {
    const int32_t j = Below(i + 1);
    order[static_cast<size_t>(i)] = order[static_cast<size_t>(j)];
    order[static_cast<size_t>(j)] = i;
  }
  return order;
}

}  // namespace kai::packing
