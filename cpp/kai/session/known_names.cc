#include "kai/session/known_names.h"

#include "kai/api/extras.h"
#include "kai/api/switches.h"
#include "kai/base/text.h"
#include "kai/session/arguments.h"

namespace kai {
namespace {

template <typename List>
std::vector<std::string> Strings(const List& names) {
  return {names.begin(), names.end()};
}

}  // namespace

const KnownPlugin* FindKnownPlugin(std::string_view name) {
  const auto* found = std::find_if(kKnownPlugins.begin(), kKnownPlugins.end(),
                                   [&](const KnownPlugin& plugin) { return plugin.name == name; });
  return found == kKnownPlugins.end() ? nullptr : found;
}

std::vector<std::string_view> PluginNames() {
  std::vector<std::string_view> names;
  for (const KnownPlugin& plugin : kKnownPlugins) names.push_back(plugin.name);
  return names;
}

std::vector<std::pair<std::string, std::vector<std::string>>> ConfigNames() {
  const std::string budgets = "scenarioSearchBudgets";
  std::vector<std::pair<std::string, std::vector<std::string>>> levels = {
      {"", Strings(kConfigMembers)},
      {"actions", Strings(kActions)},
      {"tiers[]", Strings(kTierMembers)},
      {"tiers[].plugins[]", Strings(kPluginMembers)},
      {"plugins", Strings(PluginNames())},
      {"queueDepthPerAction", Strings(kActions)},
      {"compat", Strings(kSwitchNames)},
      {"extras", Strings(kExtraNames)},
      {budgets, Strings(kBudgetMembers)},
      {budgets + ".maxActionSearchDuration", Strings(kSearchingActions)},
      {budgets + ".maxGeneratorSearchDuration", Strings(kGenerators)},
      {budgets + ".maxScenarios", Strings(kScenarioCounts)},
  };
  for (const std::string_view plugin : PluginNames()) {
    const std::vector<std::string_view> arguments = ArgumentNames(plugin);
    if (arguments.empty()) continue;
    levels.emplace_back(StrCat("plugins.", plugin), Strings(arguments));
    for (const std::string_view argument : arguments) {
      const KnownArgument* known = FindKnownArgument(plugin, argument);
      if (known->choices.empty()) continue;
      levels.emplace_back(StrCat("plugins.", plugin, ".", argument), Strings(known->choices));
    }
  }
  return levels;
}

}  // namespace kai
