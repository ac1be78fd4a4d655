// RoomTree: items in the order of (key, rank), each with a row of amounts. It finds the first item
// with enough of each wanted amount, without reading all items before it.
//
//   RoomTree tree(2);
//   tree.Insert({.key = 7, .rank = rank, .place = 10 * rank, .bits = 1}, row);
//   tree.FirstCovering({.wanted = row, .bits = 1}, [](int32_t) { return true; })
//
// It is a B-tree: blocks of up to kFan items or blocks. Each block below another has a row of the
// largest amounts in it. A row covers a query if no amount is smaller than the wanted one, and an
// item matches only if it shares a bit with the query. A block that loses its last item is removed;
// other blocks are not merged, because removed items usually return under another key.
//
// Invariants: answers depend only on the items, not on the order of insertion. Cost: a change and
// usually a search are O(log items), with up to kFan rows in each step; building is linear.
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
    int32_t rank = 0;    // unique among equal keys
    int32_t place = -1;  // the caller's number of the item
    uint64_t bits = 0;
  };
  static bool IsBefore(const Item& a, const Item& b) {
    return a.key != b.key ? a.key < b.key : a.rank < b.rank;
  }
  struct Query {
    std::span<const double> wanted;  // for the first amounts of a row; an even number of them
    uint64_t bits = 0;
    const double* after = nullptr;  // only larger keys; null: all
  };
  using Test = absl::FunctionRef<bool(int32_t place)>;
  using WriteRow = absl::FunctionRef<void(int32_t place, std::span<double> row)>;

  // `width`: the number of amounts in a row; even.
  explicit RoomTree(size_t width);

  // Replaces all items; `items` must be in order.
  void Build(std::span<const Item> items, WriteRow write_row);
  void Insert(const Item& item, std::span<const double> row);
  // The item must exist with this key and rank.
  void Erase(const Item& item);
  // Changes the bits and the row of an item, but not its key.
  void Update(const Item& item, std::span<const double> row);

  // The place of the first item that covers the query and passes the test; -1: none.
  int32_t FirstCovering(const Query& query, Test passes) const;
  // The first and the last item; null: the tree is empty.
  const Item* First() const;
  const Item* Last() const;
  // The first item with a larger key; null: none.
  const Item* FirstAfter(double key) const { return FirstAfter(root_, key); }

  bool empty() const { return root_ < 0; }
  size_t HeapBytes() const;

 private:
  static constexpr int kFan = 16;
  static constexpr int kFilled = 12;  // entries per block when a tree is built

  using BlockId = int32_t;
  struct Block {
    int size = 0;
    bool is_leaf = true;
    // In a leaf: its items. Otherwise the blocks below: `place` is the block's number, and (key,
    // rank) is at most that of every item below it, and at least that of every item before it.
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
  // The position of the item in a leaf, or the position to insert it; the block below that contains
  // it or would contain it.
  static int PlaceOf(const Item& item, const Block& leaf);
  static int ChildFor(const Item& item, const Block& block);
  void InsertAt(BlockId block, int at, const Item& item, const double* row);
  void EraseAt(BlockId block, int at);
  // Computes the bits and the row of an entry from what is below it. True: they changed.
  bool Sum(BlockId block, int at);
  // Moves the second half of a full block into a new block.
  BlockId Split(BlockId block);
  // Returns a new block that follows this one, if this one was full; -1: none.
  BlockId InsertBelow(BlockId block, const Item& item, const double* row);
  // True: the largest amounts of the block changed.
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
