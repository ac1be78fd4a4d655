// The oracle's version of shared GPUs (spec 3 G1-G8, N1-N17, S1-S9): the maps of a node as in the
// specification, which pods fit, and which devices a pod gets. Like slow_oracle.h, it is as plain
// as possible.
//
// A shared device is named by its group. A group that is first shared in this cycle has the name
// "~" and a running number, so that it sorts after all others.
//
// It lacks two weaknesses of KAI, as the engine does: devices beyond what a node offers, whatever
// its label counts (spec 3 N17), and memory of nearly two devices as one (spec 3 G5). It also lacks
// the traces of KAI's rollback (decision 0010): a copy of a world is exact.
#ifndef KAI_TESTING_ORACLE_SLOW_SHARING_H_
#define KAI_TESTING_ORACLE_SLOW_SHARING_H_

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "kai/model/columns/pod_status.h"
#include "kai/model/rows/rows.h"

namespace kai::oracle {

class World;

namespace parts {

using Groups = std::vector<std::string>;

// A node's GPUs: the GPU element of its vectors, and the maps of spec 3 N1.
struct GpuLedger {
  double idle = 0;
  double releasing = 0;
  double used = 0;   // whole GPUs
  double count = 0;  // spec 3 N5: cnt
  // The node's allocatable has GPUs; if not, whole GPUs are not tracked (spec 3 N3).
  bool is_any = true;
  std::map<std::string, int64_t> u;
  std::map<std::string, int64_t> a;  // keys are never removed: "a real task was here"
  std::map<std::string, int64_t> r;
  std::set<std::string> marked;  // counted in `releasing`
};

// A pod's part of a node's GPUs: whole GPUs, or an amount of each of these groups.
struct GpuPart {
  double whole = 0;
  Groups groups;
  int64_t mib = 0;
};
void AddToGpus(const GpuPart& part, PodStatus status, GpuLedger* ledger);       // spec 3 N4, N5
void RemoveFromGpus(const GpuPart& part, PodStatus status, GpuLedger* ledger);  // spec 3 N4, N6

double MemoryOfGpu(const NodeRow& node);                      // spec 3 G1: M
bool HasMemoryOfGpu(const NodeRow& node);                     // the memory is known
double CeilToPercent(double portion);                         // ceil2
double PortionOn(const GpuRequest& gpu, double gpu_mib);      // spec 3 G3
int64_t MibPerDevice(const GpuRequest& gpu, double gpu_mib);  // spec 3 G4: m
int64_t Devices(const GpuRequest& gpu);

bool Matches(const GpuLedger& ledger, const std::string& group, double gpu_mib,
             int64_t mib);  // spec 3 N11
bool HasIdle(const GpuLedger& ledger, const std::string& group, double gpu_mib,
             int64_t mib);  // spec 3 N12

// The GPU part of spec 3 N10, for a pod that shares. `gpus` is the GPU element of idle, or of idle
// plus releasing.
bool DevicesFit(const GpuRequest& gpu, const GpuLedger& ledger, double gpu_mib, double gpus);

// The preferences for a candidate of spec 3 S1 (spec 3 W14), from the enabled plugins.
struct DeviceTaste {
  bool pack = false;
  bool spread = false;
  bool bind_held = false;  // start on a device that is still being freed, as in KAI (spec 3 S4)
};

// spec 3 S1-S4.
struct DeviceChoice {
  bool found = false;
  Groups groups;  // "": a device that is not shared yet
  bool is_releasing = false;
};
DeviceChoice ChooseDevices(const GpuRequest& gpu, const GpuLedger& ledger, double gpu_mib,
                           const DeviceTaste& taste, bool fits_now, bool pipeline_only);

// How many pods with this request the idle, releasing and partly free devices could hold, if no
// other pods came and devices were one piece.
double SharersThatFit(const GpuRequest& gpu, const GpuLedger& ledger, double gpu_mib);

// spec 3 N13: idle and releasing amounts in devices and in MiB, without whole MIG slices.
struct GpuSums {
  double idle = 0;
  double releasing = 0;
  double mib = 0;  // idle plus releasing
};
GpuSums SumsOf(const GpuLedger& ledger, double gpu_mib);

}  // namespace parts
}  // namespace kai::oracle

#endif  // KAI_TESTING_ORACLE_SLOW_SHARING_H_
