// kai._core: Feed, Drained.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "live_feed.h"
#include "plan_members.h"
#include "register.h"
#include "status.h"

namespace kai::bindings {
namespace {

namespace py = pybind11;

kai::Kind KindFor(std::string_view name) {
  const std::optional<kai::Kind> kind = KindNamed(name);
  if (!kind) {
    ThrowIfError(absl::InvalidArgumentError("plans do not use the kind " + std::string(name)),
                 WhenInvalid::kCluster);
  }
  return *kind;
}

py::tuple TakePage(LiveFeed& self, std::string_view kind, const py::bytes& data) {
  const Inbox::Page page = ValueOrThrow(
      self.inbox().TakePage(KindFor(kind), std::string_view(data)), WhenInvalid::kInput);
  return py::make_tuple(page.version, page.next, page.items);
}

py::tuple WatchBytes(LiveFeed& self, std::string_view kind, const py::bytes& data) {
  const Inbox::Progress progress = self.inbox().WatchBytes(KindFor(kind), std::string_view(data));
  return py::make_tuple(progress.version, progress.synced, py::bytes(progress.error));
}

std::vector<std::string> Behind(LiveFeed& self, std::string_view kind, const py::bytes& data) {
  return self.Look([&](Feed& feed) {
    return ValueOrThrow(feed.Behind(KindFor(kind), std::string_view(data)), WhenInvalid::kInput);
  });
}

py::list PodFactsOf(LiveFeed& self, const std::vector<std::string>& names) {
  return self.Look([&](const Feed& feed) {
    py::list all;
    for (const std::string& name : names) {
      const std::optional<PodFacts> facts = feed.PodFactsOf(name);
      if (!facts) {
        all.append(py::none());
        continue;
      }
      const PodVerdict& verdict = *facts->verdict;
      all.append(py::make_tuple(facts->uid, facts->node, verdict.status, verdict.reason,
                                verdict.message, verdict.nominated_node, facts->group,
                                facts->is_marked));
    }
    return all;
  });
}

py::list GroupFactsOf(LiveFeed& self, const std::vector<std::string>& names) {
  return self.Look([&](const Feed& feed) {
    py::list all;
    for (const std::string& name : names) {
      const GroupFacts* facts = feed.GroupFactsOf(name);
      if (facts == nullptr) {
        all.append(py::none());
        continue;
      }
      all.append(py::make_tuple(facts->uid, py::bytes(facts->conditions), facts->last_start,
                                facts->stale_since, facts->last_eviction,
                                py::bytes(facts->resources_status), facts->attained_service));
    }
    return all;
  });
}

py::list GroupStatusOf(LiveFeed& self, const std::vector<std::string>& names) {
  return self.Look([&](const Feed& feed) {
    py::list all;
    for (const std::optional<Feed::GroupStatus>& status : feed.GroupStatusOf(names)) {
      if (!status) {
        all.append(py::none());
        continue;
      }
      all.append(py::make_tuple(status->requested, status->allocated,
                                status->allocated_non_preemptible, status->is_preemptible));
    }
    return all;
  });
}

py::dict QueueStatuses(LiveFeed& self) {
  return self.Look([&](const Feed& feed) {
    py::dict all;
    for (const auto& [name, status] : feed.QueueStatuses()) {
      all[py::str(name)] =
          py::make_tuple(status.children, status.requested, status.allocated,
                         status.allocated_non_preemptible, py::bytes(status.written));
    }
    return all;
  });
}

void RegisterDrained(py::module_& module) {
  using Drained = Feed::Drained;
  py::class_<Drained>(module, "Drained", py::is_final())
      .def_property_readonly("pods",
                             [](const Drained& self) {
                               py::list pods;
                               for (const auto& [name, json] : self.pods)
                                 pods.append(py::make_tuple(name, py::bytes(json)));
                               return pods;
                             })
      .def_property_readonly(
          "gone",
          [](const Drained& self) {
            py::list gone;
            for (const Feed::Gone& each : self.gone)
              gone.append(py::make_tuple(NameOf(each.kind), each.name, each.uid));
            return gone;
          })
      .def_property_readonly(
          "failed",
          [](const Drained& self) {
            py::list failed;
            for (const Feed::Failed& each : self.failed)
              failed.append(py::make_tuple(each.name, each.uid, each.group, each.node, each.reason,
                                           each.message));
            return failed;
          })
      .def_property_readonly(
          "gpu_users",
          [](const Drained& self) {
            py::list users;
            for (const GpuUser& each : self.gpu_users)
              users.append(py::make_tuple(each.name, each.uid, each.node, each.groups, each.phase,
                                          each.is_leaving, each.is_reservation, each.device));
            return users;
          })
      .def_readonly("is_scaling_up", &Drained::is_scaling_up)
      .def_readonly("groups", &Drained::groups)
      .def_readonly("queues", &Drained::queues)
      .def_readonly("nodes", &Drained::nodes)
      .def_property_readonly("synced",
                             [](const Drained& self) {
                               py::list kinds;
                               for (const kai::Kind kind : self.synced) kinds.append(NameOf(kind));
                               return kinds;
                             })
      .def_property_readonly("rejected",
                             [](const Drained& self) { return bindings::ToPython(self.rejected); })
      .def_property_readonly(
          "shown",
          [](const Drained& self) {
            py::list shown;
            for (const ShownObjects::State& each : self.shown)
              shown.append(py::make_tuple(NameOf(each.kind), each.version, each.objects));
            return shown;
          })
      .def_property_readonly(
          "relisted",
          [](const Drained& self) {
            py::list relisted;
            for (const ShownObjects::Relisted& each : self.relisted)
              relisted.append(py::make_tuple(NameOf(each.kind), each.added, each.gone, each.changed,
                                             each.names));
            return relisted;
          })
      .def_readonly("events", &Drained::events);
}

}  // namespace

void RegisterFeed(py::module_& module) {
  RegisterDrained(module);
  py::class_<LiveFeed>(module, "Feed", py::is_final())
      .def(py::init<std::shared_ptr<LiveCluster>, std::optional<std::string>>(), py::arg("cluster"),
           py::arg("scheduler_name") = py::none())
      .def(
          "begin_list",
          [](LiveFeed& self, std::string_view kind) { self.inbox().BeginList(KindFor(kind)); },
          py::arg("kind"))
      .def("list_page", &TakePage, py::arg("kind"), py::arg("data"))
      .def(
          "end_list",
          [](LiveFeed& self, std::string_view kind) { self.inbox().EndList(KindFor(kind)); },
          py::arg("kind"))
      .def("watch_bytes", &WatchBytes, py::arg("kind"), py::arg("data"))
      .def(
          "watch_ended",
          [](LiveFeed& self, std::string_view kind) { self.inbox().WatchEnded(KindFor(kind)); },
          py::arg("kind"))
      .def_property_readonly("is_full", [](LiveFeed& self) { return self.inbox().is_full(); })
      .def("drain", &LiveFeed::Drain)
      .def(
          "show",
          [](LiveFeed& self, std::string_view kind, const py::bytes& data) {
            self.Look([&](Feed& feed) { feed.Show(KindFor(kind), std::string_view(data)); });
          },
          py::arg("kind"), py::arg("data"))
      .def("behind", &Behind, py::arg("kind"), py::arg("data"))
      .def("pod_facts", &PodFactsOf, py::arg("names"))
      .def("group_facts", &GroupFactsOf, py::arg("names"))
      .def(
          "wait_for_volumes",
          [](LiveFeed& self, const std::vector<std::string>& pods) {
            return self.Look([&](const Feed& feed) {
              std::vector<bool> wait;
              for (const std::string& pod : pods) wait.push_back(feed.WaitsForVolumes(pod));
              return wait;
            });
          },
          py::arg("pods"))
      .def("group_status", &GroupStatusOf, py::arg("names"))
      .def("queue_status", &QueueStatuses)
      .def("stranded", [](LiveFeed& self) {
        return self.Look([](const Feed& feed) { return feed.Stranded(); });
      });
}

}  // namespace kai::bindings
