#include "kai/session/config.h"

#include <simdjson.h>

#include <algorithm>
#include <span>
#include <utility>

#include "absl/status/status.h"
#include "kai/base/duration.h"
#include "kai/base/nearest.h"
#include "kai/base/quote.h"
#include "kai/base/status_macros.h"
#include "kai/base/text.h"
#include "kai/session/arguments.h"
#include "kai/session/known_names.h"

namespace kai {
namespace {

constexpr std::string_view kDefaultActions =
    "allocate, consolidation, reclaim, preempt, stalegangeviction";
using Path = std::vector<std::string>;

std::string Trimmed(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return std::string(text);
}

absl::Status Invalid(const std::string& message) { return absl::InvalidArgumentError(message); }

// "tiers[0].plugins[2].name"
std::string Dotted(const Path& path) {
  std::string text;
  for (const std::string& step : path) {
    if (IsDigit(step.empty() ? ' ' : step[0])) {
      StrAppend(&text, "[", step, "]");
    } else {
      StrAppend(&text, text.empty() ? "" : ".", step);
    }
  }
  return text;
}

Path Below(Path path, std::string_view step) {
  path.emplace_back(step);
  return path;
}

// Warns about an unknown name: `what` it should be, and the name in the configuration.
void WarnOfUnknown(Path path, std::string_view what, std::string_view name,
                   std::span<const std::string_view> known, Config* config) {
  config->warnings.push_back({.path = std::move(path),
                              .text = StrCat(what, " ", Quote(name), " is not known and is skipped",
                                             DidYouMean(name.substr(name.rfind('.') + 1), known))});
}

// Warns about unknown members of an object.
void CheckMembers(const simdjson::dom::object& object, const Path& path,
                  std::span<const std::string_view> known, Config* config) {
  for (const auto& [key, unused] : object) {
    if (Contains(known, key)) continue;
    const Path place = Below(path, key);
    WarnOfUnknown(place, "configuration member", Dotted(place), known, config);
  }
}

std::vector<PluginConfig> BuiltInPlugins() {
  std::vector<PluginConfig> plugins;
  for (const KnownPlugin& plugin : kKnownPlugins) {
    if (plugin.built_in) plugins.push_back({.name = std::string(plugin.name), .arguments = {}});
  }
  return plugins;
}

void ReadActions(std::string_view list, Config* config) {
  while (true) {
    const size_t comma = list.find(',');
    const std::string name = Trimmed(list.substr(0, comma));
    if (Contains(kActions, name)) {
      config->actions.push_back(name);
    } else {
      WarnOfUnknown({"actions"}, "action", name, kActions, config);
    }
    if (comma == std::string_view::npos) return;
    list.remove_prefix(comma + 1);
  }
}

// Arguments that are not given keep their value.
void ReadArguments(const simdjson::dom::object& arguments, const Path& path, PluginConfig* plugin,
                   Config* config) {
  const std::vector<std::string_view> known = ArgumentNames(plugin->name);
  for (const auto& [key, value] : arguments) {
    const std::string_view name = key;
    const KnownArgument* argument = FindKnownArgument(plugin->name, name);
    if (argument == nullptr) {
      WarnOfUnknown(Below(path, name), StrCat("plugin ", plugin->name, ": argument"), name, known,
                    config);
      continue;
    }
    std::string_view text;
    // Arguments are strings; a bare number or boolean counts as its text.
    const std::string given = value.get_string().get(text) == simdjson::SUCCESS
                                  ? std::string(text)
                                  : std::string(simdjson::minify(value));
    if (std::string problem = ArgumentProblem(*argument, given); !problem.empty())
      config->warnings.push_back({.path = Below(path, name), .text = std::move(problem)});
    plugin->arguments[std::string(name)] = given;
  }
}

absl::Status ReadTierPlugin(const simdjson::dom::element& value, const Path& path, Config* config) {
  std::string_view name;
  if (value["name"].get_string().get(name) != simdjson::SUCCESS)
    return Invalid("config: a plugin has no name");
  CheckMembers(value.get_object().value(), path, kPluginMembers, config);
  if (FindKnownPlugin(name) == nullptr) {
    WarnOfUnknown(Below(path, "name"), "plugin", name, PluginNames(), config);
    return absl::OkStatus();
  }
  PluginConfig plugin{.name = std::string(name), .arguments = {}};
  simdjson::dom::element given;
  if (value["arguments"].get(given) == simdjson::SUCCESS && !given.is_null()) {
    simdjson::dom::object arguments;
    if (given.get_object().get(arguments) != simdjson::SUCCESS)
      return Invalid(StrCat("config: arguments of plugin ", name, " are not an object"));
    ReadArguments(arguments, Below(path, "arguments"), &plugin, config);
  }
  config->plugins.push_back(std::move(plugin));
  return absl::OkStatus();
}

absl::Status ReadTiers(const simdjson::dom::element& value, Config* config) {
  simdjson::dom::array tiers;
  if (value.get_array().get(tiers) != simdjson::SUCCESS)
    return Invalid("config: tiers is not a list");
  size_t tier_index = 0;
  for (const simdjson::dom::element tier : tiers) {
    const Path path = {"tiers", StrCat(tier_index++)};
    simdjson::dom::array plugins;
    if (tier["plugins"].get_array().get(plugins) != simdjson::SUCCESS)
      return Invalid("config: a tier has no list of plugins");
    CheckMembers(tier.get_object().value(), path, kTierMembers, config);
    size_t index = 0;
    for (const simdjson::dom::element each : plugins) {
      KAI_RETURN_IF_ERROR(
          ReadTierPlugin(each, Below(Below(path, "plugins"), StrCat(index++)), config));
    }
  }
  return absl::OkStatus();
}

// "a", "a and b", "a, b and c"
std::string Listed(const std::vector<std::string>& names) {
  std::string text;
  for (size_t i = 0; i < names.size(); ++i) {
    const std::string_view before = i == 0 ? "" : i + 1 == names.size() ? " and " : ", ";
    StrAppend(&text, before, names[i]);
  }
  return text;
}

// Only the plugins in `tiers` run, so the checks of missing plugins are not made; warns about them.
void WarnOfProtectionLeftOut(Config* config) {
  constexpr size_t kFew = 3;
  std::vector<std::string> running;
  for (const PluginConfig& plugin : config->plugins) running.push_back(plugin.name);
  std::vector<std::string> missing;
  std::vector<std::string> unchecked;
  for (const KnownPlugin& plugin : kKnownPlugins) {
    if (plugin.protects.empty() || config->HasPlugin(plugin.name)) continue;
    missing.emplace_back(plugin.name);
    unchecked.emplace_back(plugin.protects);
  }
  if (missing.empty()) return;
  const std::string which = running.empty()          ? "none"
                            : running.size() <= kFew ? StrCat("only ", Listed(running))
                                                     : StrCat("without ", Listed(missing));
  std::string lost;
  for (const std::string& each : unchecked) lost = StrCat(each, lost.empty() ? "" : ", ", lost);
  config->warnings.push_back(
      {.path = {"tiers"}, .text = StrCat("plugins: ", which, "; ", lost, " are not checked")});
}

// Changes the default plugins: arguments by name, or whether a plugin runs at all.
absl::Status ReadPlugins(const simdjson::dom::element& value, Config* config) {
  simdjson::dom::object plugins;
  if (value.get_object().get(plugins) != simdjson::SUCCESS)
    return Invalid(
        "config: plugins is not an object such as {\"nodeplacement\": {\"gpu\": \"spread\"}}");
  for (const auto& [key, each] : plugins) {
    const std::string name(key);
    if (FindKnownPlugin(name) == nullptr) {
      WarnOfUnknown({"plugins", name}, "plugin", name, PluginNames(), config);
      continue;
    }
    simdjson::dom::object arguments;
    bool runs = true;
    const bool has_arguments = each.get_object().get(arguments) == simdjson::SUCCESS;
    if (!has_arguments && !each.is_null() && each.get_bool().get(runs) != simdjson::SUCCESS)
      return Invalid(
          StrCat("config: plugins.", name, " must be an object of arguments, true or false"));
    if (!runs) {
      std::erase_if(config->plugins,
                    [&](const PluginConfig& plugin) { return plugin.name == name; });
      continue;
    }
    auto plugin = std::ranges::find(config->plugins, name, &PluginConfig::name);
    if (plugin == config->plugins.end())
      plugin = config->plugins.insert(plugin, {.name = name, .arguments = {}});
    if (has_arguments) ReadArguments(arguments, {"plugins", name}, &*plugin, config);
  }
  return absl::OkStatus();
}

absl::Status ReadQueueDepth(const simdjson::dom::element& value, Config* config) {
  simdjson::dom::object depths;
  if (value.get_object().get(depths) != simdjson::SUCCESS)
    return Invalid("config: queueDepthPerAction is not an object");
  for (const auto& [action, each] : depths) {
    int64_t depth = 0;
    // KAI crashes on 0 and below -1 (spec 2 C9); this is an error instead.
    if (each.get_int64().get(depth) != simdjson::SUCCESS || depth < -1 || depth == 0) {
      return Invalid(StrCat("config: queueDepthPerAction of ", action,
                            " must be a whole number above 0, or -1 for no bound"));
    }
    if (!Contains(kActions, action)) {
      WarnOfUnknown({"queueDepthPerAction", std::string(action)}, "queueDepthPerAction: action",
                    action, kActions, config);
      continue;
    }
    config->queue_depth[std::string(action)] = depth;
  }
  return absl::OkStatus();
}

absl::Status ReadCompat(const simdjson::dom::element& value, Config* config) {
  simdjson::dom::object switches;
  if (value.get_object().get(switches) != simdjson::SUCCESS)
    return Invalid("config: compat is not an object");
  for (const auto& [name, each] : switches) {
    std::string_view setting;
    if (each.get_string().get(setting) != simdjson::SUCCESS ||
        (setting != "fixed" && setting != "kai")) {
      return Invalid(StrCat("config: compat.", name, " must be \"fixed\" or \"kai\""));
    }
    const auto* found = std::find(kSwitchNames.begin(), kSwitchNames.end(), name);
    if (found == kSwitchNames.end()) {
      WarnOfUnknown({"compat", std::string(name)}, "compat switch", name, kSwitchNames, config);
    } else {
      config->switches.Set(static_cast<Switch>(found - kSwitchNames.begin()), setting == "fixed");
    }
  }
  return absl::OkStatus();
}

absl::Status ReadExtras(const simdjson::dom::element& value, Config* config) {
  simdjson::dom::object switches;
  if (value.get_object().get(switches) != simdjson::SUCCESS)
    return Invalid("config: extras is not an object");
  for (const auto& [name, each] : switches) {
    bool on = false;
    if (each.get_bool().get(on) != simdjson::SUCCESS)
      return Invalid(StrCat("config: extras.", name, " must be true or false"));
    const auto* found = std::find(kExtraNames.begin(), kExtraNames.end(), name);
    if (found == kExtraNames.end()) {
      WarnOfUnknown({"extras", std::string(name)}, "extra", name, kExtraNames, config);
    } else {
      config->extras.Set(static_cast<Extra>(found - kExtraNames.begin()), on);
    }
  }
  return absl::OkStatus();
}

std::string BudgetField(std::string_view member, std::string_view name = "") {
  return StrCat("scenarioSearchBudgets.", member, name.empty() ? "" : ".", name);
}

absl::Status ReadBudget(const simdjson::dom::element& value, const std::string& field,
                        int64_t* nanos) {
  std::string_view text;
  if (value.get_string().get(text) != simdjson::SUCCESS)
    return Invalid(StrCat("config: ", field, " must be a duration such as \"30s\""));
  const absl::StatusOr<int64_t> parsed = ParseDuration(text);
  if (!parsed.ok())
    return Invalid(StrCat("config: ", field, ": ", std::string(parsed.status().message())));
  if (*parsed < 0) return Invalid(StrCat("config: ", field, " must not be negative"));
  *nanos = *parsed;
  return absl::OkStatus();
}

// Limits by name; one that is not given keeps its default (spec 2 V4).
absl::Status ReadBudgets(const simdjson::dom::element& value, std::string_view member,
                         SearchBudgets::ByName* limits) {
  simdjson::dom::object object;
  if (value.get_object().get(object) != simdjson::SUCCESS)
    return Invalid(StrCat("config: ", BudgetField(member), " is not an object"));
  for (const auto& [name, each] : object) {
    if (!each.is_null())
      KAI_RETURN_IF_ERROR(
          ReadBudget(each, BudgetField(member, name), &(*limits)[std::string(name)]));
  }
  return absl::OkStatus();
}

absl::Status ReadReplay(const simdjson::dom::element& value, const std::string& field,
                        SearchBudgets* budgets) {
  if (value.is_null()) return absl::OkStatus();
  simdjson::dom::object searches;
  if (value.get_object().get(searches) != simdjson::SUCCESS)
    return Invalid(StrCat("config: ", field, " is not an object"));
  budgets->searches.emplace();
  for (const auto& [name, each] : searches) {
    int64_t count = 0;
    if (each.get_int64().get(count) != simdjson::SUCCESS || count < SearchBudgets::kNotBegun) {
      return Invalid(StrCat("config: ", field, ".", name, " must be a whole number, -1 or above"));
    }
    (*budgets->searches)[std::string(name)] = count;
  }
  return absl::OkStatus();
}

absl::Status ReadScenarioCounts(const simdjson::dom::element& value, std::string_view member,
                                Config* config) {
  simdjson::dom::object counts;
  if (value.get_object().get(counts) != simdjson::SUCCESS)
    return Invalid(StrCat("config: ", BudgetField(member), " is not an object"));
  for (const auto& [name, each] : counts) {
    if (name == "searches") {
      KAI_RETURN_IF_ERROR(ReadReplay(each, BudgetField(member, name), &config->budgets));
      continue;
    }
    int64_t* count = name == "action" ? &config->budgets.action_scenarios
                     : name == "job"  ? &config->budgets.job_scenarios
                                      : nullptr;
    if (count == nullptr) {
      WarnOfUnknown({"scenarioSearchBudgets", std::string(member), std::string(name)},
                    "configuration member", BudgetField(member, name), kScenarioCounts, config);
    } else if (!each.is_null() &&
               (each.get_int64().get(*count) != simdjson::SUCCESS || *count < 0)) {
      return Invalid(
          StrCat("config: ", BudgetField(member, name), " must be a whole number, 0 or above"));
    }
  }
  return absl::OkStatus();
}

// Reports KAI's errors once, and not in every cycle (spec 2 C3, V4).
absl::Status ReadSearchBudgets(const simdjson::dom::element& value, Config* config) {
  simdjson::dom::object members;
  if (value.get_object().get(members) != simdjson::SUCCESS)
    return Invalid("config: scenarioSearchBudgets is not an object");
  SearchBudgets& budgets = config->budgets;
  for (const auto& [member, each] : members) {
    if (each.is_null()) continue;
    if (member == "maxActionSearchDuration") {
      KAI_RETURN_IF_ERROR(ReadBudgets(each, member, &budgets.action_ns));
    } else if (member == "maxJobSearchDuration") {
      KAI_RETURN_IF_ERROR(ReadBudget(each, BudgetField(member), &budgets.job_ns));
    } else if (member == "minJobSearchDuration") {
      KAI_RETURN_IF_ERROR(ReadBudget(each, BudgetField(member), &budgets.min_job_ns));
    } else if (member == "maxGeneratorSearchDuration") {
      KAI_RETURN_IF_ERROR(ReadBudgets(each, member, &budgets.generator_ns));
    } else if (member == "maxScenarios") {
      KAI_RETURN_IF_ERROR(ReadScenarioCounts(each, member, config));
    } else {
      WarnOfUnknown({"scenarioSearchBudgets", std::string(member)}, "configuration member",
                    BudgetField(member), kBudgetMembers, config);
    }
  }
  std::erase_if(budgets.action_ns, [&](const auto& limit) {
    const std::string& action = limit.first;
    if (Contains(kSearchingActions, action)) return false;
    config->warnings.push_back(
        {.path = {"scenarioSearchBudgets", "maxActionSearchDuration", action},
         .text = StrCat(BudgetField("maxActionSearchDuration", action),
                        ": there is no such search, and it is skipped",
                        DidYouMean(action, kSearchingActions))});
    return true;
  });
  for (const auto& [generator, unused] : budgets.generator_ns) {
    if (!Contains(kGenerators, generator)) {
      return Invalid(StrCat("config: ", BudgetField("maxGeneratorSearchDuration", generator),
                            ": there is no such generator; known are default, NodeLocalGreedy and "
                            "MultiNodeGang",
                            DidYouMean(generator, kGenerators)));
    }
  }
  if (budgets.job_ns != 0 && budgets.min_job_ns >= budgets.job_ns) {
    return Invalid(
        "config: scenarioSearchBudgets.minJobSearchDuration must be below maxJobSearchDuration");
  }
  return absl::OkStatus();
}

bool IsGiven(const simdjson::dom::object& object, std::string_view key,
             simdjson::dom::element* value) {
  return object[key].get(*value) == simdjson::SUCCESS && !value->is_null();
}

std::string Quoted(std::string_view text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') quoted.push_back('\\');
    if (static_cast<unsigned char>(c) < 0x20) {
      constexpr std::string_view kHex = "0123456789abcdef";
      StrAppend(&quoted, "\\u00", kHex[static_cast<unsigned char>(c) >> 4],
                kHex[static_cast<unsigned char>(c) & 15]);
    } else {
      quoted.push_back(c);
    }
  }
  quoted.push_back('"');
  return quoted;
}

// The given arguments, and the defaults of the others.
std::map<std::string, std::string> AllArguments(const PluginConfig& plugin) {
  std::map<std::string, std::string> arguments = plugin.arguments;
  for (const std::string_view name : ArgumentNames(plugin.name)) {
    const std::string_view fallback = FindKnownArgument(plugin.name, name)->fallback;
    if (!fallback.empty()) arguments.try_emplace(std::string(name), fallback);
  }
  return arguments;
}

std::string LimitsJson(const SearchBudgets::ByName& limits) {
  std::string json = "{";
  for (const auto& [name, nanos] : limits) {
    StrAppend(&json, json.size() == 1 ? "" : ",", Quoted(name), ":", Quoted(FormatDuration(nanos)));
  }
  return json + "}";
}

std::string BudgetsJson(const SearchBudgets& budgets) {
  std::string json =
      StrCat("{\"maxActionSearchDuration\":", LimitsJson(budgets.action_ns),
             ",\"maxJobSearchDuration\":", Quoted(FormatDuration(budgets.job_ns)),
             ",\"minJobSearchDuration\":", Quoted(FormatDuration(budgets.min_job_ns)),
             ",\"maxGeneratorSearchDuration\":", LimitsJson(budgets.generator_ns));
  std::string counts;
  for (const auto& [name, count] :
       {std::pair("action", budgets.action_scenarios), std::pair("job", budgets.job_scenarios)}) {
    if (count == SearchBudgets::kUnlimitedScenarios) continue;
    StrAppend(&counts, counts.empty() ? "" : ",", Quoted(name), ":", count);
  }
  if (budgets.searches) {
    std::string searches;
    for (const auto& [name, count] : *budgets.searches)
      StrAppend(&searches, searches.empty() ? "" : ",", Quoted(name), ":", count);
    StrAppend(&counts, counts.empty() ? "" : ",", "\"searches\":{", searches, "}");
  }
  if (!counts.empty()) StrAppend(&json, ",\"maxScenarios\":{", counts, "}");
  return json + "}";
}

}  // namespace

