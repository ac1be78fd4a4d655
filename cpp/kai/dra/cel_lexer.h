// The tokens of a CEL expression.
//
//   KAI_ASSIGN_OR_RETURN(std::vector<CelToken> tokens, SplitCel(expression));
//
// Invariants: the last token is kEnd, and a cursor never moves past it. Cost: linear in the
// expression. Threads: pure functions; a cursor is not thread-safe.
#ifndef KAI_DRA_CEL_LEXER_H_
#define KAI_DRA_CEL_LEXER_H_

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace kai {

struct CelToken {
  enum class Kind : uint8_t { kName, kSign, kText, kInt, kUint, kDouble, kEnd };

  Kind kind = Kind::kEnd;
  size_t position = 0;    // byte offset in the expression
  std::string text = {};  // a name, a sign ("&&"), or the value of a string literal
  uint64_t integer = 0;   // kInt: before negation, up to 2^63; kUint
  double real = 0;
};

// Ends with kEnd. Skips comments (// to the end of the line) and white space.
absl::StatusOr<std::vector<CelToken>> SplitCel(std::string_view expression);

// "byte 12: ..."
absl::Status CelError(size_t position, std::string_view what);
absl::Status CelError(size_t position, const absl::Status& what);

// A position among tokens, which does not move past the end.
class CelCursor {
 public:
  explicit CelCursor(std::vector<CelToken> tokens) : tokens_(std::move(tokens)) {}

  const CelToken& Now() const { return tokens_[at_]; }
  const CelToken& Next() const { return tokens_[std::min(at_ + 1, tokens_.size() - 1)]; }
  CelToken& Advance();  // returns the token that it moves past
  bool Take(std::string_view sign);
  absl::Status Expect(std::string_view sign);
  absl::Status Unexpected() const;  // an error about the current token

 private:
  std::vector<CelToken> tokens_;
  size_t at_ = 0;
};

}  // namespace kai

#endif  // KAI_DRA_CEL_LEXER_H_
