// Config: which actions and plugins a cycle runs, parsed once and checked once (spec 2 C5-C9, spec
// 5 A39, A40).
//
//   absl::StatusOr<Config> config = Config::Parse(json, options);    // "": KAI's built-in default
//   config.WarningTexts()
//
// What is missing has KAI's default. A name that is not known (known_names.h) is reported in
// `warnings`, with the nearest one that is, and skipped; so is a value that makes no sense.
//
// Invariants: every action and plugin in it is known; ToJson() of a configuration parses to an
// equal one, but for its policies. Cost: one pass over the JSON. Threads: a plain value; many
// readers.
#ifndef KAI_SESSION_CONFIG_H_
#define KAI_SESSION_CONFIG_H_

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "kai/actions/search_budgets.h"
#include "kai/api/extras.h"
#include "kai/api/mends.h"
#include "kai/placement/table_policy.h"

namespace kai {

struct PluginConfig {
  std::string name;
  std::map<std::string, std::string> arguments;

  // The argument's value, or `fallback`.
  std::string_view Argument(std::string_view argument, std::string_view fallback) const;
};

// What was skipped or replaced, and where: the members on the way there, and places in lists.
struct ConfigWarning {
  std::vector<std::string> path;
  std::string text;
};

struct Config {
  struct ParseOptions {
    bool as_kai = false;  // every mend switched to KAI's behaviour
  };

  std::vector<std::string> actions;            // known ones, in order
  std::vector<PluginConfig> plugins;           // known ones, in order
  std::map<std::string, int64_t> queue_depth;  // by action; -1 or missing: no bound
  SearchBudgets budgets;
  Mends mends;    // member `compat`
  Extras extras;  // member `extras`
  std::vector<ConfigWarning> warnings;
  // Given as functions; no JSON holds them. Null: none.
  std::shared_ptr<const TablePolicies> policies;

  static absl::StatusOr<Config> Parse(std::string_view json, const ParseOptions& options);

  const PluginConfig* FindPlugin(std::string_view name) const;
  bool HasPlugin(std::string_view name) const { return FindPlugin(name) != nullptr; }
  std::vector<std::string> WarningTexts() const;
  // All of it, with every default that is in force; the plugins as `tiers`.
  std::string ToJson() const;

  // The names of all switches (docs/compatibility.md has a row for each).
  static std::vector<std::string> CompatSwitches();
};

}  // namespace kai

#endif  // KAI_SESSION_CONFIG_H_
