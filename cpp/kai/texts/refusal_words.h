// Names of causes: a stable word for programs, and KAI's words for people (spec 2 M6, spec 3 E2).
//
//   WordsOf(Refusal::kUntoleratedTaints).word   // "untolerated_taints"
//   WordsOf(Refusal::kUntoleratedTaints).text   // "node(s) had untolerated taint(s)"
//
// Invariants: no two causes share a word; a word stays the same when the sentence changes. Cost: a
// look-up in a table. Threads: constants.
#ifndef KAI_TEXTS_REFUSAL_WORDS_H_
#define KAI_TEXTS_REFUSAL_WORDS_H_

#include <string>
#include <string_view>

#include "kai/model/reasons/refusal.h"

namespace kai {

struct RefusalWords {
  std::string_view word;
  std::string_view text;  // empty: the text depends on more than the cause
};
RefusalWords WordsOf(Refusal::Cause cause);

std::string_view WordOf(const NamedRefusal& refusal);
std::string_view WordOf(const PodRefusal& refusal);
std::string_view WordOf(VolumeRefusal::Kind kind);
std::string_view WordOf(ClaimRefusalKind kind);

}  // namespace kai

#endif  // KAI_TEXTS_REFUSAL_WORDS_H_
