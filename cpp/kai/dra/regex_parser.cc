#include "kai/dra/regex_parser.h"

#include <algorithm>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "kai/base/quote.h"
#include "kai/base/status_macros.h"
#include "kai/base/text.h"
#include "kai/dra/regex_classes.h"
#include "kai/dra/utf8.h"

namespace kai {
namespace {

constexpr int kDeepestNesting = 50;
constexpr int kMostRepeats = 1000;  // of one item, as in RE2

using Ranges = RegexRanges;
using Node = RegexNode;
using Kind = RegexNodeKind;

bool IsLetterOrDigit(char32_t c) {
  return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
}

class RegexParser {
 public:
  explicit RegexParser(std::string_view pattern) : pattern_(pattern) {}

  absl::StatusOr<RegexTree> Run() {
    KAI_ASSIGN_OR_RETURN(tree_.root, ParseAlternatives(0));
    if (at_ < pattern_.size()) return Bad("has a ')' too many");
    return std::move(tree_);
  }

 private:
  struct Flags {
    bool ignore_case = false;
    bool dot_takes_newline = false;
  };

  absl::Status Bad(std::string_view what) const {
    return absl::InvalidArgumentError(StrCat("regular expression ", Quote(pattern_), " ", what));
  }

  bool AtEnd() const { return at_ >= pattern_.size(); }
  char Peek() const { return AtEnd() ? '\0' : pattern_[at_]; }
  bool Take(std::string_view text) {
    if (pattern_.substr(std::min(at_, pattern_.size()), text.size()) != text) return false;
    at_ += text.size();
    return true;
  }

  int32_t AddNode(Node node) {
    tree_.nodes.push_back(std::move(node));
    return static_cast<int32_t>(tree_.nodes.size() - 1);
  }
  int32_t AddSet(Ranges ranges) {
    if (flags_.ignore_case) AddBothCases(&ranges);
    tree_.sets.push_back(std::move(ranges));
    return AddNode({.kind = Kind::kCharacter, .set = static_cast<int32_t>(tree_.sets.size() - 1)});
  }

  absl::StatusOr<int32_t> ParseAlternatives(int depth) {
    if (depth > kDeepestNesting) return Bad("is nested too deeply");
    const Flags flags = flags_;  // set inside a group, they end with it
    Node node{.kind = Kind::kAlternatives};
    do {
      KAI_ASSIGN_OR_RETURN(const int32_t part, ParseSequence(depth));
      node.parts.push_back(part);
    } while (Take("|"));
    flags_ = flags;
    return node.parts.size() == 1 ? node.parts[0] : AddNode(std::move(node));
  }

  absl::StatusOr<int32_t> ParseSequence(int depth) {
    Node node{.kind = Kind::kSequence};
    while (!AtEnd() && Peek() != '|' && Peek() != ')') {
      KAI_ASSIGN_OR_RETURN(const int32_t item, ParseItem(depth));
      KAI_ASSIGN_OR_RETURN(const int32_t repeated, ParseRepeat(item));
      node.parts.push_back(repeated);
    }
    return AddNode(std::move(node));
  }

  absl::StatusOr<int32_t> ParseRepeat(int32_t item) {
    int least = 0, most = Node::kUnbounded;
    if (!TakeRepeat(&least, &most)) return item;
    if (least > kMostRepeats || most > kMostRepeats || (most != Node::kUnbounded && most < least)) {
      return Bad("has a bad number of repeats");
    }
    Take("?");  // as few as possible or as many: found is found
    int ignored_least = 0, ignored_most = 0;
    if (TakeRepeat(&ignored_least, &ignored_most)) return Bad("repeats a repeat");
    return AddNode({.kind = Kind::kRepeat, .least = least, .most = most, .parts = {item}});
  }

  bool TakeRepeat(int* least, int* most) {
    if (Take("*")) return *least = 0, *most = Node::kUnbounded, true;
    if (Take("+")) return *least = 1, *most = Node::kUnbounded, true;
    if (Take("?")) return *least = 0, *most = 1, true;
    const size_t start = at_;
    if (Take("{") && TakeNumber(least)) {
      *most = *least;
      if (Take(",") && !TakeNumber(most)) *most = Node::kUnbounded;
      if (Take("}")) return true;
    }
    at_ = start;  // a brace like any other character
    return false;
  }

  bool TakeNumber(int* number) {
    const size_t start = at_;
    *number = 0;
    for (; Peek() >= '0' && Peek() <= '9'; ++at_) {
      *number = std::min(*number * 10 + (Peek() - '0'), kMostRepeats + 1);
    }
    return at_ > start;
  }

  absl::StatusOr<int32_t> ParseItem(int depth) {
    if (Take("(")) return ParseGroup(depth);
    if (Take("[")) return ParseClass();
    if (Take("^")) return AddNode({.kind = Kind::kTextStart});
    if (Take("$")) return AddNode({.kind = Kind::kTextEnd});
    if (Take(".")) {
      return AddSet(flags_.dot_takes_newline ? Ranges{{0, kLastCodePoint}}
                                             : Complement({{'\n', '\n'}}));
    }
    if (Peek() == '*' || Peek() == '+' || Peek() == '?') return Bad("repeats nothing");
    if (!Take("\\")) {
      const char32_t c = NextCodePoint(pattern_, &at_);
      if (flags_.ignore_case && c > 0x7F) return Bad("ignores the case of more than ASCII");
      return AddSet({{c, c}});
    }
    if (Take("A")) return AddNode({.kind = Kind::kTextStart});
    if (Take("z")) return AddNode({.kind = Kind::kTextEnd});
    if (Take("b")) return AddNode({.kind = Kind::kWordBoundary});
    if (Take("B")) return AddNode({.kind = Kind::kNotWordBoundary});
    KAI_ASSIGN_OR_RETURN(Ranges ranges, ParseEscape());
    return AddSet(std::move(ranges));
  }

