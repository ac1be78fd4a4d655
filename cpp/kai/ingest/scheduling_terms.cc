#include "kai/ingest/scheduling_terms.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>

#include "kai/base/quote.h"
#include "kai/base/text.h"

namespace kai {
namespace {

// Reads a word and finds its value.
template <typename Enum, size_t kWords>
FieldStatus ReadWord(JsonValue& value,
                     const std::array<std::pair<std::string_view, Enum>, kWords>& words,
                     std::string_view what, Enum* out) {
  JsonText text;
  KAI_RETURN_IF_BAD(text.Read(value));
  for (const auto& [word, meaning] : words) {
    if (text.view() != word) continue;
    *out = meaning;
    return FieldStatus();
  }
  return FieldStatus::Bad(StrCat(Quote(text.view()), " is not ", what));
}

using OperatorWord = std::pair<std::string_view, SelectorOp>;
constexpr std::array<OperatorWord, 6> kNodeOperators = {
    {{"In", SelectorOp::kIn},
     {"NotIn", SelectorOp::kNotIn},
     {"Exists", SelectorOp::kExists},
     {"DoesNotExist", SelectorOp::kDoesNotExist},
     {"Gt", SelectorOp::kGt},
     {"Lt", SelectorOp::kLt}}};
constexpr std::array<OperatorWord, 4> kLabelOperators = {kNodeOperators[0], kNodeOperators[1],
                                                         kNodeOperators[2], kNodeOperators[3]};

FieldStatus ReadTaintEffect(JsonValue& value, TaintEffect* out) {
  using Word = std::pair<std::string_view, TaintEffect>;
  constexpr std::array<Word, 4> kEffects = {{{"NoSchedule", TaintEffect::kNoSchedule},
                                             {"NoExecute", TaintEffect::kNoExecute},
                                             {"PreferNoSchedule", TaintEffect::kPreferNoSchedule},
                                             {"", TaintEffect::kNone}}};
  return ReadWord(value, kEffects, "a taint effect", out);
}

template <size_t kOperators>
FieldStatus ReadRequirements(JsonValue& list, const std::array<OperatorWord, kOperators>& operators,
                             std::vector<SelectorRequirement>* out) {
  return ForEachElement(list, [&](JsonValue& element) {
    SelectorRequirement& requirement = out->emplace_back();
    bool has_operator = false;
    KAI_RETURN_IF_BAD(ForEachMember(element, [&](std::string_view key, JsonValue& value) {
      if (key == "key") return ReadString(value, &requirement.key);
      if (key == "values") return ReadStrings(value, &requirement.values);
      if (key != "operator") return Skip();
      has_operator = true;
      return ReadWord(value, operators, "an operator", &requirement.op);
    }));
    return has_operator ? FieldStatus() : FieldStatus::Bad("operator", "is missing");
  });
}

FieldStatus ReadPodAffinityTerm(JsonValue& term, PodAffinityTerm* out, TermLabelKeys* label_keys) {
  return ForEachMember(term, [&](std::string_view key, JsonValue& value) {
    if (key == "topologyKey") return ReadString(value, &out->topology_key);
    if (key == "namespaces") return ReadStrings(value, &out->namespaces);
    if (key == "labelSelector") return ReadLabelSelector(value, &out->selector.emplace());
    if (key == "namespaceSelector") {
      KAI_RETURN_IF_BAD(ReadLabelSelector(value, &out->namespace_selector));
      out->all_namespaces = out->namespace_selector.empty();
      return FieldStatus();
    }
    if (key == "matchLabelKeys") return ReadStrings(value, &label_keys->same);
    if (key == "mismatchLabelKeys") return ReadStrings(value, &label_keys->other);
    return Skip();
  });
}

// A list of podAffinity or podAntiAffinity.
template <typename Term, typename ReadTerm>
FieldStatus ReadAffinityTerms(JsonValue& list, TermLabelKeys::List which, std::vector<Term>* terms,
                              std::vector<TermLabelKeys>* label_keys, const ReadTerm& read) {
  terms->clear();
  std::erase_if(*label_keys, [&](const TermLabelKeys& each) { return each.list == which; });
  return ForEachElement(list, [&](JsonValue& element) {
    TermLabelKeys keys{.list = which, .term = terms->size(), .same = {}, .other = {}};
    KAI_RETURN_IF_BAD(read(element, &terms->emplace_back(), &keys));
    if (!keys.same.empty() || !keys.other.empty()) label_keys->push_back(std::move(keys));
    return FieldStatus();
  });
}

FieldStatus ReadWeight(JsonValue& value, int32_t* out) {
  int64_t weight = 0;
  KAI_RETURN_IF_BAD(ReadInt(value, &weight, kMinInt32, kMaxInt32));
  *out = static_cast<int32_t>(weight);
  return FieldStatus();
}

FieldStatus ReadWeightedTerm(JsonValue& element, WeightedPodAffinityTerm* weighted,
                             TermLabelKeys* label_keys) {
  return ForEachMember(element, [&](std::string_view member, JsonValue& part) {
    if (member == "podAffinityTerm") return ReadPodAffinityTerm(part, &weighted->term, label_keys);
    return member == "weight" ? ReadWeight(part, &weighted->weight) : Skip();
  });
}

// All of podAffinity or podAntiAffinity.
FieldStatus ReadPodAffinity(JsonValue& affinity, bool anti, PodAffinityRow* out,
                            std::vector<TermLabelKeys>* label_keys) {
  using List = TermLabelKeys::List;
  return ForEachMember(affinity, [&](std::string_view key, JsonValue& value) {
    if (key == "requiredDuringSchedulingIgnoredDuringExecution") {
      return ReadAffinityTerms(value, anti ? List::kRequiredAnti : List::kRequired,
                               anti ? &out->required_anti : &out->required, label_keys,
                               &ReadPodAffinityTerm);
    }
    if (key == "preferredDuringSchedulingIgnoredDuringExecution") {
      return ReadAffinityTerms(value, anti ? List::kPreferredAnti : List::kPreferred,
                               anti ? &out->preferred_anti : &out->preferred, label_keys,
                               &ReadWeightedTerm);
    }
    return Skip();
  });
}

// A node selector term; one without requirements matches no node.
FieldStatus ReadNodeSelectorTerm(JsonValue& element, NodeSelectorTerm* term) {
  KAI_RETURN_IF_BAD(ForEachMember(element, [&](std::string_view key, JsonValue& value) {
    if (key == "matchExpressions") {
      term->expressions.clear();
      return ReadRequirements(value, kNodeOperators, &term->expressions);
    }
    if (key == "matchFields") {
      term->fields.clear();
      return ReadRequirements(value, kNodeOperators, &term->fields);
    }
    return Skip();
  }));
  for (size_t i = 0; i < term->fields.size(); ++i) {
    if (term->fields[i].key == "metadata.name") continue;
    return FieldStatus::Bad(StrCat("matchFields[", i, "].key"),
                            StrCat(Quote(term->fields[i].key), " is not metadata.name"));
  }
  return FieldStatus();
}

FieldStatus ReadPreferredNodes(JsonValue& list, std::vector<WeightedNodeTerm>* out) {
  out->clear();
  return ForEachElement(list, [&](JsonValue& element) {
    WeightedNodeTerm& weighted = out->emplace_back();
    return ForEachMember(element, [&](std::string_view key, JsonValue& value) {
      if (key == "preference") return ReadNodeSelectorTerm(value, &weighted.term);
      return key == "weight" ? ReadWeight(value, &weighted.weight) : Skip();
    });
  });
}

FieldStatus ReadNodeAffinity(JsonValue& affinity, PodRow* row) {
  return ForEachMember(affinity, [&](std::string_view key, JsonValue& required) {
    if (key == "preferredDuringSchedulingIgnoredDuringExecution")
      return ReadPreferredNodes(required, &row->preferred_nodes);
    if (key != "requiredDuringSchedulingIgnoredDuringExecution") return Skip();
    row->has_node_affinity = true;
    return ForEachMember(required, [&](std::string_view member, JsonValue& terms) {
      return member == "nodeSelectorTerms" ? ReadNodeSelectorTerms(terms, &row->node_affinity)
                                           : Skip();
    });
  });
}

// Adds requirements for the pod's own values of these label keys.
void AddOwnValues(const std::vector<std::string>& keys, SelectorOp op, const StringPairs& labels,
                  LabelSelector* selector) {
  for (const std::string& key : keys) {
    for (const auto& [label, value] : labels) {
      if (label == key) selector->push_back({.key = key, .op = op, .values = {value}});
    }
  }
}

}  // namespace

FieldStatus ReadLabelSelector(JsonValue& selector, LabelSelector* out) {
  StringPairs labels;
  LabelSelector expressions;
  KAI_RETURN_IF_BAD(ForEachMember(selector, [&](std::string_view key, JsonValue& value) {
    if (key == "matchLabels") return ReadStringMap(value, &labels);
    if (key != "matchExpressions") return Skip();
    expressions.clear();
    return ReadRequirements(value, kLabelOperators, &expressions);
  }));
  out->clear();
  for (auto& [key, value] : labels) {
    out->push_back({.key = std::move(key), .op = SelectorOp::kIn, .values = {std::move(value)}});
  }
  std::move(expressions.begin(), expressions.end(), std::back_inserter(*out));
  return FieldStatus();
}

FieldStatus ReadNodeSelectorTerms(JsonValue& list, std::vector<NodeSelectorTerm>* out) {
  out->clear();
  return ForEachElement(list, [&](JsonValue& element) {
    NodeSelectorTerm& term = out->emplace_back();
    KAI_RETURN_IF_BAD(ReadNodeSelectorTerm(element, &term));
    // A term without requirements matches no node, so it can be dropped.
    if (term.expressions.empty() && term.fields.empty()) out->pop_back();
    return FieldStatus();
  });
}

FieldStatus ReadTaints(JsonValue& list, std::vector<Taint>* out) {
  out->clear();
  return ForEachElement(list, [&](JsonValue& element) {
    Taint& taint = out->emplace_back();
    return ForEachMember(element, [&](std::string_view key, JsonValue& value) {
      if (key == "key") return ReadString(value, &taint.key);
      if (key == "value") return ReadString(value, &taint.value);
      if (key == "effect") return ReadTaintEffect(value, &taint.effect);
      return Skip();
    });
  });
}

FieldStatus ReadTolerations(JsonValue& list, std::vector<Toleration>* out) {
  using Word = std::pair<std::string_view, bool>;
  static constexpr std::array<Word, 3> kOperators = {
      {{"Exists", true}, {"Equal", false}, {"", false}}};
  out->clear();
  return ForEachElement(list, [&](JsonValue& element) {
    Toleration& toleration = out->emplace_back();
    return ForEachMember(element, [&](std::string_view key, JsonValue& value) {
      if (key == "key") return ReadString(value, &toleration.key);
      if (key == "operator") return ReadWord(value, kOperators, "an operator", &toleration.exists);
      if (key == "value") return ReadString(value, &toleration.value);
      if (key == "effect") return ReadTaintEffect(value, &toleration.effect);
      return Skip();
    });
  });
}

FieldStatus ReadAffinity(JsonValue& affinity, PodRow* row, std::vector<TermLabelKeys>* label_keys) {
  return ForEachMember(affinity, [&](std::string_view key, JsonValue& value) {
    if (key == "nodeAffinity") return ReadNodeAffinity(value, row);
    if (key != "podAffinity" && key != "podAntiAffinity") return Skip();
    return ReadPodAffinity(value, key == "podAntiAffinity", &row->affinity, label_keys);
  });
}

void SettleLabelKeys(const std::vector<TermLabelKeys>& label_keys, PodRow* row) {
  for (const TermLabelKeys& keys : label_keys) {
    PodAffinityRow& affinity = row->affinity;
    PodAffinityTerm& term =
        keys.list == TermLabelKeys::List::kRequired       ? affinity.required[keys.term]
        : keys.list == TermLabelKeys::List::kRequiredAnti ? affinity.required_anti[keys.term]
        : keys.list == TermLabelKeys::List::kPreferred    ? affinity.preferred[keys.term].term
                                                          : affinity.preferred_anti[keys.term].term;
    if (!term.selector) continue;  // a term without a selector selects no pod
    AddOwnValues(keys.same, SelectorOp::kIn, row->labels, &*term.selector);
    AddOwnValues(keys.other, SelectorOp::kNotIn, row->labels, &*term.selector);
  }
}

FieldStatus ReadSpread(JsonValue& list, std::vector<SpreadConstraintRow>* out,
                       std::vector<std::vector<std::string>>* label_keys) {
  using Word = std::pair<std::string_view, bool>;
  static constexpr std::array<Word, 2> kActions = {
      {{"DoNotSchedule", true}, {"ScheduleAnyway", false}}};
  static constexpr std::array<Word, 2> kPolicies = {{{"Honor", true}, {"Ignore", false}}};
  out->clear();
  label_keys->clear();
  return ForEachElement(list, [&](JsonValue& element) {
    SpreadConstraintRow& row = out->emplace_back();
    std::vector<std::string>& keys = label_keys->emplace_back();
    return ForEachMember(element, [&](std::string_view key, JsonValue& value) {
      if (key == "topologyKey") return ReadString(value, &row.topology_key);
      if (key == "maxSkew") return ReadInt(value, &row.max_skew, 1, kMaxInt32);
      if (key == "minDomains") return ReadInt(value, &row.min_domains, 1, kMaxInt32);
      if (key == "labelSelector") return ReadLabelSelector(value, &row.selector.emplace());
      if (key == "matchLabelKeys") return ReadStrings(value, &keys);
      if (key == "whenUnsatisfiable") {
        return ReadWord(value, kActions, "DoNotSchedule or ScheduleAnyway", &row.required);
      }
      if (key == "nodeAffinityPolicy")
        return ReadWord(value, kPolicies, "Honor or Ignore", &row.honor_node_affinity);
      if (key == "nodeTaintsPolicy")
        return ReadWord(value, kPolicies, "Honor or Ignore", &row.honor_taints);
      return Skip();
    });
  });
}

void SettleSpreadLabelKeys(const std::vector<std::vector<std::string>>& label_keys, PodRow* row) {
  for (size_t i = 0; i < row->spread.size(); ++i) {
    std::optional<LabelSelector>& selector = row->spread[i].selector;
    if (selector) AddOwnValues(label_keys[i], SelectorOp::kIn, row->labels, &*selector);
  }
}

}  // namespace kai
