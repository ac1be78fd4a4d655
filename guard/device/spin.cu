// A kernel that takes so long, for speed.cc. Compiled to code for all devices (spin.fatbin).
extern "C" __global__ void spin(long long ns) {
  if (ns == 0) return;
  unsigned long long start = 0, now = 0;
  asm volatile("mov.u64 %0, %globaltimer;" : "=l"(start));
  do {
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
  } while (now - start < static_cast<unsigned long long>(ns));
}
