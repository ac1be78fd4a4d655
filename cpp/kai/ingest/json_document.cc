#include "kai/ingest/json_document.h"

#include <simdjson.h>
#ifdef __linux__
#include <sys/mman.h>
#endif

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <new>
#include <string>

#include "absl/status/status.h"
#include "kai/base/heap_bytes.h"
#include "kai/base/status_macros.h"
#include "kai/base/text.h"
#include "kai/ingest/json_check.h"
#include "kai/ingest/json_tokens.h"

namespace kai {
namespace {

bool IsSpace(char c) { return c == ' ' || c == '\n' || c == '\t' || c == '\r'; }

const char* SkipDigits(const char* at) {
  while (IsDigit(*at)) ++at;
  return at;
}

// The end of the number that starts here; null if it is not a number.
const char* EndOfNumber(const char* at) {
  if (*at == '-') ++at;
  if (!IsDigit(*at)) return nullptr;
  at = *at == '0' ? at + 1 : SkipDigits(at);
  if (*at == '.') {
    const char* const fraction = ++at;
    at = SkipDigits(at);
    if (at == fraction) return nullptr;
  }
  if (*at == 'e' || *at == 'E') {
    ++at;
    if (*at == '+' || *at == '-') ++at;
    const char* const exponent = at;
    at = SkipDigits(at);
    if (at == exponent) return nullptr;
  }
  return at;
}

// Large buffers that are used once cost mostly page faults; large pages avoid them.
void UseLargePages([[maybe_unused]] uint32_t* values, [[maybe_unused]] size_t size) {
#ifdef __linux__
  constexpr uintptr_t kPage = 1 << 21;
  const uintptr_t begin = (reinterpret_cast<uintptr_t>(values) + kPage - 1) / kPage * kPage;
  const uintptr_t end = reinterpret_cast<uintptr_t>(values + size) / kPage * kPage;
  if (begin < end) madvise(reinterpret_cast<void*>(begin), end - begin, MADV_HUGEPAGE);
#endif
}

// Completes the checks of simdjson's first stage, which ensures valid UTF-8, closed strings without
// control characters, and the positions of tokens. The last token is a closing bracket, and two
// more copies of it follow as sentinels, so unclosed brackets end there.
class Linker {
 public:
  Linker(const JsonTokens& tokens, uint32_t count, uint32_t* after)
      : tokens_(tokens), count_(count), after_(after) {}

  // True if the tokens are one JSON value, nested no deeper than kDeepestJson. Fills `after`.
  bool Link() {
    uint32_t open[kDeepestJson];  // tokens of open brackets, the outermost first
    uint32_t* const deepest = open + kDeepestJson;
    uint32_t* top = open;
    for (uint32_t token = 0;;) {  // a value starts here
      const char first = tokens_.First(token);
      if (first == '{' || first == '[') {
        if (top == deepest) return false;
        *top++ = token++;
        if (tokens_.First(token) != (first == '{' ? '}' : ']')) {
          if (first == '{' && !TakeKey(&token)) return false;
          continue;
        }
      } else {
        if (first != '"' && !IsScalar(token)) return false;
        ++token;
      }
      while (true) {  // a value has ended
        if (top == open) return token == count_;
        const bool is_object = tokens_.First(top[-1]) == '{';
        if (tokens_.First(token) == ',') {
          ++token;
          if (is_object && !TakeKey(&token)) return false;
          break;
        }
        if (tokens_.First(token) != (is_object ? '}' : ']')) return false;
        after_[*--top] = ++token;
      }
    }
  }

 private:
  bool TakeKey(uint32_t* token) const {
    if (tokens_.First(*token) != '"' || tokens_.First(*token + 1) != ':') return false;
    *token += 2;
    return true;
  }

  // True for a number, true, false or null, followed only by white space up to the next token.
  // (simdjson makes a scalar right after another token a token, but not the rest of a scalar.)
  bool IsScalar(uint32_t token) const {
    const char* const begin = tokens_.text + tokens_.place[token];
    const char* const next = tokens_.text + tokens_.place[token + 1];
    const char* end = nullptr;
    switch (*begin) {
      case 't':
        if (next - begin >= 4 && std::memcmp(begin, "true", 4) == 0) end = begin + 4;
        break;
      case 'f':
        if (next - begin >= 5 && std::memcmp(begin, "false", 5) == 0) end = begin + 5;
        break;
      case 'n':
        if (next - begin >= 4 && std::memcmp(begin, "null", 4) == 0) end = begin + 4;
        break;
      default:
        end = EndOfNumber(begin);
    }
    return end != nullptr && (end == next || (end < next && IsSpace(*end)));
  }

