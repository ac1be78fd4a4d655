// RoomTree: items in the order of (key, rank), each with a row of amounts, so that the first item
// whose row covers what is wanted is found without a look at all that stand before it.
//
//   RoomTree tree(2);
//   tree.Insert({.key = 7, .rank = rank, .place = 10 * rank, .bits = 1}, row);
//   tree.FirstCovering({.wanted = row, .bits = 1}, [](int32_t) { return true; })
//
// It is a B-tree: blocks of up to kFan items or blocks, each beside the row of what is below it at
// most. A row covers what is wanted where no amount is less, and an item is found by bits that it
// shares with the query. A block that loses its last item goes; others do not join, as items that
// go mostly come back under another key.
//
// Invariants: answers depend on the items alone, not on the order in which they came. Cost: a
// change and usually a search are O(log items), each step up to kFan rows; building is linear.
// Threads: many readers.
#ifndef KAI_PLACEMENT_ROOM_TREE_H_
#define KAI_PLACEMENT_ROOM_TREE_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "absl/functional/function_ref.h"

namespace kai {

class RoomTree {
 public:
  struct Item {
    double key = 0;
    int32_t rank = 0;    // of its own among equal keys
    int32_t place = -1;  // what the caller knows it by
    uint64_t bits = 0;
  };
  static bool StandsBefore(const Item& a, const Item& b) {
    return a.key != b.key ? a.key < b.key : a.rank < b.rank;
  }
  struct Query {
    std::span<const double> wanted;  // of the first amounts of a row, an even number
    uint64_t bits = 0;
    const double* after = nullptr;  // only keys beyond this one; null: all
  };
  using Test = absl::FunctionRef<bool(int32_t place)>;
  using WriteRow = absl::FunctionRef<void(int32_t place, std::span<double> row)>;

  // `width`: amounts of a row, an even number.
  explicit RoomTree(size_t width);

  // Instead of what was there; `items` in order.
  void Build(std::span<const Item> items, WriteRow write_row);
  void Insert(const Item& item, std::span<const double> row);
  // It has to be there, under this key and rank.
  void Erase(const Item& item);
  // Its bits and its row are others now, its key is not.
  void Update(const Item& item, std::span<const double> row);

  // The place of the first item that covers what is wanted and passes the test; -1: none.
  int32_t FirstCovering(const Query& query, Test passes) const;
  // Of the first item, and the last one; null: there is none.
  const Item* First() const;
  const Item* Last() const;
  // The first item with a key beyond this one; null: there is none.
  const Item* FirstAfter(double key) const { return FirstAfter(root_, key); }

  bool empty() const { return root_ < 0; }
  size_t HeapBytes() const;

 private:
  static constexpr int kFan = 16;
  static constexpr int kFilled = 12;  // of these, where a tree is built

  using BlockId = int32_t;
  struct Block {
    int size = 0;
    bool is_leaf = true;
    // Of a leaf its items. Else the blocks below: `place` is their number, and (key, rank) no more
    // than what is below, nor less than what is before.
    std::array<Item, kFan> items;
  };

  Block& At(BlockId id) { return blocks_[static_cast<size_t>(id)]; }
  const Block& At(BlockId id) const { return blocks_[static_cast<size_t>(id)]; }
  double* Row(BlockId block, int at) {
    return rows_.data() + (static_cast<size_t>(block) * kFan + static_cast<size_t>(at)) * width_;
  }
  const double* Row(BlockId block, int at) const {
    return rows_.data() + (static_cast<size_t>(block) * kFan + static_cast<size_t>(at)) * width_;
  }

  BlockId MakeBlock(bool is_leaf);
  // Where the item is in a leaf, or would stand; which block below has it, or would.
  static int PlaceOf(const Item& item, const Block& leaf);
  static int ChildFor(const Item& item, const Block& block);
  void InsertAt(BlockId block, int at, const Item& item, const double* row);
  void EraseAt(BlockId block, int at);
  // Bits and row of an entry become those of what is below it. True: they were others.
  bool Sum(BlockId block, int at);
  // The second half of a full block, as a block of its own.
  BlockId Split(BlockId block);
  // A new block that stands behind this one, where it was full; -1: none.
  BlockId InsertBelow(BlockId block, const Item& item, const double* row);
  // True: what the block has at most has changed.
  bool EraseBelow(BlockId block, const Item& item);
  bool UpdateBelow(BlockId block, const Item& item, const double* row);
  void Grow();
  int32_t FirstBelow(BlockId block, const Query& query, Test passes) const;
  const Item* FirstAfter(BlockId block, double key) const;

  size_t width_;
  BlockId root_ = -1;
  std::vector<Block> blocks_;
  std::vector<double> rows_;  // by block, then its items
  std::vector<BlockId> free_;
  std::vector<double> scratch_;  // a row
};

}  // namespace kai

#endif  // KAI_PLACEMENT_ROOM_TREE_H_
