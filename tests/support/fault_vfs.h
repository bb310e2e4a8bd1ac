// An SQLite VFS that passes every call to the default VFS and fails chosen operations.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace holdfast {

// crash: the process ends before an operation that changes a file or a lock (open, write, sync,
// truncate, delete, lock, unlock), at once and without clean-up.
enum class DiskFault : std::uint8_t { write_error, sync_error, disk_full, crash };

inline constexpr int kCrashExitCode = 99;

// Registers the VFS on first use and returns its name for SqliteOptions::vfs.
std::string fault_vfs();

// Only the countdown-th operation of the fault's kind from now on fails, so that code which
// swallows the error is detected. One fault at a time for the whole process.
void arm_fault(DiskFault fault, int countdown);
// Returns whether the fault happened.
bool disarm_fault();

// From now on each change of a file lock is delayed, so that processes overlap.
void slow_down_locks(std::chrono::milliseconds delay);

}  // namespace holdfast
