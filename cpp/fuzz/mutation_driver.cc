// Runs a fuzz entry point without libFuzzer: mutates a corpus, without coverage but repeatably.
//
//   kai_quantity_fuzz --seconds=3 --seed=1 cpp/fuzz/corpus/quantity   // searches from a folder
//   kai_quantity_fuzz crash-0123456789abcdef                          // runs these files once each
//
// The same seed and corpus give the same inputs in the same order on every machine; --runs=N limits
// a search by count instead of time. Without a corpus it starts from an empty input. An input that
// crashes, trips a sanitizer or takes longer than ten seconds is written to crash-<hash> in the
// current folder. As it does not measure coverage, it reaches deep code only with a good corpus:
// keep a small, valid and varied one.

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

// Sanitizers that find something call abort(), whose handler below saves the input.
extern "C" const char* __asan_default_options() { return "abort_on_error=1"; }
extern "C" const char* __ubsan_default_options() { return "abort_on_error=1:print_stacktrace=1"; }

namespace {

constexpr int kSlowInputSeconds = 10;
constexpr size_t kMaxLength = 1 << 16;

// Words that have caused bugs in readers of JSON, YAML and Kubernetes objects, separated by spaces.
using namespace std::string_view_literals;
constexpr std::string_view kTokens =
    "{ } [ ] \" , : \\ \n ---\n {} [] \"\" [[[[[[[[ {\"a\": null true false / ../ nvidia.com/gpu "
    "0 -0 -1 +1 00 .5 5. 0.1 1e9 1e-9 1e999 -1e999 NaN Infinity 0.30000000000000004 "
    "2147483648 4294967296 9007199254740993 9223372036854775807 9223372036854775808 "
    "-9223372036854775809 18446744073709551616 m k E Ki Mi Gi Ei 1n 500m 1.5Gi 1Ei "
    "2026-01-01T00:00:00Z 9999-99-99T99:99:99Z 0000-00-00T00:00:00Z "
    "\\u0000 \\ud800 \\ud83d\\ude00 \0 \xff\xfe \xc3\x28 \xed\xa0\x80 \xf4\x90\x80\x80 \xef\xbb\xbf"sv;

// --- the current input, for the handlers ---------------------------------------------------------

std::string current;  // only handlers and Run() use it

void SaveInput() {
  char path[64];
  std::snprintf(path, sizeof(path), "crash-%016zx", std::hash<std::string_view>{}(current));
  const int file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
  if (file < 0) return;
  if (write(file, current.data(), current.size()) == static_cast<ssize_t>(current.size())) {
    char folder[4096];
    if (getcwd(folder, sizeof(folder)) == nullptr) folder[0] = '\0';
    std::fprintf(stderr, "\nthe input is in %s/%s (%zu bytes)\n", folder, path, current.size());
  }
  close(file);
}

void OnSignal(int signal) {
  if (signal == SIGALRM) std::fprintf(stderr, "one input took over %d s\n", kSlowInputSeconds);
  SaveInput();
  std::signal(SIGABRT, SIG_DFL);
  std::abort();
}

void Run(std::string input) {
  current = std::move(input);
  // An allocation of the exact size, so that the sanitizer detects a read one byte past the end.
  const std::vector<uint8_t> bytes(current.begin(), current.end());
  alarm(kSlowInputSeconds);
  LLVMFuzzerTestOneInput(bytes.data(), bytes.size());
  alarm(0);
}

// --- mutations -----------------------------------------------------------------------------------

class Mutator {
 public:
  Mutator(std::vector<std::string> corpus, uint64_t seed)
      : corpus_(std::move(corpus)), random_(seed) {
    if (corpus_.empty()) corpus_.emplace_back();
    for (size_t begin = 0; begin < kTokens.size();) {
      const size_t end = std::min(kTokens.find(' ', begin), kTokens.size());
      words_.push_back(kTokens.substr(begin, end - begin));
      begin = end + 1;
    }
    for (std::string_view text : corpus_) {
      for (Range word = NextWord(text, 0); word.size > 0; word = NextWord(text, word.end())) {
        words_.push_back(text.substr(word.begin, word.size));
      }
    }
  }
  Mutator(const Mutator&) = delete;  // words_ point into corpus_
  Mutator& operator=(const Mutator&) = delete;

  std::string Next() {
    std::string text = Pick(corpus_);
    const size_t most = std::max(text.size(), kMaxLength);
    for (size_t changes = 1 + Below(4); changes > 0; --changes) Change(&text);
    if (text.size() > most) text.resize(most);
    return text;
  }

 private:
  struct Range {
    size_t begin = 0, size = 0;
    size_t end() const { return begin + size; }
  };

  static bool IsWordCharacter(char c) {
    return c != '\0' && std::strchr(" \t\r\n\"{}[],:", c) == nullptr;
  }

  // The first run of word characters at or after `from`; empty if there is none.
  static Range NextWord(std::string_view text, size_t from) {
    while (from < text.size() && !IsWordCharacter(text[from])) ++from;
    size_t end = from;
    while (end < text.size() && IsWordCharacter(text[end])) ++end;
    return {from, end - from};
  }

