#include "delivery/broker/mapped_limiter.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/owned_fd.h"
#include "holdfast/assert.h"
#include "storage/sqlite/sqlite_path.h"

namespace holdfast::delivery {

namespace {

constexpr std::size_t kProbes = 32;
constexpr std::size_t kKeyBytes = 16;
constexpr std::array<char, 8> kMagic{'H', 'F', 'L', 'I', 'M', 'I', 'T', '1'};

enum Kind : std::uint32_t { kCounter = 1, kMarker = 2 };

}  // namespace

struct MappedLimiter::Header {
  std::array<char, 8> magic;
  std::uint64_t slots;
};

// window is written last when a slot is taken and first when it is given up (0), so that a process
// that dies in between leaves a slot that is not used.
struct MappedLimiter::Slot {
  std::array<std::byte, kKeyBytes> key;
  std::uint64_t window;  // the last one it counts in; a marker lives one window longer
  std::uint32_t kind;
  std::uint32_t refused;
  std::uint64_t count;
};

MappedLimiter::MappedLimiter(void* memory, std::size_t bytes, std::size_t slots)
    : memory_(memory), bytes_(bytes), slots_(slots) {}

MappedLimiter::~MappedLimiter() { munmap(memory_, bytes_); }

Result<std::unique_ptr<MappedLimiter>> MappedLimiter::open(const std::string& path,
                                                           std::size_t slots) {
  HOLDFAST_ASSERT(slots > 0);
  const std::size_t bytes = sizeof(Header) + slots * sizeof(Slot);
  const OwnedFd file(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  struct stat status {};
  if (!file.is_open() || fstat(file.get(), &status) != 0) {
    return file_error(path, errno);
  }
  const bool fits = std::cmp_equal(status.st_size, bytes);
  if (!fits && (ftruncate(file.get(), 0) != 0 ||
                posix_fallocate(file.get(), 0, static_cast<off_t>(bytes)) != 0)) {
    return file_error(path, errno);
  }
  void* const memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
  if (memory == MAP_FAILED) {
    return file_error(path, errno);
  }
  auto* const header = static_cast<Header*>(memory);
  if (header->magic != kMagic || header->slots != slots) {
    std::memset(memory, 0, bytes);
    header->slots = slots;
    header->magic = kMagic;
  }
  return std::unique_ptr<MappedLimiter>(new MappedLimiter(memory, bytes, slots));
}

MappedLimiter::Slot* MappedLimiter::find(const Digest& key, std::uint64_t window) {
  auto* const table = reinterpret_cast<Slot*>(static_cast<Header*>(memory_) + 1);
  std::uint64_t start = 0;
  std::memcpy(&start, key.data(), sizeof(start));
  for (std::size_t i = 0; i < std::min(kProbes, slots_); ++i) {
    Slot& slot = table[(start + i) % slots_];
    if (slot.window >= window && std::equal(slot.key.begin(), slot.key.end(), key.begin())) {
      return &slot;
    }
  }
  return nullptr;
}

MappedLimiter::Slot* MappedLimiter::place(const Digest& key, std::uint64_t window) {
  auto* const table = reinterpret_cast<Slot*>(static_cast<Header*>(memory_) + 1);
  std::uint64_t start = 0;
  std::memcpy(&start, key.data(), sizeof(start));
  Slot* chosen = nullptr;
  for (std::size_t i = 0; i < std::min(kProbes, slots_); ++i) {
    Slot& slot = table[(start + i) % slots_];
    if (slot.window < window) {
      chosen = &slot;
      break;
    }
    if (slot.kind == kMarker && (chosen == nullptr || slot.window < chosen->window)) {
      chosen = &slot;
    }
  }
  if (chosen != nullptr) {
    chosen->window = 0;
    std::copy_n(key.begin(), kKeyBytes, chosen->key.begin());
    chosen->refused = 0;
    chosen->count = 0;
  }
  return chosen;
}

// Windows are numbered from 1. Time that runs backwards stays in the window of the counter.
BudgetAnswer MappedLimiter::consume(const LimitedWorkspace& workspace, const Digest& marker,
                                    TimeMs now) {
  HOLDFAST_ASSERT(workspace.window_seconds > 0 && now.value >= 0);
  using State = BudgetAnswer::State;
  const std::lock_guard lock(mutex_);
  const std::int64_t window_ms = std::int64_t{workspace.window_seconds} * 1000;
  const auto window = static_cast<std::uint64_t>(now.value / window_ms) + 1;
  const Digest counter_key = counter_key_of(workspace);
  Slot* counter = find(counter_key, window);
  const std::uint64_t counted_in = counter == nullptr ? window : counter->window;
  Slot* const known = find(marker, counted_in);
  if (known != nullptr && known->refused <= kFreeRefusals) {
    return {State::admitted, 0};
  }
  if (counter == nullptr) {
    counter = place(counter_key, window);
    if (counter == nullptr) {
      return {State::unavailable, 0};
    }
    counter->kind = kCounter;
    counter->window = window;
  }
  if (counter->count >= workspace.limit) {
    const auto end_ms = static_cast<std::int64_t>(counted_in) * window_ms;
    return {State::denied, std::max<std::int64_t>(end_ms - now.value, 1)};
  }
  ++counter->count;
  if (Slot* const taken = known == nullptr ? place(marker, counted_in) : nullptr) {
    taken->kind = kMarker;
    taken->window = counted_in + 1;
  }
  return {State::admitted, 0};
}

void MappedLimiter::note_refused(const LimitedWorkspace& workspace, const Digest& marker,
                                 TimeMs now) {
  const std::lock_guard lock(mutex_);
  const std::int64_t window_ms = std::int64_t{workspace.window_seconds} * 1000;
  if (Slot* const slot = find(marker, static_cast<std::uint64_t>(now.value / window_ms) + 1)) {
    ++slot->refused;
  }
}

}  // namespace holdfast::delivery
