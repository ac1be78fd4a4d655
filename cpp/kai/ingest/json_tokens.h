// JsonTokens: where the tokens of a checked JSON text stand.
//
//   while (tokens.First(token) != '}') {
//   token = tokens.After(token + 2);      // behind the key, the colon and the whole value
//
// A token is a bracket, a comma, a colon, or a scalar with all its characters.
//
// Invariants: the text is JSON; the token behind the last one stands at its end. Cost: array
// accesses. Threads: many readers, until the document that owns it reads the next text.
#ifndef KAI_INGEST_JSON_TOKENS_H_
#define KAI_INGEST_JSON_TOKENS_H_

#include <cstdint>
#include <string_view>

namespace kai {

struct JsonTokens {
  const char* text = nullptr;
  const uint32_t* place = nullptr;  // of the token's first character
  const uint32_t* after = nullptr;  // of an opening bracket: the token behind its closing one
  bool has_escapes = false;         // there is a backslash somewhere in the text

  char First(uint32_t token) const { return text[place[token]]; }

  // The token, without the space behind it.
  std::string_view Text(uint32_t token) const {
    const char* const begin = text + place[token];
    const char* end = text + place[token + 1];
    while (end[-1] == ' ' || end[-1] == '\n' || end[-1] == '\t' || end[-1] == '\r') --end;
    return {begin, static_cast<size_t>(end - begin)};
  }

  // The token behind the value that starts here.
  uint32_t After(uint32_t value) const {
    const char first = First(value);
    return first == '{' || first == '[' ? after[value] : value + 1;
  }
};

}  // namespace kai

#endif  // KAI_INGEST_JSON_TOKENS_H_
