#include "guard/region/region.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

namespace kai::guard {
namespace {

constexpr int kSpins = 200;
constexpr int kSleepNs = 50'000;
constexpr int kSleepsBetweenLooks = 20;       // 1 ms
constexpr int kMostSleeps = 200'000;          // 10 s
constexpr uint64_t kNotValid = ~uint64_t{0};  // `used` of a row that has to be counted

uint64_t LockWordOf(int slot) {
  const auto owner = static_cast<uint64_t>(slot) + 1;
  return owner | (Mixed(owner) << 32);
}

// -1: no process wrote it.
int SlotOf(uint64_t lock_word) {
  const uint64_t owner = lock_word & 0xffffffff;
  if (owner == 0 || owner > kMostProcesses) return -1;
  const int slot = static_cast<int>(owner) - 1;
  return LockWordOf(slot) == lock_word ? slot : -1;
}

void Sleep(long ns) {
  const timespec time = {.tv_sec = 0, .tv_nsec = ns};
  nanosleep(&time, nullptr);
}

void Pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

size_t ReadAll(const char* path, char* text, size_t room) {
  const int descriptor = open(path, O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return 0;
  const ssize_t count = read(descriptor, text, room);
  close(descriptor);
  return count > 0 ? static_cast<size_t>(count) : 0;
}

struct Life {
  char state = '\0';     // '\0': there is no such process
  uint64_t started = 0;  // clock ticks since the machine's start
};

// Of a process in this container; 0: this one. The second field of its file is a name in
// parentheses that may hold anything; the third is the state, and the 22nd the start.
Life LifeOf(uint64_t pid) {
  char path[64] = "/proc/self/stat";
  if (pid != 0) snprintf(path, sizeof(path), "/proc/%" PRIu64 "/stat", pid);
  char text[1024];
  const size_t size = ReadAll(path, text, sizeof(text) - 1);
  text[size] = '\0';
  const char* at = strrchr(text, ')');
  if (at == nullptr || at[1] == '\0') return {};
  Life life = {at[2], 0};
  for (int field = 2; at != nullptr && field < 22; ++field) at = strchr(at + 1, ' ');
  if (at == nullptr) return life;
  for (++at; *at >= '0' && *at <= '9'; ++at)
    life.started = life.started * 10 + static_cast<uint64_t>(*at - '0');
  return life;
}

// The lock of a process ends a little before the driver has its memory back, which is before it is
// a zombie. Processes of other containers cannot be seen; for them, the lock has to do.
bool IsEnding(const Slot& slot) {
  const uint64_t pid = slot.pid.load(std::memory_order_relaxed);
  // This process's own number: that of the program before exec, whose memory the driver has back.
  if (pid == 0 || pid == static_cast<uint64_t>(getpid())) return false;
  const Life life = LifeOf(pid);
  return life.state != '\0' && life.state != 'Z' && life.state != 'X' &&
         life.started == slot.started.load(std::memory_order_relaxed);
}

}  // namespace

// ---- life of the region -------------------------------------------------------------------------

const char* Region::Attach(const char* path) {
  const char* wrong = file_.Open(path, sizeof(Layout));
  if (wrong == nullptr) {
    layout_ = static_cast<Layout*>(file_.memory());
    // A process may have ended between giving the file its size and filling it.
    if (layout_->magic.value() == 0 && !layout_->magic.IsIntact()) Fill();
    wrong = Check();
    if (RegionFile::is_lost()) wrong = "its file system has no room for it";
    file_.Unlock(RegionFile::kWhole);
  }
  if (wrong == nullptr) wrong = TakeSlot();
  if (wrong != nullptr) Forget();
  return wrong;
}

void Region::Forget() {
  file_.Forget();
  layout_ = nullptr;
  slot_ = -1;
  held_ = {};
  limits_ = {};
  cleaning_.Reset();
  adding_.Reset();
}

void Region::Fill() {
  for (Row& row : layout_->rows) {
    for (Checked* number : {&row.uuid[0], &row.uuid[1], &row.device, &row.limit, &row.total,
                            &row.used, &row.peak, &row.context}) {
      number->Set(0);
    }
  }
  for (Slot& slot : layout_->slots) {
    for (Checked& used : slot.used) used.Set(0);
  }
  layout_->version.Set(kVersion);
  layout_->magic.Set(kMagic);
}

const char* Region::Check() const {
  const Layout& layout = *layout_;
  if (layout.magic.value() != kMagic) return "it is not a file of the guard";
  if (!layout.magic.IsIntact() || !layout.version.IsIntact()) return "it is damaged";
  if (layout.version.value() != kVersion) return "it belongs to another version of the guard";
  for (const Row& row : layout.rows) {
    if (!row.device.IsIntact()) return "it is damaged";
    if (row.device.value() == 0) continue;
    const bool is_intact = row.uuid[0].IsIntact() && row.uuid[1].IsIntact() &&
                           row.limit.IsIntact() && row.total.IsIntact();
    if (!is_intact) return "it is damaged";
  }
  return nullptr;
}

const char* Region::TakeSlot() {
  for (int slot = 0; slot < kMostProcesses; ++slot) {
    if (!file_.Lock(slot)) continue;
    if (IsEnding(layout_->slots[slot])) {
      file_.Unlock(slot);
      continue;
    }
    slot_ = slot;
    GiveBack(slot);
    Slot& own = layout_->slots[slot];
    std::array<uint64_t, 2> name = {};
    ReadAll("/proc/self/comm", reinterpret_cast<char*>(name.data()), sizeof(name) - 1);
    for (size_t i = 0; i < name.size(); ++i) own.name[i].store(name[i], std::memory_order_relaxed);
    own.started.store(LifeOf(0).started, std::memory_order_relaxed);
    for (std::atomic<uint64_t>& peak : own.peak) peak.store(0, std::memory_order_relaxed);
    own.pid.store(static_cast<uint64_t>(getpid()), std::memory_order_release);
    return nullptr;
  }
  return "it has no slot left: 1,024 processes use it";
}

// The caller has the slot's lock. Its last process may have ended with locks of rows.
void Region::GiveBack(int slot) {
  Slot& left = layout_->slots[slot];
  for (Row& row : layout_->rows) {
    uint64_t its = LockWordOf(slot);
    if (row.lock.load(std::memory_order_relaxed) != its) continue;
    row.used.Set(kNotValid);
    row.lock.compare_exchange_strong(its, 0, std::memory_order_release);
  }
  for (int row = 0; row < kMostDevices; ++row) {
    const Checked& used = left.used[row];
    if (used.IsIntact() && used.value() == 0) continue;
    if (!Lock(&layout_->rows[row])) continue;
    left.used[row].Set(0);
    Recount(row);
    Unlock(&layout_->rows[row]);
  }
  left.pid.store(0, std::memory_order_relaxed);
}

void Region::Clean() {
  const Locked locked(&cleaning_);
  for (int slot = 0; slot < kMostProcesses; ++slot) {
    const bool is_taken = layout_->slots[slot].pid.load(std::memory_order_relaxed) != 0;
    if (slot == slot_ || !is_taken || !file_.Lock(slot)) continue;
    if (!IsEnding(layout_->slots[slot])) GiveBack(slot);
    file_.Unlock(slot);
  }
}

// ---- rows ---------------------------------------------------------------------------------------

int Region::FindRow(const Uuid& device) const {
  for (int row = 0; row < kMostDevices; ++row) {
    const Row& each = layout_->rows[row];
    if (each.device.value() != 0 && each.uuid[0].value() == device.words[0] &&
        each.uuid[1].value() == device.words[1]) {
      return row;
    }
  }
  return -1;
}

int Region::RowOf(const Uuid& device, uint64_t total, uint64_t limit, bool is_mig) {
  const Locked locked(&adding_);
  if (file_.WaitFor(RegionFile::kWhole) != nullptr) return -1;
  int row = -1;
  if (Check() == nullptr) {
    row = FindRow(device);
    if (row < 0) row = AddRow(device, total, limit, is_mig);
  }
  if (row >= 0) limits_[row] = layout_->rows[row].limit.value();
  file_.Unlock(RegionFile::kWhole);
  return row;
}

int Region::AddRow(const Uuid& device, uint64_t total, uint64_t limit, bool is_mig) {
  for (int row = 0; row < kMostDevices; ++row) {
    Row& free = layout_->rows[row];
    if (free.device.value() != 0) continue;
    free.uuid[0].Set(device.words[0]);
    free.uuid[1].Set(device.words[1]);
    free.limit.Set(limit);
    free.total.Set(total);
    free.used.Set(0);
    free.peak.Set(0);
    free.device.Set(is_mig ? 2 : 1);
    return row;
  }
  return -1;
}

uint64_t Region::ContextOf(int row) const {
  const Checked& context = layout_->rows[row].context;
  return context.IsIntact() ? context.value() : 0;
}

void Region::SetContext(int row, uint64_t bytes) { layout_->rows[row].context.Set(bytes); }

bool Region::BeginMeasuring() { return file_.WaitFor(RegionFile::kMeasuring) == nullptr; }
void Region::EndMeasuring() { file_.Unlock(RegionFile::kMeasuring); }

// ---- sums ---------------------------------------------------------------------------------------

bool Region::IsAlive(uint64_t lock_word) {
  const int slot = SlotOf(lock_word);
  return slot >= 0 && (slot == slot_ || file_.IsLockedByOthers(slot));
}

bool Region::Lock(Row* row) {
  const uint64_t mine = LockWordOf(slot_);
  for (int tries = 0; tries < kSpins; ++tries) {
    uint64_t seen = 0;
    if (row->lock.compare_exchange_weak(seen, mine, std::memory_order_acquire)) return true;
    Pause();
  }
  for (int sleeps = 0; sleeps < kMostSleeps; ++sleeps) {
    uint64_t seen = 0;
    if (row->lock.compare_exchange_strong(seen, mine, std::memory_order_acquire)) return true;
    Sleep(kSleepNs);
    if (sleeps % kSleepsBetweenLooks != 0 || IsAlive(seen)) continue;
    if (row->lock.compare_exchange_strong(seen, mine, std::memory_order_acquire)) {
      row->used.Set(kNotValid);  // it ended before all was written
      return true;
    }
  }
  return false;
}

void Region::Unlock(Row* row) {
  uint64_t mine = LockWordOf(slot_);
  if (!row->lock.compare_exchange_strong(mine, 0, std::memory_order_release)) {
    row->used.Set(kNotValid);  // others wrote into the lock, and two may have been inside
  }
}

// Under the row's lock. False: another process's number was changed by others.
bool Region::Recount(int row) {
  uint64_t sum = 0;
  layout_->slots[slot_].used[row].Set(held_[row]);
  for (int slot = 0; slot < kMostProcesses; ++slot) {
    const Checked& used = layout_->slots[slot].used[row];
    if (!used.IsIntact()) {
      layout_->rows[row].used.Set(kNotValid);
      return false;
    }
    sum += used.value();
  }
  layout_->rows[row].used.Set(sum);
  return true;
}

// Under the row's lock: writes what this process holds from now on. False: the sum is not known.
bool Region::Settle(int row, uint64_t held) {
  Checked& own = layout_->slots[slot_].used[row];
  Checked& sum = layout_->rows[row].used;
  const uint64_t before = held_[row];
  const bool is_known = sum.IsIntact() && sum.value() != kNotValid && sum.value() >= before &&
                        own.IsIntact() && own.value() == before;
  held_[row] = held;
  own.Set(held);
  if (!is_known) return Recount(row);
  sum.Set(sum.value() - before + held);
  return true;
}

Region::Answer Region::TryReserve(int row, uint64_t bytes) {
  Row& shared = layout_->rows[row];
  if (!Lock(&shared)) return Answer::kUnsure;
  Answer answer = Answer::kUnsure;
  if (Settle(row, held_[row])) {
    const uint64_t limit = limits_[row];
    if (!shared.limit.IsIntact() || shared.limit.value() != limit) shared.limit.Set(limit);
    const uint64_t used = shared.used.value();
    answer = used <= limit && bytes <= limit - used ? Answer::kYes : Answer::kNo;
    if (answer == Answer::kYes) {
      Settle(row, held_[row] + bytes);
      if (!shared.peak.IsIntact() || shared.peak.value() < used + bytes)
        shared.peak.Set(used + bytes);
      std::atomic<uint64_t>& peak = layout_->slots[slot_].peak[row];
      if (peak.load(std::memory_order_relaxed) < held_[row])
        peak.store(held_[row], std::memory_order_relaxed);
    }
  }
  Unlock(&shared);
  return answer;
}

bool Region::Reserve(int row, uint64_t bytes) {
  if (TryReserve(row, bytes) == Answer::kYes) return true;
  Clean();
  return TryReserve(row, bytes) == Answer::kYes;
}

void Region::Change(int row, uint64_t more, uint64_t less) {
  const bool is_locked = Lock(&layout_->rows[row]);
  const uint64_t held = held_[row] + more;
  Settle(row, less < held ? held - less : 0);
  if (is_locked) {
    Unlock(&layout_->rows[row]);
  } else {
    layout_->rows[row].used.Set(kNotValid);  // the next one that gets the lock counts
  }
}

void Region::Force(int row, uint64_t bytes) { Change(row, bytes, 0); }
void Region::Release(int row, uint64_t bytes) { Change(row, 0, bytes); }

void Region::CountRefusal(int row) {
  layout_->rows[row].refusals.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace kai::guard
