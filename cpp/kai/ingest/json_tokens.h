// JsonTokens: the positions of the tokens of a checked JSON text.
//
//   while (tokens.First(token) != '}') {
//   token = tokens.After(token + 2);      // after the key, the colon and the whole value
//
// A token is a bracket, a comma, a colon, or a whole scalar.
//
// Invariants: the text is JSON; a sentinel token at the end of the text follows the last one. Cost:
// array accesses. Threads: many readers, until the owning document reads the next text.
#ifndef KAI_INGEST_JSON_TOKENS_H_
#define KAI_INGEST_JSON_TOKENS_H_

#include <cstdint>
#include <string_view>

namespace kai {

struct JsonTokens {
  const char* text = nullptr;
  const uint32_t* place = nullptr;  // of a token's first character
  const uint32_t* after = nullptr;  // for an opening bracket: the token after its closing one
  bool has_escapes = false;         // the text contains a backslash

  char First(uint32_t token) const { return text[place[token]]; }

  // The token without trailing white space, which is all that may follow one up to the next.
  std::string_view Text(uint32_t token) const {
    const char* const begin = text + place[token];
    const char* end = text + place[token + 1];
    while (static_cast<unsigned char>(end[-1]) <= ' ') --end;
    return {begin, static_cast<size_t>(end - begin)};
  }

  // The token after the value that starts here.
  uint32_t After(uint32_t value) const {
    const char first = First(value);
    return first == '{' || first == '[' ? after[value] : value + 1;
  }
};

}  // namespace kai

#endif  // KAI_INGEST_JSON_TOKENS_H_