std::string_view PluginConfig::Argument(std::string_view argument,
                                        std::string_view fallback) const {
  const auto found = arguments.find(std::string(argument));
  return found == arguments.end() ? fallback : std::string_view(found->second);
}

std::vector<std::string> Config::CompatSwitches() {
  return {kSwitchNames.begin(), kSwitchNames.end()};
}

absl::StatusOr<Config> Config::Parse(std::string_view json, const ParseOptions& options) {
  Config config;
  for (size_t which = 0; which < kSwitches; ++which)
    config.switches.Set(static_cast<Switch>(which), !options.as_kai);
  if (json.empty() || json == "null") {
    ReadActions(kDefaultActions, &config);
    config.plugins = BuiltInPlugins();
    return config;
  }
  simdjson::dom::parser parser;
  simdjson::dom::object object;
  if (parser.parse(json.data(), json.size()).get_object().get(object) != simdjson::SUCCESS) {
    return Invalid("config: not a JSON object");
  }
  CheckMembers(object, {}, kConfigMembers, &config);
  simdjson::dom::element value;
  std::string_view actions = kDefaultActions;
  if (IsGiven(object, "actions", &value) && value.get_string().get(actions) != simdjson::SUCCESS) {
    return Invalid("config: actions is not a string such as \"allocate, reclaim\"");
  }
  ReadActions(actions, &config);
  if (IsGiven(object, "tiers", &value)) {
    KAI_RETURN_IF_ERROR(ReadTiers(value, &config));
    WarnOfProtectionLeftOut(&config);
  } else {
    config.plugins = BuiltInPlugins();
  }
  if (IsGiven(object, "plugins", &value)) KAI_RETURN_IF_ERROR(ReadPlugins(value, &config));
  if (IsGiven(object, "queueDepthPerAction", &value))
    KAI_RETURN_IF_ERROR(ReadQueueDepth(value, &config));
  if (IsGiven(object, "compat", &value)) KAI_RETURN_IF_ERROR(ReadCompat(value, &config));
  if (IsGiven(object, "extras", &value)) KAI_RETURN_IF_ERROR(ReadExtras(value, &config));
  if (IsGiven(object, "scenarioSearchBudgets", &value))
    KAI_RETURN_IF_ERROR(ReadSearchBudgets(value, &config));
  return config;
}

