#include "kai/dra/regex.h"

#include <algorithm>

#include "absl/status/status.h"
#include "kai/base/quote.h"
#include "kai/base/status_macros.h"
#include "kai/base/text.h"
#include "kai/dra/utf8.h"

namespace kai {
namespace {

constexpr char32_t kNoCharacter = 0xFFFFFFFF;  // before the first and behind the last

bool IsWordCharacter(char32_t c) {
  return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_';
}

}  // namespace

// Writes the instructions of a tree.
class Regex::Emitter {
 public:
  Emitter(const RegexTree& tree, std::vector<Instruction>* program)
      : tree_(tree), program_(*program) {}

  // False: the program grows too large, or takes too long to write down.
  bool Emit(int32_t node_index) {
    if (++emitted_ > 10 * Regex::kMostInstructions) return false;
    if (program_.size() > Regex::kMostInstructions) return false;
    const RegexNode& node = tree_.nodes[static_cast<size_t>(node_index)];
    switch (node.kind) {
      case RegexNodeKind::kSequence:
        return std::all_of(node.parts.begin(), node.parts.end(),
                           [&](int32_t part) { return Emit(part); });
      case RegexNodeKind::kAlternatives:
        return EmitAlternatives(node);
      case RegexNodeKind::kRepeat:
        return EmitRepeat(node);
      case RegexNodeKind::kCharacter:
        At(Add(Op::kSet)).x = node.set;
        return true;
      case RegexNodeKind::kTextStart:
        return Add(Op::kTextStart), true;
      case RegexNodeKind::kTextEnd:
        return Add(Op::kTextEnd), true;
      case RegexNodeKind::kWordBoundary:
        return Add(Op::kWordBoundary), true;
      case RegexNodeKind::kNotWordBoundary:
        return Add(Op::kNotWordBoundary), true;
    }
    return false;
  }

  int32_t Add(Op op) {
    program_.push_back({.op = op});
    return Next() - 1;
  }

 private:
  int32_t Next() const { return static_cast<int32_t>(program_.size()); }
  Instruction& At(int32_t i) { return program_[static_cast<size_t>(i)]; }

  bool EmitAlternatives(const RegexNode& node) {
    std::vector<int32_t> jumps;
    for (size_t i = 0; i < node.parts.size(); ++i) {
      const bool last = i + 1 == node.parts.size();
      const int32_t split = last ? 0 : Add(Op::kSplit);
      if (!Emit(node.parts[i])) return false;
      if (last) break;
      jumps.push_back(Add(Op::kSplit));
      At(split).x = split + 1;
      At(split).y = Next();
    }
    for (const int32_t jump : jumps) At(jump).x = At(jump).y = Next();
    return true;
  }

  bool EmitRepeat(const RegexNode& node) {
    for (int i = 0; i < node.least; ++i) {
      if (!Emit(node.parts[0])) return false;
    }
    if (node.most == RegexNode::kUnbounded) {
      const int32_t loop = Add(Op::kSplit);
      if (!Emit(node.parts[0])) return false;
      const int32_t back = Add(Op::kSplit);
      At(loop).x = loop + 1;
      At(back).x = At(back).y = loop;
      At(loop).y = Next();
      return true;
    }
    std::vector<int32_t> exits;
    for (int i = node.least; i < node.most; ++i) {
      exits.push_back(Add(Op::kSplit));
      At(exits.back()).x = exits.back() + 1;
      if (!Emit(node.parts[0])) return false;
    }
    for (const int32_t exit : exits) At(exit).y = Next();
    return true;
  }

  const RegexTree& tree_;
  std::vector<Instruction>& program_;
  size_t emitted_ = 0;
};

absl::StatusOr<Regex> Regex::Compile(std::string_view pattern) {
  KAI_ASSIGN_OR_RETURN(RegexTree tree, ParseRegex(pattern));
  Regex regex;
  Emitter emitter(tree, &regex.program_);
  if (!emitter.Emit(tree.root)) {
    return absl::InvalidArgumentError(
        StrCat("regular expression ", Quote(pattern), " is too large"));
  }
  emitter.Add(Op::kMatch);
  regex.sets_ = std::move(tree.sets);
  return regex;
}

// The instructions that wait for the next character, each at most once. They are all followed side
// by side, which is why nothing here can take exponential time.
struct Regex::Threads {
  explicit Threads(size_t size) : seen(size, false) {}

  void Clear() {
    std::fill(seen.begin(), seen.end(), false);
    waiting.clear();
    matched = false;
  }

  std::vector<bool> seen;
  std::vector<int32_t> waiting;
  std::vector<int32_t> stack;
  bool matched = false;
};

// Adds what can be reached from `start` between `before` and `next` without taking a character.
void Regex::Follow(int32_t start, char32_t before, char32_t next, Threads* threads,
                   int64_t* steps) const {
  threads->stack.push_back(start);
  while (!threads->stack.empty()) {
    const int32_t at = threads->stack.back();
    threads->stack.pop_back();
    if (threads->seen[static_cast<size_t>(at)]) continue;
    threads->seen[static_cast<size_t>(at)] = true;
    --*steps;
    const Instruction& instruction = program_[static_cast<size_t>(at)];
    const bool boundary = IsWordCharacter(before) != IsWordCharacter(next);
    bool passes = false;
    switch (instruction.op) {
      case Op::kSet:
        threads->waiting.push_back(at);
        break;
      case Op::kSplit:
        threads->stack.push_back(instruction.y);
        threads->stack.push_back(instruction.x);
        break;
      case Op::kTextStart:
        passes = before == kNoCharacter;
        break;
      case Op::kTextEnd:
        passes = next == kNoCharacter;
        break;
      case Op::kWordBoundary:
        passes = boundary;
        break;
      case Op::kNotWordBoundary:
        passes = !boundary;
        break;
      case Op::kMatch:
        threads->matched = true;
        break;
    }
    if (passes) threads->stack.push_back(at + 1);
  }
}

bool Regex::FoundIn(std::string_view text, int64_t* steps) const {
  Threads now(program_.size());
  Threads then(program_.size());
  const auto next_at = [&](size_t* at) {
    return *at < text.size() ? NextCodePoint(text, at) : kNoCharacter;
  };
  size_t at = 0;
  char32_t before = kNoCharacter;
  char32_t character = next_at(&at);
  Follow(0, before, character, &now, steps);
  while (!now.matched && character != kNoCharacter) {
    *steps -= 1 + static_cast<int64_t>(program_.size() / 64);  // Clear() costs something, too
    if (*steps < 0) return false;
    const char32_t next = next_at(&at);
    then.Clear();
    for (const int32_t thread : now.waiting) {
      const Instruction& instruction = program_[static_cast<size_t>(thread)];
      const RegexRanges& set = sets_[static_cast<size_t>(instruction.x)];
      *steps -= static_cast<int64_t>(set.size() / 8);
      const bool taken = std::any_of(set.begin(), set.end(), [&](const auto& range) {
        return character >= range.first && character <= range.second;
      });
      if (taken) Follow(thread + 1, character, next, &then, steps);
    }
    Follow(0, character, next, &then, steps);  // the match may start here as well
    std::swap(now, then);
    before = character;
    character = next;
  }
  return now.matched && *steps >= 0;
}

}  // namespace kai
