// kai._core: Plan.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "aftermath_rows.h"
#include "column_bytes.h"
#include "group_table.h"
#include "held_plan.h"
#include "kai/session/group_story.h"
#include "page_rows.h"
#include "plan_members.h"
#include "register.h"

namespace kai::bindings {
namespace {

namespace py = pybind11;

// Makes values of a frozen dataclass with slots. The dataclass's own __init__ calls a setter for
// each member; for 40,000 decisions that took ten times as long as the plan.
template <size_t kMembers>
class ValueMaker {
 public:
  ValueMaker(const py::handle& type, const std::array<const char*, kMembers>& names)
      : type_(py::reinterpret_borrow<py::type>(type)) {
    for (size_t i = 0; i < kMembers; ++i) slots_[i] = type_.attr(names[i]);
  }

  py::object Make(const std::array<py::handle, kMembers>& values) const {
    auto* type = reinterpret_cast<PyTypeObject*>(type_.ptr());
    auto made = py::reinterpret_steal<py::object>(type->tp_new(type, no_arguments_.ptr(), nullptr));
    if (!made) throw py::error_already_set();
    for (size_t i = 0; i < kMembers; ++i) {
      PyObject* slot = slots_[i].ptr();
      if (Py_TYPE(slot)->tp_descr_set(slot, made.ptr(), values[i].ptr()) != 0)
        throw py::error_already_set();
    }
    return made;
  }

 private:
  py::type type_;
  std::array<py::object, kMembers> slots_;
  py::tuple no_arguments_;
};

// A whole number as an int.
py::object Plain(double value) {
  if (value != std::trunc(value)) return py::float_(value);
  return py::reinterpret_steal<py::object>(PyLong_FromDouble(value));
}

// Texts that rows share, each as one Python object.
class RowTexts {
 public:
  explicit RowTexts(const CodedColumn& column) : column_(column), made_(column.texts().size()) {}

  py::object operator[](size_t row) {
    const int32_t code = column_.codes()[row];
    if (code == CodedColumn::kNone) return py::none();
    py::object& text = made_[static_cast<size_t>(code)];
    if (!text) text = ToPython(column_.texts()[static_cast<size_t>(code)]);
    return text;
  }

 private:
  const CodedColumn& column_;
  std::vector<py::object> made_;  // null: not made yet
};

constexpr std::array kPlacementMembers = {
    "pod",        "node",       "gpus",   "devices",        "portion",       "gpu_memory_mib",
    "gpu_groups", "numa_zones", "claims", "extended_claim", "topology_rank", "topology_domain"};
constexpr std::array kEvictionMembers = {"pod", "action", "for_group", "message"};
constexpr std::array kZoneMembers = {"zone", "amount"};

// Makes values for rows of decisions.
class DecisionMaker {
 public:
  // `types`: the classes of a decision to bind, to pipeline and to evict, and of a NUMA zone, whose
  // `amounts` converts a dict.
  DecisionMaker(const DecisionTable& table, const py::tuple& types)
      : table_(table),
        bind_(types[0], kPlacementMembers),
        pipeline_(types[1], kPlacementMembers),
        evict_(types[2], kEvictionMembers),
        zone_(types[3], kZoneMembers),
        amounts_(types[3].attr("amounts")),
        nodes_(table.node),
        actions_(table.action),
        groups_(table.for_group),
        messages_(table.message) {}

  py::object Make(size_t row) {
    const py::str pod = ToPython(table_.pod[row]);
    if (table_.IsEviction(row)) {
      const py::object action = actions_[row];
      const py::object group = groups_[row];
      const py::object message = messages_[row];
      return evict_.Make({pod, action, group, message});
    }
    const py::object node = nodes_[row];
    const py::object gpus = Plain(table_.gpus[row]);
    py::object devices = none_;
    py::object portion = none_;
    py::object memory_mib = none_;
    py::object gpu_groups = empty_;
    if (table_.devices[row] != 0) {
      devices = py::int_(table_.devices[row]);
      portion = Plain(table_.portion[row]);
      if (table_.gpu_memory_mib[row] != 0) memory_mib = py::int_(table_.gpu_memory_mib[row]);
      if (const auto found = table_.gpu_groups.find(row); found != table_.gpu_groups.end())
        gpu_groups = py::tuple(py::cast(found->second));
    }
    const py::object zones = Zones(row);
    const auto& maker = table_.Kind(row) == "bind" ? bind_ : pipeline_;
    return maker.Make({pod, node, gpus, devices, portion, memory_mib, gpu_groups, zones, empty_,
                       none_, none_, none_});
  }

 private:
  py::object Zones(size_t row) const {
    const auto found = table_.zones.find(row);
    if (found == table_.zones.end()) return empty_;
    py::list made;
    for (const NamedZone& each : found->second) {
      const py::str name(each.zone);
      py::dict amounts;
      for (const auto& [resource, amount] : each.amounts)
        amounts[py::str(resource)] = Plain(amount);
      const py::object kept = amounts_(amounts);
      made.append(zone_.Make({name, kept}));
    }
    return py::tuple(made);
  }

