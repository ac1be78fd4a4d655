// JsonWriter: writes JSON text, member by member.
//
//   json->Begin('{');
//   json->Pair("device", given.device.device);
//   json->End('}');
//
// Invariants: it writes the commas; the caller has to write matching brackets; separators are those
// of Python's json.dumps. Cost: that of the text. Not thread-safe.
#ifndef KAI_SESSION_JSON_WRITER_H_
#define KAI_SESSION_JSON_WRITER_H_

#include <cstdint>
#include <string>
#include <string_view>

namespace kai {

// A double in the format of Python's repr(): 1.0, 0.1, 1e-05, 1e+16.
std::string PythonFloat(double value);

class JsonWriter {
 public:
  std::string Take() && { return std::move(text_); }

  void Begin(char bracket) {
    Separate();
    text_ += bracket;
    is_first_ = true;
  }
  void End(char bracket) {
    text_ += bracket;
    is_first_ = false;
  }
  void Key(std::string_view key) {
    Separate();
    Quote(key);
    text_ += ": ";
    is_first_ = true;  // the value follows without a comma
  }
  void String(std::string_view value) {
    Separate();
    Quote(value);
  }
  void Pair(std::string_view key, std::string_view value) {
    Key(key);
    String(value);
  }
  void Null() { Raw("null"); }
  void Bool(bool value) { Raw(value ? "true" : "false"); }
  void Int(int64_t value) { Raw(std::to_string(value)); }
  void Float(double value) { Raw(PythonFloat(value)); }
  // Writes a whole number without a fraction.
  void Plain(double value);

 private:
  void Raw(std::string_view token) {
    Separate();
    text_ += token;
  }
  void Separate() {
    if (!is_first_) text_ += ", ";
    is_first_ = false;
  }
  void Quote(std::string_view value);

  std::string text_;
  bool is_first_ = true;
};

}  // namespace kai

#endif  // KAI_SESSION_JSON_WRITER_H_