  // In [0, n). The distributions of std differ between libraries and would not be repeatable.
  size_t Below(size_t n) { return n == 0 ? 0 : random_() % n; }
  template <typename Container>
  const typename Container::value_type& Pick(const Container& from) {
    return from[Below(from.size())];
  }
  // Mostly short, as long chunks make mutants similar.
  Range Chunk(std::string_view text) {
    const size_t begin = Below(text.size());
    const size_t longest = Below(4) == 0 ? text.size() : 16;
    return {begin, std::min(text.size() - begin, 1 + Below(longest))};
  }

  void Change(std::string* text) {
    switch (Below(10)) {
      case 0:  // flip a bit
        if (!text->empty()) (*text)[Below(text->size())] ^= static_cast<char>(1u << Below(8));
        break;
      case 1:  // any byte anywhere
        text->insert(text->begin() + static_cast<ptrdiff_t>(Below(text->size() + 1)),
                     static_cast<char>(Below(256)));
        break;
      case 2:  // truncate
        text->resize(Below(text->size() + 1));
        break;
      case 3: {  // splice: the head of this, the tail of another
        const std::string& other = Pick(corpus_);
        text->resize(Below(text->size() + 1));
        text->append(other, Below(other.size() + 1));
        break;
      }
      case 4: {  // repeat a chunk, sometimes very often: nesting and long lists
        const Range chunk = Chunk(*text);
        const std::string piece = text->substr(chunk.begin, chunk.size);
        std::string repeated;
        for (size_t times = Below(4) == 0 ? Below(2000) : Below(4);
             times > 0 && repeated.size() < kMaxLength; --times) {
          repeated += piece;
        }
        text->insert(chunk.begin, repeated);
        break;
      }
      case 5: {  // leave a chunk out
        const Range chunk = Chunk(*text);
        text->erase(chunk.begin, chunk.size);
        break;
      }
      case 6: {  // move a chunk
        const Range chunk = Chunk(*text);
        const std::string piece = text->substr(chunk.begin, chunk.size);
        text->erase(chunk.begin, chunk.size);
        text->insert(Below(text->size() + 1), piece);
        break;
      }
      case 7:  // insert a word
        text->insert(Below(text->size() + 1), Pick(words_));
        break;
      default: {  // replace a word, which mostly keeps the syntax and so reaches deepest
        const Range word = NextWord(*text, Below(text->size()));
        text->replace(word.begin, word.size, Pick(words_));
        break;
      }
    }
  }

  std::vector<std::string> corpus_;
  std::vector<std::string_view> words_;  // kTokens and every word of the corpus
  std::mt19937_64 random_;
};

// --- command line --------------------------------------------------------------------------------

std::string ReadFile(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

// With the folders below. Sorted by name, as folders list files in any order.
std::vector<std::string> ReadCorpus(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> paths;
  std::error_code missing;  // a missing folder is an empty corpus
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder, missing)) {
    if (entry.is_regular_file()) paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end());
  std::vector<std::string> corpus;
  for (const auto& path : paths) corpus.push_back(ReadFile(path));
  return corpus;
}

// If `argument` is the option --name=value: true, and its value.
bool ReadOption(std::string_view argument, std::string_view name, uint64_t* value) {
  if (!argument.starts_with(name)) return false;
  argument.remove_prefix(name.size());
  const auto [end, error] = std::from_chars(argument.begin(), argument.end(), *value);
  if (error == std::errc() && end == argument.end()) return true;
  std::fprintf(stderr, "%.*s needs a number\n", static_cast<int>(name.size()), name.data());
  std::exit(2);
}

}  // namespace

int main(int argc, char** argv) {
  uint64_t seed = 1, seconds = 3, runs = UINT64_MAX;
  std::vector<std::string> files;
  std::vector<std::string> corpus;
  for (std::string_view argument : std::span(argv + 1, static_cast<size_t>(argc - 1))) {
    if (ReadOption(argument, "--seed=", &seed) || ReadOption(argument, "--seconds=", &seconds))
      continue;
    if (ReadOption(argument, "--runs=", &runs)) {
      seconds = UINT64_MAX;
    } else if (std::filesystem::is_regular_file(argument)) {
      files.emplace_back(argument);
    } else {
      for (std::string& text : ReadCorpus(argument)) corpus.push_back(std::move(text));
    }
  }

  std::signal(SIGABRT, OnSignal);
  std::signal(SIGALRM, OnSignal);

  for (const std::string& file : files) {
    std::printf("running %s\n", file.c_str());
    Run(ReadFile(file));
  }
  if (!files.empty()) return 0;

  std::printf("seed %llu, corpus of %zu\n", static_cast<unsigned long long>(seed), corpus.size());
  std::fflush(stdout);
  for (const std::string& text : corpus) Run(text);
  Mutator mutator(std::move(corpus), seed);
  const auto start = std::chrono::steady_clock::now();
  const auto elapsed_seconds = [&] {
    return std::chrono::duration_cast<std::chrono::seconds>(std::chrono::steady_clock::now() -
                                                            start)
        .count();
  };
  uint64_t done = 0;
  for (; done < runs && static_cast<uint64_t>(elapsed_seconds()) < seconds; ++done)
    Run(mutator.Next());
  std::printf("%llu inputs, nothing found\n", static_cast<unsigned long long>(done));
  return 0;
}
