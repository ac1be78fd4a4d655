// ClaimAnswers: whether nodes have the devices that the claims of pods request. It caches answers
// for a cycle or for a search.
//
//   answers_ = std::make_unique<ClaimAnswers>(&cluster_->claims(), ClaimBudgets::kSmall);
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

// How much work the claims of a pod may cause (docs/decisions/0033-claims-have-budgets.md). kSmall:
// selectors have SelectorBudget() in all, and a search looks at devices SearchBudget() times.
enum class ClaimBudgets : uint8_t { kSmall, kOfKubernetes };

// `devices`: that the node reaches.
constexpr int64_t SearchBudget(size_t devices) {
  return 20'000 + 100 * static_cast<int64_t>(devices);
}

class ClaimAnswers {
 public:
  ClaimAnswers(const ClaimBook* book, ClaimBudgets budgets) : book_(*book), budgets_(budgets) {}

  ClaimAnswer AnswerFor(ClaimNeedsId needs, NodeId node);

 private:
  struct Known {
    int64_t version = -1;
    ClaimAnswer answer;
  };
  ClaimAnswer Find(ClaimNeedsId needs, NodeId node, const NodePools& pools) const;

  const ClaimBook& book_;
  const ClaimBudgets budgets_;
  absl::flat_hash_map<NodeId, NodePools> pools_;
  absl::flat_hash_map<std::pair<ClaimNeedsId, NodeId>, Known> known_;
};

}  // namespace kai

#endif  // KAI_MODEL_CLAIMS_CLAIM_ANSWERS_H_
