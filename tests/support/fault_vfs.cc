#include "tests/support/fault_vfs.h"

#include <poll.h>
#include <sqlite3.h>
#include <unistd.h>

#include <atomic>
#include <cstring>

#include "holdfast/assert.h"

namespace holdfast {

namespace {

std::atomic<bool> armed = false;
std::atomic<int> countdown = 0;
std::atomic<bool> struck = false;
DiskFault armed_fault = DiskFault::write_error;

std::atomic<int> lock_delay_ms = 0;

enum class Operation : std::uint8_t { write, sync, other };

bool strikes(Operation operation) {
  const bool wanted =
      armed_fault == DiskFault::crash ||
      operation == (armed_fault == DiskFault::sync_error ? Operation::sync : Operation::write);
  if (!armed || struck || !wanted || --countdown > 0) {
    return false;
  }
  if (armed_fault == DiskFault::crash) {
    _exit(kCrashExitCode);
  }
  struck = true;
  return true;
}

// For operations that can only be hit by a crash.
void may_crash() { static_cast<void>(strikes(Operation::other)); }

void change_lock() {
  may_crash();
  if (lock_delay_ms > 0) {
    poll(nullptr, 0, lock_delay_ms);
  }
}

struct FaultFile {
  sqlite3_file base;
  sqlite3_file* real() { return reinterpret_cast<sqlite3_file*>(this + 1); }
};

sqlite3_file* real(sqlite3_file* file) { return reinterpret_cast<FaultFile*>(file)->real(); }

sqlite3_vfs* default_vfs = nullptr;

int fault_write(sqlite3_file* file, const void* data, int size, sqlite3_int64 offset) {
  if (strikes(Operation::write)) {
    return armed_fault == DiskFault::disk_full ? SQLITE_FULL : SQLITE_IOERR_WRITE;
  }
  return real(file)->pMethods->xWrite(real(file), data, size, offset);
}

int fault_sync(sqlite3_file* file, int flags) {
  if (strikes(Operation::sync)) {
    return SQLITE_IOERR_FSYNC;
  }
  return real(file)->pMethods->xSync(real(file), flags);
}

// Everything else is passed through.
const sqlite3_io_methods* methods() {
  static const sqlite3_io_methods kMethods = [] {
    sqlite3_io_methods m{};
    m.iVersion = 3;
    m.xClose = [](sqlite3_file* f) { return real(f)->pMethods->xClose(real(f)); };
    m.xRead = [](sqlite3_file* f, void* data, int size, sqlite3_int64 offset) {
      return real(f)->pMethods->xRead(real(f), data, size, offset);
    };
    m.xWrite = fault_write;
    m.xTruncate = [](sqlite3_file* f, sqlite3_int64 size) {
      may_crash();
      return real(f)->pMethods->xTruncate(real(f), size);
    };
    m.xSync = fault_sync;
    m.xFileSize = [](sqlite3_file* f, sqlite3_int64* size) {
      return real(f)->pMethods->xFileSize(real(f), size);
    };
    m.xLock = [](sqlite3_file* f, int level) {
      change_lock();
      return real(f)->pMethods->xLock(real(f), level);
    };
    m.xUnlock = [](sqlite3_file* f, int level) {
      change_lock();
      return real(f)->pMethods->xUnlock(real(f), level);
    };
    m.xCheckReservedLock = [](sqlite3_file* f, int* out) {
      return real(f)->pMethods->xCheckReservedLock(real(f), out);
    };
    m.xFileControl = [](sqlite3_file* f, int op, void* arg) {
      return real(f)->pMethods->xFileControl(real(f), op, arg);
    };
    m.xSectorSize = [](sqlite3_file* f) { return real(f)->pMethods->xSectorSize(real(f)); };
    m.xDeviceCharacteristics = [](sqlite3_file* f) {
      return real(f)->pMethods->xDeviceCharacteristics(real(f));
    };
    m.xShmMap = [](sqlite3_file* f, int page, int size, int extend, void volatile** out) {
      return real(f)->pMethods->xShmMap(real(f), page, size, extend, out);
    };
    m.xShmLock = [](sqlite3_file* f, int offset, int count, int flags) {
      return real(f)->pMethods->xShmLock(real(f), offset, count, flags);
    };
    m.xShmBarrier = [](sqlite3_file* f) { real(f)->pMethods->xShmBarrier(real(f)); };
    m.xShmUnmap = [](sqlite3_file* f, int remove) {
      return real(f)->pMethods->xShmUnmap(real(f), remove);
    };
    m.xFetch = [](sqlite3_file* f, sqlite3_int64 offset, int size, void** out) {
      return real(f)->pMethods->xFetch(real(f), offset, size, out);
    };
    m.xUnfetch = [](sqlite3_file* f, sqlite3_int64 offset, void* page) {
      return real(f)->pMethods->xUnfetch(real(f), offset, page);
    };
    return m;
  }();
  return &kMethods;
}

int fault_open(sqlite3_vfs*, const char* name, sqlite3_file* file, int flags, int* out_flags) {
  std::memset(file, 0, sizeof(FaultFile));
  may_crash();
  const int code = default_vfs->xOpen(default_vfs, name, real(file), flags, out_flags);
  if (real(file)->pMethods != nullptr) {
    file->pMethods = methods();
  }
  return code;
}

}  // namespace

std::string fault_vfs() {
  static sqlite3_vfs vfs = [] {
    default_vfs = sqlite3_vfs_find(nullptr);
    HOLDFAST_ASSERT(default_vfs != nullptr);
    sqlite3_vfs copy = *default_vfs;
    copy.zName = "holdfast_fault";
    copy.szOsFile = static_cast<int>(sizeof(FaultFile)) + default_vfs->szOsFile;
    copy.xOpen = fault_open;
    copy.xDelete = [](sqlite3_vfs*, const char* name, int sync_folder) {
      may_crash();
      return default_vfs->xDelete(default_vfs, name, sync_folder);
    };
    copy.pNext = nullptr;
    return copy;
  }();
  HOLDFAST_ASSERT(sqlite3_vfs_register(&vfs, 0) == SQLITE_OK);
  return vfs.zName;
}

void arm_fault(DiskFault fault, int count) {
  armed_fault = fault;
  countdown = count;
  struck = false;
  armed = true;
}

void slow_down_locks(std::chrono::milliseconds delay) {
  lock_delay_ms = static_cast<int>(delay.count());
}

bool disarm_fault() {
  armed = false;
  return struck;
}

}  // namespace holdfast
