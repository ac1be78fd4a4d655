#include "kai/base/nearest.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include "kai/base/quote.h"
#include "kai/base/text.h"

namespace kai {
namespace {

constexpr size_t kLongestName = 100;  // a longer name is not a typing mistake
constexpr size_t kShortestBeginning = 4;

std::string Folded(std::string_view name) {
  std::string folded;
  for (const char c : name) {
    if (c == '_' || c == '-') continue;
    folded.push_back(c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c);
  }
  return folded;
}

// How many letters of `a` must be changed, left out, added or swapped with the next one to get `b`.
size_t Distance(std::string_view a, std::string_view b) {
  std::vector<size_t> before(b.size() + 1);
  std::vector<size_t> last(b.size() + 1);
  std::vector<size_t> row(b.size() + 1);
  std::iota(last.begin(), last.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t changed = last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({changed, last[j] + 1, row[j - 1] + 1});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        row[j] = std::min(row[j], before[j - 2] + 1);
    }
    before.swap(last);
    last.swap(row);
  }
  return last.back();
}

}  // namespace

std::string_view Nearest(std::string_view name, std::span<const std::string_view> known) {
  if (name.empty() || name.size() > kLongestName) return {};
  const std::string folded = Folded(name);
  std::string_view nearest;
  size_t least = std::max<size_t>(1, folded.size() / 3) + 1;
  for (const std::string_view each : known) {
    const size_t distance = Distance(folded, Folded(each));
    if (distance >= least) continue;
    least = distance;
    nearest = each;
  }
  if (!nearest.empty() || folded.size() < kShortestBeginning) return nearest;
  const auto begun = std::find_if(known.begin(), known.end(), [&](std::string_view each) {
    return Folded(each).starts_with(folded);
  });
  return begun == known.end() ? std::string_view() : *begun;
}

std::string DidYouMean(std::string_view name, std::span<const std::string_view> known) {
  const std::string_view nearest = Nearest(name, known);
  return nearest.empty() ? "" : StrCat("; did you mean ", Quote(nearest), "?");
}

}  // namespace kai
