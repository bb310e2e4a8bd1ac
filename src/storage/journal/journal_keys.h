// The keys of the side store.
//   seal/<from>               which positions a seal covers and in which segments they are
//   segment/<thread>/<seq>    entries of one thread from seq on
//   thread/<thread>           how many entries of the thread are sealed
//   checkpoint/<thread>       the caller's checkpoint of a thread
//   directory                 the journal's own checkpoint
//   copy                      there while the journal is the target of an unfinished copy
// Numbers are 16 hex digits, so keys sort by them.
#pragma once

#include <string>
#include <string_view>

#include "storage/entry/position.h"
#include "storage/entry/thread_id.h"

namespace holdfast {

inline constexpr std::string_view kSealPrefix = "seal/";
inline constexpr std::string_view kThreadPrefix = "thread/";
inline constexpr std::string_view kDirectoryKey = "directory";
inline constexpr std::string_view kCopyKey = "copy";

std::string seal_key(Position from);
std::string segment_prefix(std::string_view thread);
std::string segment_key(std::string_view thread, Revision first);
std::string thread_key(std::string_view thread);
std::string checkpoint_key(std::string_view thread);

// The number of sealed entries of a thread, as stored under thread_key.
std::string pack_sealed_revision(Revision revision);
Result<Revision> unpack_sealed_revision(std::string_view thread, std::string_view bytes);

}  // namespace holdfast