  const DecisionTable& table_;
  ValueMaker<kPlacementMembers.size()> bind_;
  ValueMaker<kPlacementMembers.size()> pipeline_;
  ValueMaker<kEvictionMembers.size()> evict_;
  ValueMaker<kZoneMembers.size()> zone_;
  py::object amounts_;
  RowTexts nodes_;
  RowTexts actions_;
  RowTexts groups_;
  RowTexts messages_;
  py::none none_;
  py::tuple empty_;
};

py::list Decisions(HeldPlan& self, size_t start, size_t stop, const py::tuple& types) {
  const DecisionTable& table = self.decisions();
  stop = std::min(stop, table.size());
  start = std::min(start, stop);
  DecisionMaker maker(table, types);
  py::list rows(stop - start);
  for (size_t row = start; row < stop; ++row) rows[row - start] = maker.Make(row);
  return rows;
}

py::tuple ColumnOf(const CodedColumn& column) {
  return py::make_tuple(BytesOf(column.codes()), column.texts());
}

py::tuple ColumnOf(const TextColumn& column) {
  return py::make_tuple(BytesOf(column.offsets()), py::bytes(column.bytes()));
}

py::dict DecisionColumns(HeldPlan& self) {
  const DecisionTable& table = self.decisions();
  py::dict columns;
  columns["kind"] = py::make_tuple(
      BytesOf(table.kind),
      std::vector<std::string>(std::begin(DecisionTable::kKinds), std::end(DecisionTable::kKinds)));
  columns["pod"] = ColumnOf(table.pod);
  columns["node"] = ColumnOf(table.node);
  columns["gpus"] = BytesOf(table.gpus);
  columns["devices"] = BytesOf(table.devices);
  columns["portion"] = BytesOf(table.portion);
  columns["gpu_memory_mib"] = BytesOf(table.gpu_memory_mib);
  columns["action"] = ColumnOf(table.action);
  columns["for_group"] = ColumnOf(table.for_group);
  columns["message"] = ColumnOf(table.message);
  CodedColumn gpu_groups;
  for (size_t row = 0; row < table.size(); ++row) {
    const auto found = table.gpu_groups.find(row);
    if (found == table.gpu_groups.end()) {
      gpu_groups.AddNone();
    } else {
      std::string joined;
      for (const std::string& group : found->second) joined += joined.empty() ? group : "," + group;
      gpu_groups.Add(joined);
    }
  }
  columns["gpu_groups"] = ColumnOf(gpu_groups);
  return columns;
}

py::dict ToPython(const Numbers& numbers) {
  py::dict named;
  for (const auto& [name, number] : numbers) named[py::str(name)] = number;
  return named;
}

py::dict GroupColumns(HeldPlan& self) {
  return self.Look([](const Plan& plan) {
    const GroupTable table = GroupTableOf(plan);
    py::dict columns;
    columns["pod_group"] = ColumnOf(table.name);
    columns["queue"] = ColumnOf(table.queue);
    columns["verdict"] = ColumnOf(table.verdict);
    columns["reason"] = ColumnOf(table.reason);
    columns["message"] = ColumnOf(table.message);
    columns["priority"] = BytesOf(table.priority);
    columns["created_ns"] = BytesOf(table.created_ns);
    for (size_t i = 0; i < GroupTable::kCounts.size(); ++i)
      columns[GroupTable::kCounts[i]] = BytesOf(table.counts[i]);
    return columns;
  });
}

py::tuple RowsOfDecisions(HeldPlan& self, size_t most) {
  const DecisionTable& table = self.decisions();
  return self.Look([&](const Plan& plan) { return DecisionRowsToPython(plan, table, most); });
}

py::tuple AccountOfPlan(HeldPlan& self) {
  return self.Look([&](const Plan& plan) { return AccountRows(plan, self.account()); });
}

py::list RowsOfGroups(HeldPlan& self, const std::vector<std::string>& names, bool evictions) {
  return self.Look([&](const Plan& plan) { return GroupRows(plan, names, evictions); });
}

py::list RowsOfPlaces(HeldPlan& self, const std::vector<std::string>& names) {
  return self.Look(
      [&](const Plan& plan) { return PlacesRows(plan, self.account(), self.config(), names); });
}

py::list RowsOfDomains(HeldPlan& self, const std::vector<std::string>& names) {
  return self.Look(
      [&](const Plan& plan) { return DomainRows(plan, self.account(), self.config(), names); });
}

py::list RowsOfHolders(HeldPlan& self, const std::vector<std::string>& names) {
  return self.Look(
      [&](const Plan& plan) { return HolderRows(plan, self.account(), self.config(), names); });
}

py::list RowsOfProtection(HeldPlan& self, const std::vector<std::string>& names) {
  return self.Look([&](const Plan& plan) { return ProtectionRows(plan, self.config(), names); });
}

py::list RowsOfPossibleNodes(HeldPlan& self, const std::string& name) {
  return self.Look([&](const Plan& plan) {
    return PossibleNodeRows(plan, self.account(), self.config(), name);
  });
}

py::tuple RowsOfHoldings(HeldPlan& self, const std::string& name) {
  return self.Look(
      [&](const Plan& plan) { return HoldingRows(plan, self.account(), self.config(), name); });
}

py::list StartAloneOf(HeldPlan& self, const std::vector<std::string>& names) {
  return self.Look([&](const Plan& plan) { return StartAlone(plan, self.config(), names); });
}

py::tuple MeasuredRowsOf(const Plan& plan, const Aftermath& after) {
  return MeasuredRows(*plan.cluster, after.measured);
}

py::list RowsOfOutlines(HeldPlan& self, const std::optional<std::vector<std::string>>& names) {
  return self.Look([&](const Plan& plan) { return OutlineRows(plan, names); });
}

std::vector<std::string> NamesOfGroupsCalled(HeldPlan& self, std::string_view name) {
  return self.Look([&](const Plan& plan) {
    std::vector<std::string> names;
    for (const PodGroupId group : GroupsCalled(*plan.cluster, name))
      names.push_back(plan.cluster->PodGroupName(group));
    return names;
  });
}

py::list RowsOfPods(HeldPlan& self, std::string_view name) {
  return self.Look([&](const Plan& plan) { return PodRows(plan, name); });
}

py::object ScoresOfPod(HeldPlan& self, const std::string& pod) {
  const auto [plan, scores] = self.ScoresOf(pod);
  return scores ? py::object(ScoreRows(*plan, *scores)) : py::none();
}

std::shared_ptr<HeldPlan> PlanWith(HeldPlan& self, const Config* config,
                                   std::optional<std::pair<std::string, std::string>> new_names) {
  HeldPlan::Change change;
  if (config != nullptr) change.config = std::make_shared<const Config>(*config);
  if (new_names) change.new_names = *std::move(new_names);
  return self.With(change);
}

}  // namespace

void RegisterPlan(py::module_& module) {
  py::class_<HeldPlan, std::shared_ptr<HeldPlan>> plan(module, "Plan", py::is_final());
  plan.def_property_readonly("warnings", &HeldPlan::warnings)
      .def_property_readonly("rejected",
                             [](const HeldPlan& self) { return ToPython(self.rejections()); })
      .def_property_readonly("decision_count", &HeldPlan::size)
      .def("decisions", &Decisions, py::arg("start"), py::arg("stop"), py::arg("types"))
      .def("decision_columns", &DecisionColumns)
      .def("group_columns", &GroupColumns)
      .def("order", [](HeldPlan& self) { return self.ReadAftermath(&OrderRows); })
      .def("nodes", [](HeldPlan& self) { return self.ReadAftermath(&NodeRows); })
      .def("measured", [](HeldPlan& self) { return self.ReadAftermath(&MeasuredRowsOf); })
      .def("find_pods", &RowsOfPods, py::arg("name"))
      .def("scores", &ScoresOfPod, py::arg("pod"))
      .def("decision_rows", &RowsOfDecisions, py::arg("most"))
      .def("account", &AccountOfPlan)
      .def("find_groups", &NamesOfGroupsCalled, py::arg("name"))
      .def("groups", &RowsOfGroups, py::arg("names"), py::kw_only(), py::arg("evictions"))
      .def("places", &RowsOfPlaces, py::arg("names"))
      .def("domains", &RowsOfDomains, py::arg("names"))
      .def("holders", &RowsOfHolders, py::arg("names"))
      .def("possible_nodes", &RowsOfPossibleNodes, py::arg("name"))
      .def("start_alone", &StartAloneOf, py::arg("names"))
      .def("decided", [](HeldPlan& self) { return self.Look(&DecidedRows); })
      .def("holdings", &RowsOfHoldings, py::arg("name"))
      .def("protection", &RowsOfProtection, py::arg("names"))
      .def("outlines", &RowsOfOutlines, py::arg("names"))
      .def("to_json", &HeldPlan::ToJson, py::arg("stamp"))
      .def("with_change", &PlanWith, py::kw_only(), py::arg("config") = nullptr,
           py::arg("new_names") = py::none())
      .def("spent_searches", [](const HeldPlan& self) { return ToPython(self.spent_searches()); })
      .def("score_keys", &HeldPlan::score_keys)
      .def("timing_ns", [](const HeldPlan& self) { return ToPython(self.timing_ns()); });
  for (const auto& [member, make] : MembersOfPlans()) {
    plan.def(std::string(member).c_str(),
             [member = member](HeldPlan& self) { return self.Member(member); });
  }
}

}  // namespace kai::bindings
