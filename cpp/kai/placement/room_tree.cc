#include "kai/placement/room_tree.h"

#include <algorithm>
#include <limits>
#include <tuple>

#include "kai/base/check.h"
#include "kai/base/heap_bytes.h"

namespace kai {
namespace {

// Two amounts in one register. Rows in a vector of doubles are aligned to one double only.
using AmountPair = double __attribute__((vector_size(16), aligned(8), may_alias));

const AmountPair& PairAt(const double* row, size_t at) {
  return *reinterpret_cast<const AmountPair*>(row + at);
}
AmountPair& PairAt(double* row, size_t at) { return *reinterpret_cast<AmountPair*>(row + at); }

void Raise(double* row, const double* other, size_t width) {
  for (size_t i = 0; i < width; i += 2) {
    const AmountPair a = PairAt(row, i), b = PairAt(other, i);
    PairAt(row, i) = a > b ? a : b;
  }
}

// `pairs`: the number of pairs of wanted amounts. Most rows lack one of the first two.
bool Covers(const double* row, const double* wanted, size_t pairs) {
  if (wanted[0] > row[0] || wanted[1] > row[1]) return false;
  decltype(PairAt(row, 0) > PairAt(row, 0)) lacks{};
  for (size_t i = 1; i < pairs; ++i) lacks |= PairAt(wanted, 2 * i) > PairAt(row, 2 * i);
  return (lacks[0] | lacks[1]) == 0;
}

}  // namespace

RoomTree::RoomTree(size_t width) : width_(width), scratch_(width) { KAI_CHECK(width % 2 == 0); }

RoomTree::BlockId RoomTree::MakeBlock(bool is_leaf) {
  BlockId id;
  if (free_.empty()) {
    id = static_cast<BlockId>(blocks_.size());
    blocks_.emplace_back();
    rows_.resize(rows_.size() + kFan * width_);
  } else {
    id = free_.back();
    free_.pop_back();
  }
  At(id).size = 0;
  At(id).is_leaf = is_leaf;
  return id;
}

void RoomTree::Build(std::span<const Item> items, WriteRow write_row) {
  blocks_.clear();
  rows_.clear();
  free_.clear();
  root_ = -1;
  if (items.empty()) return;
  std::vector<BlockId> level;
  for (const Item& item : items) {
    if (level.empty() || At(level.back()).size == kFilled) level.push_back(MakeBlock(true));
    Block& leaf = At(level.back());
    write_row(item.place, {Row(level.back(), leaf.size), width_});
    leaf.items[static_cast<size_t>(leaf.size++)] = item;
  }
  while (level.size() > 1) {
    std::vector<BlockId> above;
    for (const BlockId child : level) {
      if (above.empty() || At(above.back()).size == kFilled) above.push_back(MakeBlock(false));
      Block& block = At(above.back());
      Item item = At(child).items.front();
      item.place = child;
      block.items[static_cast<size_t>(block.size++)] = item;
      Sum(above.back(), block.size - 1);
    }
    level = std::move(above);
  }
  root_ = level.front();
}

int RoomTree::PlaceOf(const Item& item, const Block& leaf) {
  int at = 0;
  while (at < leaf.size && IsBefore(leaf.items[static_cast<size_t>(at)], item)) ++at;
  return at;
}

int RoomTree::ChildFor(const Item& item, const Block& block) {
  int at = 1;
  while (at < block.size && !IsBefore(item, block.items[static_cast<size_t>(at)])) ++at;
  return at - 1;
}

void RoomTree::InsertAt(BlockId block, int at, const Item& item, const double* row) {
  Block& here = At(block);
  KAI_DCHECK(here.size < kFan);
  const auto begin = here.items.begin();
  std::move_backward(begin + at, begin + here.size, begin + here.size + 1);
  std::copy_backward(Row(block, at), Row(block, here.size), Row(block, here.size) + width_);
  here.items[static_cast<size_t>(at)] = item;
  std::copy_n(row, width_, Row(block, at));
  ++here.size;
}

void RoomTree::EraseAt(BlockId block, int at) {
  Block& here = At(block);
  const auto begin = here.items.begin();
  std::move(begin + at + 1, begin + here.size, begin + at);
  std::copy(Row(block, at) + width_, Row(block, here.size - 1) + width_, Row(block, at));
  --here.size;
}

bool RoomTree::Sum(BlockId block, int at) {
  Item& item = At(block).items[static_cast<size_t>(at)];
  const Block& below = At(item.place);
  uint64_t bits = 0;
  std::ranges::fill(scratch_, -std::numeric_limits<double>::infinity());
  for (int i = 0; i < below.size; ++i) {
    bits |= below.items[static_cast<size_t>(i)].bits;
    Raise(scratch_.data(), Row(item.place, i), width_);
  }
  double* const row = Row(block, at);
  if (bits == item.bits && std::equal(row, row + width_, scratch_.begin())) return false;
  item.bits = bits;
  std::ranges::copy(scratch_, row);
  return true;
}

RoomTree::BlockId RoomTree::Split(BlockId block) {
  const BlockId other = MakeBlock(At(block).is_leaf);
  Block &here = At(block), &there = At(other);
  constexpr int kHalf = kFan / 2;
  std::copy_n(here.items.begin() + kHalf, kFan - kHalf, there.items.begin());
  std::copy_n(Row(block, kHalf), static_cast<size_t>(kFan - kHalf) * width_, Row(other, 0));
  here.size = kHalf;
  there.size = kFan - kHalf;
  return other;
}

RoomTree::BlockId RoomTree::InsertBelow(BlockId block, const Item& item, const double* row) {
  if (At(block).size == kFan) {
    const BlockId other = Split(block);
    InsertBelow(IsBefore(item, At(other).items.front()) ? block : other, item, row);
    return other;
  }
  if (At(block).is_leaf) {
    InsertAt(block, PlaceOf(item, At(block)), item, row);
    return -1;
  }
  const int at = ChildFor(item, At(block));
  const BlockId child = At(block).items[static_cast<size_t>(at)].place;
  const BlockId other = InsertBelow(child, item, row);
  Item& entry = At(block).items[static_cast<size_t>(at)];
  if (IsBefore(item, entry)) std::tie(entry.key, entry.rank) = std::tie(item.key, item.rank);
  if (other < 0) {
    entry.bits |= item.bits;
    Raise(Row(block, at), row, width_);
    return -1;
  }
  Sum(block, at);
  Item beside = At(other).items.front();
  beside.place = other;
  InsertAt(block, at + 1, beside, Row(block, at));
  Sum(block, at + 1);
  return -1;
}

void RoomTree::Grow() {
  const BlockId below = root_;
  root_ = MakeBlock(false);
  Block& block = At(root_);
  block.items[0] = At(below).items.front();
  block.items[0].place = below;
  block.size = 1;
  Sum(root_, 0);
}

void RoomTree::Insert(const Item& item, std::span<const double> row) {
  KAI_DCHECK(row.size() == width_);
  if (root_ < 0) root_ = MakeBlock(true);
  // A block that is split needs a parent.
  if (At(root_).size == kFan) Grow();
  InsertBelow(root_, item, row.data());
}

bool RoomTree::EraseBelow(BlockId block, const Item& item) {
  if (At(block).is_leaf) {
    const int at = PlaceOf(item, At(block));
    KAI_DCHECK(at < At(block).size && At(block).items[static_cast<size_t>(at)].place == item.place);
    EraseAt(block, at);
    return true;
  }
  const int at = ChildFor(item, At(block));
  const BlockId child = At(block).items[static_cast<size_t>(at)].place;
  if (!EraseBelow(child, item)) return false;
  if (At(child).size > 0) return Sum(block, at);
  free_.push_back(child);
  EraseAt(block, at);
  return true;
}

void RoomTree::Erase(const Item& item) {
  EraseBelow(root_, item);
  while (root_ >= 0) {
    const Block& root = At(root_);
    if (root.size > 1 || (root.size == 1 && root.is_leaf)) return;
    free_.push_back(root_);
    root_ = root.size == 0 ? -1 : root.items[0].place;
  }
}

bool RoomTree::UpdateBelow(BlockId block, const Item& item, const double* row) {
  Block& here = At(block);
  if (here.is_leaf) {
    const int at = PlaceOf(item, here);
    Item& entry = here.items[static_cast<size_t>(at)];
    KAI_DCHECK(at < here.size && entry.place == item.place);
    entry.bits = item.bits;
    std::copy_n(row, width_, Row(block, at));
    return true;
  }
  const int at = ChildFor(item, here);
  return UpdateBelow(here.items[static_cast<size_t>(at)].place, item, row) && Sum(block, at);
}

void RoomTree::Update(const Item& item, std::span<const double> row) {
  KAI_DCHECK(row.size() == width_);
  UpdateBelow(root_, item, row.data());
}

int32_t RoomTree::FirstBelow(BlockId block, const Query& query, Test passes) const {
  const Block& here = At(block);
  const Item* const end = here.items.data() + here.size;
  const size_t pairs = query.wanted.size() / 2;
  const double* row = Row(block, 0);
  for (const Item* item = here.items.data(); item != end; ++item, row += width_) {
    if ((item->bits & query.bits) == 0 || !Covers(row, query.wanted.data(), pairs)) continue;
    if (here.is_leaf) {
      if ((query.after == nullptr || item->key > *query.after) && passes(item->place))
        return item->place;
      continue;
    }
    // Items below a block come before items below the next block.
    if (query.after != nullptr && item + 1 != end && item[1].key <= *query.after) continue;
    const int32_t found = FirstBelow(item->place, query, passes);
    if (found >= 0) return found;
  }
  return -1;
}

int32_t RoomTree::FirstCovering(const Query& query, Test passes) const {
  KAI_DCHECK(query.wanted.size() <= width_ && !query.wanted.empty());
  KAI_DCHECK(query.wanted.size() % 2 == 0);
  return root_ < 0 ? -1 : FirstBelow(root_, query, passes);
}

const RoomTree::Item* RoomTree::First() const {
  if (root_ < 0) return nullptr;
  BlockId block = root_;
  while (!At(block).is_leaf) block = At(block).items.front().place;
  return &At(block).items.front();
}

const RoomTree::Item* RoomTree::Last() const {
  if (root_ < 0) return nullptr;
  const auto last = [&](BlockId block) -> const Item& {
    return At(block).items[static_cast<size_t>(At(block).size) - 1];
  };
  BlockId block = root_;
  while (!At(block).is_leaf) block = last(block).place;
  return &last(block);
}

const RoomTree::Item* RoomTree::FirstAfter(BlockId block, double key) const {
  if (block < 0) return nullptr;
  const Block& here = At(block);
  for (int i = 0; i < here.size; ++i) {
    const Item& item = here.items[static_cast<size_t>(i)];
    if (here.is_leaf) {
      if (item.key > key) return &item;
    } else if (i + 1 == here.size || here.items[static_cast<size_t>(i) + 1].key > key) {
      if (const Item* found = FirstAfter(item.place, key)) return found;
    }
  }
  return nullptr;
}

size_t RoomTree::HeapBytes() const { return HeapBytesOfAll(blocks_, rows_, free_, scratch_); }

}  // namespace kai
