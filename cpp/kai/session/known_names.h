// KnownNames: every name that a configuration may contain, in one place. The parser looks names up
// here and offers the nearest one for a mistyped name; tests mistype each.
//
//   if (Contains(kActions, name)) {
//   FindKnownPlugin(name) == nullptr   // there is no such plugin
//
// arguments.h has the arguments of plugins with their values; api/switches.h and api/extras.h have
// the switches. Invariants: kKnownPlugins begins with KAI's built-in plugins, in their order (spec
// 2 C7). Cost: tables of about twenty names. Threads: constants.
#ifndef KAI_SESSION_KNOWN_NAMES_H_
#define KAI_SESSION_KNOWN_NAMES_H_

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace kai {

// Members of a configuration (spec 2 C5), and three of our own: `plugins`, `compat` and `extras`.
// The content of `usageDBConfig` is not read.
inline constexpr std::array<std::string_view, 8> kConfigMembers = {
    "actions", "tiers",  "plugins",       "queueDepthPerAction",
    "compat",  "extras", "usageDBConfig", "scenarioSearchBudgets"};
inline constexpr std::array<std::string_view, 5> kActions = {"allocate", "consolidation", "reclaim",
                                                             "preempt", "stalegangeviction"};
inline constexpr std::array<std::string_view, 1> kTierMembers = {"plugins"};
// Members of a plugin in a tier; the `disable` members are accepted and have no effect (spec 2 C5).
inline constexpr std::array<std::string_view, 9> kPluginMembers = {"name",
                                                                   "arguments",
                                                                   "disableJobOrder",
                                                                   "disableTaskOrder",
                                                                   "disablePreemptable",
                                                                   "disableReclaimable",
                                                                   "disableQueueOrder",
                                                                   "disablePredicate",
                                                                   "disableNodeOrder"};
inline constexpr std::array<std::string_view, 5> kBudgetMembers = {
    "maxActionSearchDuration", "maxJobSearchDuration", "minJobSearchDuration",
    "maxGeneratorSearchDuration", "maxScenarios"};
// The actions of KAI that search for victims.
inline constexpr std::array<std::string_view, 4> kSearchingActions = {"default", "consolidation",
                                                                      "reclaim", "preempt"};
inline constexpr std::array<std::string_view, 3> kGenerators = {"default", "NodeLocalGreedy",
                                                                "MultiNodeGang"};
inline constexpr std::array<std::string_view, 3> kScenarioCounts = {"action", "job", "searches"};

struct KnownPlugin {
  std::string_view name;
  bool built_in = true;            // runs unless `tiers` leaves it out
  std::string_view protects = {};  // checks that are not made without it
};

inline constexpr std::array<KnownPlugin, 26> kKnownPlugins = {{
    {.name = "predicates", .protects = "selectors and taints"},
    {.name = "proportion", .protects = "limits"},
    {.name = "priority"},
    {.name = "elastic"},
    {.name = "kubeflow"},
    {.name = "ray"},
    {.name = "nodeavailability"},
    {.name = "gpusharingorder"},
    {.name = "gpupack"},
    {.name = "resourcetype"},
    {.name = "subgrouporder"},
    {.name = "taskorder"},
    {.name = "nominatednode"},
    {.name = "dynamicresources"},
    {.name = "nodeplacement"},
    {.name = "minruntime"},
    {.name = "topology"},
    {.name = "snapshot"},
    {.name = "sg-nodelocalgreedy"},
    {.name = "sg-multinodegang"},
    {.name = "podaffinity", .built_in = false},
    {.name = "gpuspread", .built_in = false},
    {.name = "numa", .built_in = false},
    {.name = "placementpolicy", .built_in = false},
    {.name = "joborder", .built_in = false},
    {.name = "reflectjoborder", .built_in = false},
}};

template <typename List>
bool Contains(const List& list, std::string_view name) {
  return std::find(list.begin(), list.end(), name) != list.end();
}

// Null if there is none of this name.
const KnownPlugin* FindKnownPlugin(std::string_view name);
std::vector<std::string_view> PluginNames();

// The known names by their place in the configuration: "" is the top level, "tiers[]" a tier,
// "plugins" the plugins by name, "plugins.numa" the arguments of one. Values from a fixed list also
// have a place: "actions", "plugins.nodeplacement.gpu".
std::vector<std::pair<std::string, std::vector<std::string>>> ConfigNames();

}  // namespace kai

#endif  // KAI_SESSION_KNOWN_NAMES_H_