const PluginConfig* Config::FindPlugin(std::string_view name) const {
  const auto found = std::find_if(plugins.begin(), plugins.end(),
                                  [&](const PluginConfig& plugin) { return plugin.name == name; });
  return found == plugins.end() ? nullptr : &*found;
}

std::vector<std::string> Config::WarningTexts() const {
  std::vector<std::string> texts;
  for (const ConfigWarning& warning : warnings) texts.push_back(warning.text);
  return texts;
}

std::string Config::ToJson() const {
  std::string json = "{\"actions\":\"";
  for (size_t i = 0; i < actions.size(); ++i) StrAppend(&json, i == 0 ? "" : ", ", actions[i]);
  json += "\",\"tiers\":[{\"plugins\":[";
  for (size_t i = 0; i < plugins.size(); ++i) {
    StrAppend(&json, i == 0 ? "" : ",", "{\"name\":", Quoted(plugins[i].name), ",\"arguments\":{");
    bool first = true;
    for (const auto& [key, value] : AllArguments(plugins[i])) {
      StrAppend(&json, first ? "" : ",", Quoted(key), ":", Quoted(value));
      first = false;
    }
    json += "}}";
  }
  json += "]}],\"queueDepthPerAction\":{";
  bool first = true;
  for (const auto& [action, depth] : queue_depth) {
    StrAppend(&json, first ? "" : ",", Quoted(action), ":", depth);
    first = false;
  }
  StrAppend(&json, "},\"scenarioSearchBudgets\":", BudgetsJson(budgets), ",\"compat\":{");
  for (size_t i = 0; i < kSwitches; ++i) {
    StrAppend(&json, i == 0 ? "" : ",", Quoted(kSwitchNames[i]), ":",
              switches.on(static_cast<Switch>(i)) ? "\"fixed\"" : "\"kai\"");
  }
  json += "},\"extras\":{";
  for (size_t i = 0; i < kExtras; ++i) {
    StrAppend(&json, i == 0 ? "" : ",", Quoted(kExtraNames[i]), ":",
              extras.on(static_cast<Extra>(i)) ? "true" : "false");
  }
  json += "}}";
  return json;
}

}  // namespace kai
