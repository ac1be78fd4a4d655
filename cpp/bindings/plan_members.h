// The members of a plan as Python values: lists, dicts and tuples, by name. python/kai/_core.pyi
// describes them.
#ifndef KAI_BINDINGS_PLAN_MEMBERS_H_
#define KAI_BINDINGS_PLAN_MEMBERS_H_

#include <pybind11/pybind11.h>

#include <map>
#include <string_view>
#include <vector>

#include "kai/session/decision_table.h"
#include "kai/session/plan.h"
#include "kai/texts/reason_facts.h"

namespace kai::bindings {

using MemberOfPlan = pybind11::object (*)(const Plan& plan);
const std::map<std::string_view, MemberOfPlan>& MembersOfPlans();

// Makes a row per pod group: queue, verdict, messages, reasons, timestamps.
class GroupRowMaker {
 public:
  // `evictions`: adds a reason for each pod that is evicted.
  GroupRowMaker(const Plan& plan, bool evictions);
  pybind11::tuple Make(PodGroupId group) const;

 private:
  const Plan& plan_;
  bool evictions_;
  pybind11::object frozen_;  // converts a dict into one that cannot be changed
};

pybind11::str ToPython(std::string_view text);
// [(kind, name, field, message)]
pybind11::list ToPython(const std::vector<Rejection>& rejections);
// Dicts that cannot be changed.
pybind11::object ToPython(const Facts& facts);
// [(zone, {resource: amount})]
pybind11::list ToPython(const std::vector<NamedZone>& zones);

}  // namespace kai::bindings

#endif  // KAI_BINDINGS_PLAN_MEMBERS_H_
