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

// Finds the value that a word stands for.
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

void MarkNotBuilt(std::string_view feature, PodRow* row) {
  std::vector<std::string>& features = row->not_built;
  if (std::find(features.begin(), features.end(), feature) == features.end()) {
    features.emplace_back(feature);
  }
}

FieldStatus ReadPodAffinityTerm(JsonValue& term, PodAffinityTerm* out, PodRow* row) {
  return ForEachMember(term, [&](std::string_view key, JsonValue& value) {
    if (key == "topologyKey") return ReadString(value, &out->topology_key);
    if (key == "namespaces") return ReadStrings(value, &out->namespaces);
    if (key == "labelSelector") return ReadLabelSelector(value, &out->selector.emplace());
    if (key == "namespaceSelector") {
      LabelSelector namespaces;
      KAI_RETURN_IF_BAD(ReadLabelSelector(value, &namespaces));
      out->all_namespaces = namespaces.empty();
      // A snapshot holds no namespaces whose labels we could look at.
      if (!namespaces.empty()) MarkNotBuilt("namespace-selector", row);
      return FieldStatus();
    }
    if (key == "matchLabelKeys" || key == "mismatchLabelKeys") {
      std::vector<std::string> keys;
      KAI_RETURN_IF_BAD(ReadStrings(value, &keys));
      if (!keys.empty()) MarkNotBuilt("match-label-keys", row);
      return FieldStatus();
    }
    return Skip();
  });
}

// podAffinity or podAntiAffinity.
FieldStatus ReadPodAffinity(JsonValue& affinity, std::vector<PodAffinityTerm>* required,
                            std::vector<WeightedPodAffinityTerm>* preferred, PodRow* row) {
  return ForEachMember(affinity, [&](std::string_view key, JsonValue& value) {
    if (key == "requiredDuringSchedulingIgnoredDuringExecution") {
      required->clear();
      return ForEachElement(value, [&](JsonValue& term) {
        return ReadPodAffinityTerm(term, &required->emplace_back(), row);
      });
    }
    if (key == "preferredDuringSchedulingIgnoredDuringExecution") {
      preferred->clear();
      return ForEachElement(value, [&](JsonValue& element) {
        WeightedPodAffinityTerm& weighted = preferred->emplace_back();
        return ForEachMember(element, [&](std::string_view member, JsonValue& part) {
          if (member == "podAffinityTerm") return ReadPodAffinityTerm(part, &weighted.term, row);
          if (member != "weight") return Skip();
          int64_t weight = 0;
          KAI_RETURN_IF_BAD(ReadInt(part, &weight, kMinInt32, kMaxInt32));
          weighted.weight = static_cast<int32_t>(weight);
          return FieldStatus();
        });
      });
    }
    return Skip();
  });
}

FieldStatus ReadNodeSelectorTerms(JsonValue& list, std::vector<NodeSelectorTerm>* out) {
  out->clear();
  return ForEachElement(list, [&](JsonValue& element) {
    NodeSelectorTerm& term = out->emplace_back();
    KAI_RETURN_IF_BAD(ForEachMember(element, [&](std::string_view key, JsonValue& value) {
      if (key == "matchExpressions") {
        term.expressions.clear();
        return ReadRequirements(value, kNodeOperators, &term.expressions);
      }
      if (key == "matchFields") {
        term.fields.clear();
        return ReadRequirements(value, kNodeOperators, &term.fields);
      }
      return Skip();
    }));
    for (size_t i = 0; i < term.fields.size(); ++i) {
      if (term.fields[i].key == "metadata.name") continue;
      return FieldStatus::Bad(StrCat("matchFields[", i, "].key"),
                              StrCat(Quote(term.fields[i].key), " is not metadata.name"));
    }
    // An empty term matches no node, so it adds nothing.
    if (term.expressions.empty() && term.fields.empty()) out->pop_back();
    return FieldStatus();
  });
}

FieldStatus ReadNodeAffinity(JsonValue& affinity, PodRow* row) {
  return ForEachMember(affinity, [&](std::string_view key, JsonValue& required) {
    if (key != "requiredDuringSchedulingIgnoredDuringExecution") return Skip();
    row->has_node_affinity = true;
    return ForEachMember(required, [&](std::string_view member, JsonValue& terms) {
      return member == "nodeSelectorTerms" ? ReadNodeSelectorTerms(terms, &row->node_affinity)
                                           : Skip();
    });
  });
}

}  // namespace

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

FieldStatus ReadAffinity(JsonValue& affinity, PodRow* row) {
  return ForEachMember(affinity, [&](std::string_view key, JsonValue& value) {
    if (key == "nodeAffinity") return ReadNodeAffinity(value, row);
    PodAffinityRow& pods = row->affinity;
    if (key == "podAffinity") return ReadPodAffinity(value, &pods.required, &pods.preferred, row);
    if (key != "podAntiAffinity") return Skip();
    return ReadPodAffinity(value, &pods.required_anti, &pods.preferred_anti, row);
  });
}

}  // namespace kai
