// Config: the actions and plugins that a cycle runs, parsed and checked once (spec 2 C5-C9, spec 5
// A39, A40).
//
//   absl::StatusOr<Config> config = Config::Parse(json, options);    // "": KAI's built-in default
//   config.WarningTexts()
//
// Missing members have KAI's defaults. An unknown name (known_names.h) or an invalid value is
// skipped and reported in `warnings`; for a name, the warning offers the nearest known one.
//
// Invariants: every action and plugin in it is known; ToJson() of a configuration parses to an
// equal one, except for its policies. Cost: one pass over the JSON. Threads: a plain value; many
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
#include "kai/api/switches.h"
#include "kai/placement/table_policy.h"

namespace kai {

struct PluginConfig {
  std::string name;
  std::map<std::string, std::string> arguments;

  // The argument's value, or `fallback`.
  std::string_view Argument(std::string_view argument, std::string_view fallback) const;
};

// What was skipped or replaced, and the path to it: members, and indices in lists.
struct ConfigWarning {
  std::vector<std::string> path;
  std::string text;
};

struct Config {
  struct ParseOptions {
    bool as_kai = false;  // sets every switch to KAI's behaviour
  };

  std::vector<std::string> actions;            // known actions, in order
  std::vector<PluginConfig> plugins;           // known plugins, in order
  std::map<std::string, int64_t> queue_depth;  // by action; -1 or missing: no limit
  SearchBudgets budgets;
  Switches switches;  // member `compat`
  Extras extras;      // member `extras`
  std::vector<ConfigWarning> warnings;
  // Policies that are functions, which JSON cannot contain. Null: none.
  std::shared_ptr<const TablePolicies> policies;

  static absl::StatusOr<Config> Parse(std::string_view json, const ParseOptions& options);

  const PluginConfig* FindPlugin(std::string_view name) const;
  bool HasPlugin(std::string_view name) const { return FindPlugin(name) != nullptr; }
  std::vector<std::string> WarningTexts() const;
  // The whole configuration, including all defaults; plugins are written as `tiers`.
  std::string ToJson() const;

  // The names of all switches (docs/compatibility.md has a row for each).
  static std::vector<std::string> CompatSwitches();
};

}  // namespace kai

#endif  // KAI_SESSION_CONFIG_H_
