// The guard's functions in place of NVML's.
//
//   if (name[0] == 'n') return ReplacementInNvml(name, found);
//
// Invariants: a program that has the guard's function sees its share in each answer. Cost: a search
// in NVML's symbols. Threads: any.
#ifndef KAI_GUARD_HOOKS_REPORTS_H_
#define KAI_GUARD_HOOKS_REPORTS_H_

namespace kai::guard {

// `found`: what dlsym found for the name. Null: it is not NVML's, or the guard has none in its
// place.
void* ReplacementInNvml(const char* name, void* found);

}  // namespace kai::guard

#endif  // KAI_GUARD_HOOKS_REPORTS_H_
