// Watch streams and list pages of any bytes, in any chunks: never a crash; an error is one
// sentence; and chunks lead to the same store as whole lines.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "kai/base/check.h"
#include "kai/feed/feed.h"

namespace {

std::string Names(const kai::Store& store) {
  std::string names;
  for (const kai::PodRow& row : store.Rows().pods) names += row.name + " " + row.uid + "\n";
  return names;
}

void Check(const kai::Feed::Drained& drained) {
  for (const kai::Rejection& rejection : drained.rejected)
    KAI_CHECK(!rejection.kind.empty() && !rejection.message.empty()) << rejection.name;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  constexpr kai::Kind kPod = kai::Kind::kPod;
  kai::Store whole, parts;
  kai::Inbox inbox, other;
  kai::Feed feed(&whole, "kai-scheduler"), chunked(&parts, "kai-scheduler");
  inbox.WatchBytes(kPod, bytes);
  Check(feed.Drain(&inbox));
  const size_t step = size == 0 ? 1 : 1 + data[0] % 97;
  for (size_t at = 0; at < size; at += step) other.WatchBytes(kPod, bytes.substr(at, step));
  Check(chunked.Drain(&other));
  KAI_CHECK(Names(whole) == Names(parts));
  inbox.BeginList(kPod);
  const auto page = inbox.TakePage(kPod, bytes);
  KAI_CHECK(page.ok() || !page.status().message().empty());
  inbox.EndList(kPod);
  Check(feed.Drain(&inbox));
  feed.QueueStatuses();
  return 0;
}