  const JsonTokens& tokens_;
  const uint32_t count_;
  uint32_t* const after_;
};

// True if each backslash (all are in strings) begins a valid escape sequence.
bool CheckEscapes(std::string_view text, bool* has_escapes) {
  *has_escapes = false;
  const char* const end = text.data() + text.size();
  const char* at = text.data();
  while ((at = static_cast<const char*>(std::memchr(at, '\\', static_cast<size_t>(end - at)))) !=
         nullptr) {
    *has_escapes = true;
    const char c = at[1];  // exists: strings are closed, so a backslash is never last
    if (c == 'u') {
      if (end - at < 6 || !IsHexDigit(at[2]) || !IsHexDigit(at[3]) || !IsHexDigit(at[4]) ||
          !IsHexDigit(at[5]))
        return false;
    } else if (c == '\0' || std::strchr("\"\\/bfnrt", c) == nullptr) {
      return false;
    }
    at += 2;
  }
  return true;
}

}  // namespace

struct JsonDocument::State {
  // The base of simdjson's own parsers, as simdjson offers its first stage in no other way.
  std::unique_ptr<simdjson::internal::dom_parser_implementation> parser;
  size_t capacity = 0;
  std::unique_ptr<uint32_t[]> after;
  size_t after_capacity = 0;
  std::string copy;  // of the text, if simdjson reads past its end
  JsonTokens tokens;
};

JsonDocument::JsonDocument() : state_(std::make_unique<State>()) {}
JsonDocument::~JsonDocument() = default;

size_t JsonDocument::HeapBytes() const {
  // simdjson reserves a position per byte, as each byte may be a token.
  return BlockBytes(sizeof(State)) + state_->copy.capacity() +
         BlockBytes(state_->capacity * sizeof(uint32_t)) +
         BlockBytes(state_->after_capacity * sizeof(uint32_t));
}

absl::StatusOr<JsonObject> JsonDocument::Parse(std::string_view json) {
  if (json.size() > simdjson::SIMDJSON_MAXSIZE_BYTES)
    return absl::InvalidArgumentError("is larger than 4 GB");
  const absl::Status indexed = Index(json);
  if (indexed.ok()) return JsonObject(&state_->tokens, 0);
  if (absl::IsResourceExhausted(indexed)) return indexed;
  const absl::Status reason = CheckJson(json);
  return absl::InvalidArgumentError(
      reason.ok() ? std::string("is not a JSON object")
                  : StrCat("is not valid JSON: ", std::string(reason.message())));
}

absl::Status JsonDocument::Index(std::string_view json) {
  const absl::Status no_memory = absl::ResourceExhaustedError("does not fit into memory");
  const absl::Status no_object = absl::InvalidArgumentError("");
  // The walk stops at the closing bracket, so the text can end there.
  while (!json.empty() && IsSpace(json.back())) json.remove_suffix(1);
  if (json.empty() || json.back() != '}') return no_object;

  State& state = *state_;
  if (json.size() > state.capacity) {
    // Small texts of many sizes follow one another, so their buffer gets some spare room.
    constexpr size_t kSmall = 1 << 20;
    const size_t capacity =
        json.size() < kSmall ? std::max(2 * json.size(), size_t{4096}) : json.size();
    state.capacity = 0;
    if (simdjson::get_active_implementation()->create_dom_parser_implementation(
            capacity, 1, state.parser) != simdjson::SUCCESS)
      return no_memory;
    state.capacity = capacity;
    UseLargePages(state.parser->structural_indexes.get(), capacity);
  }
  simdjson::internal::dom_parser_implementation& parser = *state.parser;
  if (simdjson::get_active_implementation()->name() == "fallback") {
    state.copy.reserve(json.size() + simdjson::SIMDJSON_PADDING);
    state.copy = json;
    json = state.copy;
  }
  if (parser.stage1(reinterpret_cast<const uint8_t*>(json.data()), json.size(),
                    simdjson::stage1_mode::regular) != simdjson::SUCCESS)
    return no_object;
  const uint32_t count = parser.n_structural_indexes;
  uint32_t* const place = parser.structural_indexes.get();
  // Sentinels after the last token: copies of it.
  place[count] = place[count + 1] = static_cast<uint32_t>(json.size() - 1);

  if (count > state.after_capacity) {
    const size_t capacity = count + count / 8;
    state.after_capacity = 0;
    state.after.reset(new (std::nothrow) uint32_t[capacity]);
    if (state.after == nullptr) return no_memory;
    state.after_capacity = capacity;
    UseLargePages(state.after.get(), capacity);
  }
  state.tokens = {.text = json.data(), .place = place, .after = state.after.get()};
  if (state.tokens.First(0) != '{' || !Linker(state.tokens, count, state.after.get()).Link() ||
      !CheckEscapes(json, &state.tokens.has_escapes))
    return no_object;
  return absl::OkStatus();
}

}  // namespace kai
