// An SQLite VFS that passes everything on to the default one and fails chosen operations.
#pragma once

#include <cstdint>
#include <string>

namespace holdfast {

// crash: the process ends at a write or sync, at once and without clean-up.
enum class DiskFault : std::uint8_t { write_error, sync_error, disk_full, crash };

inline constexpr int kCrashExitCode = 99;

// Registers the VFS on first use and returns its name for SqliteOptions::vfs.
std::string fault_vfs();

// The countdown-th operation of the fault's kind from now on fails, that one alone: whoever
// swallows the error is found out. One fault at a time for the whole process.
void arm_fault(DiskFault fault, int countdown);
// Returns whether the fault struck.
bool disarm_fault();

}  // namespace holdfast