  absl::StatusOr<int32_t> ParseGroup(int depth) {
    const Flags outside = flags_;
    if (Take("?P<") || Take("?<")) {  // a group's name: nobody asks for it
      if (Peek() == '=' || Peek() == '!') return Bad("looks behind, which is not supported");
      const size_t end = pattern_.find('>', at_);
      if (end == pattern_.npos || end == at_) return Bad("has a group with a bad name");
      at_ = end + 1;
    } else if (Take("?")) {
      bool value = true;
      while (Peek() != ':' && Peek() != ')') {
        if (value && Take("-")) {
          value = false;
        } else if (Take("i")) {
          flags_.ignore_case = value;
        } else if (Take("s")) {
          flags_.dot_takes_newline = value;
        } else {
          return Bad("has a group or flag that is not supported");
        }
      }
      if (Take(")")) return AddNode({.kind = Kind::kSequence});  // for the rest of this group
      Take(":");
    }
    KAI_ASSIGN_OR_RETURN(const int32_t inside, ParseAlternatives(depth + 1));
    if (!Take(")")) return Bad("has a '(' that is not closed");
    flags_ = outside;
    return inside;
  }

  absl::StatusOr<int32_t> ParseClass() {
    const bool negated = Take("^");
    Ranges ranges;
    bool first = true;
    while (first || Peek() != ']') {
      if (AtEnd()) return Bad("has a '[' that is not closed");
      if (pattern_.substr(at_, 2) == "[:") {
        KAI_ASSIGN_OR_RETURN(const Ranges named, ParseNamedClass());
        ranges.insert(ranges.end(), named.begin(), named.end());
        first = false;
        continue;
      }
      first = false;
      KAI_ASSIGN_OR_RETURN(const Ranges low, ParseClassPart());
      const bool is_range = Peek() == '-' && at_ + 1 < pattern_.size() && pattern_[at_ + 1] != ']';
      if (!is_range) {
        ranges.insert(ranges.end(), low.begin(), low.end());
        continue;
      }
      Take("-");
      KAI_ASSIGN_OR_RETURN(const Ranges high, ParseClassPart());
      const auto single = [](const Ranges& r) {
        return r.size() == 1 && r[0].first == r[0].second;
      };
      if (!single(low) || !single(high) || low[0].first > high[0].first) {
        return Bad("has a bad range of characters");
      }
      ranges.emplace_back(low[0].first, high[0].first);
    }
    Take("]");
    if (flags_.ignore_case) AddBothCases(&ranges);  // before they are turned into the others
    return AddSet(negated ? Complement(std::move(ranges)) : std::move(ranges));
  }

  absl::StatusOr<Ranges> ParseNamedClass() {  // [:alpha:] or [:^alpha:]
    const size_t end = std::min(pattern_.find(":]", at_ + 2), pattern_.size());
    std::string_view name = pattern_.substr(at_ + 2, end - at_ - 2);
    const bool negated = name.starts_with('^');
    if (negated) name.remove_prefix(1);
    const std::optional<Ranges> ranges = NamedClass(name);
    if (!ranges.has_value()) return Bad("has a character class that is not supported");
    at_ = end + 2;
    return negated ? Complement(*ranges) : *ranges;
  }

  absl::StatusOr<Ranges> ParseClassPart() {
    if (Take("\\")) return ParseEscape();
    if (AtEnd()) return Bad("has a '[' that is not closed");
    const char32_t c = NextCodePoint(pattern_, &at_);
    return Ranges{{c, c}};
  }

  // Behind the backslash.
  absl::StatusOr<Ranges> ParseEscape() {
    if (AtEnd()) return Bad("ends with a backslash");
    const char32_t c = NextCodePoint(pattern_, &at_);
    if (std::optional<Ranges> ranges = PerlClass(c)) return *std::move(ranges);
    if (c == 'x') return ParseHex();
    constexpr std::string_view kLetters = "afnrtv";
    constexpr char32_t kMeans[] = {'\a', '\f', '\n', '\r', '\t', '\v'};
    const size_t place = c < 0x80 ? kLetters.find(static_cast<char>(c)) : kLetters.npos;
    if (place != kLetters.npos) return Ranges{{kMeans[place], kMeans[place]}};
    if (IsLetterOrDigit(c) || c > 0x7F) return Bad("has an escape that is not supported");
    return Ranges{{c, c}};
  }

  absl::StatusOr<Ranges> ParseHex() {
    const bool braced = Take("{");
    char32_t c = 0;
    int digits = 0;
    for (; digits < (braced ? 8 : 2); ++digits, ++at_) {
      const char digit = Peek();
      const char letter = static_cast<char>(digit | 0x20);
      if (digit >= '0' && digit <= '9') {
        c = c * 16 + static_cast<char32_t>(digit - '0');
      } else if (letter >= 'a' && letter <= 'f') {
        c = c * 16 + static_cast<char32_t>(letter - 'a' + 10);
      } else {
        break;
      }
    }
    const bool whole = braced ? digits > 0 && Take("}") : digits == 2;
    if (!whole || c > kLastCodePoint) return Bad("has a bad hexadecimal escape");
    return Ranges{{c, c}};
  }

  std::string_view pattern_;
  size_t at_ = 0;
  Flags flags_;
  RegexTree tree_;
};

}  // namespace

absl::StatusOr<RegexTree> ParseRegex(std::string_view pattern) {
  return RegexParser(pattern).Run();
}

}  // namespace kai
