// ClaimAnswers: whether nodes have the devices that the claims of pods request. It caches answers
// for a cycle or for a search.
//
//   answers_ = std::make_unique<ClaimAnswers>(&cluster_->claims());
//   answers_->AnswerFor(cluster_->ClassOf(Pod(pod)).claims, Node(node)).kind
//
// Invariants: an answer is correct for the current state of the book. Cost: the pools of a node are
// gathered at its first query; answers for claims that no other pod uses are kept until a device of
// the node is taken or released; all other answers need a search (AllocateDevices). Not
// thread-safe; several may read one book.
#ifndef KAI_MODEL_CLAIMS_CLAIM_ANSWERS_H_
#define KAI_MODEL_CLAIMS_CLAIM_ANSWERS_H_

#include <cstdint>
#include <string>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "kai/model/claims/claim_book.h"

namespace kai {

struct ClaimAnswer {
  enum class Kind : uint8_t { kYes, kElsewhere, kNoDevices, kError };
  Kind kind = Kind::kYes;
  ClaimId claim;      // kElsewhere: which claim
  std::string error;  // kError
};

class ClaimAnswers {
 public:
  explicit ClaimAnswers(const ClaimBook* book) : book_(*book) {}

  ClaimAnswer AnswerFor(ClaimNeedsId needs, NodeId node);

 private:
  struct Known {
    int64_t version = -1;
    ClaimAnswer answer;
  };
  ClaimAnswer Find(ClaimNeedsId needs, NodeId node, const NodePools& pools) const;

  const ClaimBook& book_;
  absl::flat_hash_map<NodeId, NodePools> pools_;
  absl::flat_hash_map<std::pair<ClaimNeedsId, NodeId>, Known> known_;
};

}  // namespace kai

#endif  // KAI_MODEL_CLAIMS_CLAIM_ANSWERS_H_
