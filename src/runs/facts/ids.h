// Ids and names that the protocol cores share.
#pragma once

#include <compare>
#include <functional>
#include <string>
#include <string_view>

#include "base/fields.h"
#include "base/shared_text.h"
#include "base/uuid.h"
#include "holdfast/result.h"
#include "storage/entry/thread_id.h"

namespace holdfast {

struct RunId {
  Uuid uuid;

  [[nodiscard]] bool empty() const { return uuid == Uuid{}; }
  friend auto operator<=>(const RunId&, const RunId&) = default;
};

inline std::string to_string(const RunId& id) { return to_string(id.uuid); }
// invalid_argument when it is not a UUID, or is the nil UUID, which means "no run".
Result<RunId> parse_run_id(std::string_view text);

inline void write_value(std::string& out, const RunId& id) { write_value(out, id.uuid); }
inline bool read_value(std::string_view slice, RunId& id) { return read_value(slice, id.uuid); }

// The same parts always give the same id: a version 5 style UUID over the length-prefixed parts.
RunId derive_run_id(std::initializer_list<std::string_view> parts);

struct RunIdHash {
  // noexcept: so the maps of runs, of which there are very many, store no hash beside each key.
  std::size_t operator()(const RunId& id) const noexcept {
    return std::hash<std::string_view>{}(
        {reinterpret_cast<const char*>(id.uuid.bytes.data()), id.uuid.bytes.size()});
  }
};

inline constexpr std::string_view kDefaultQueue = "default";

// The handler of attempts that no worker claims: the engine continues their run once they are
// visible.
inline constexpr std::string_view kTimerHandler = "__timer__";

// <run>:<step>:<attempt>, the name of one attempt at one step of one run.
SharedText runnable_key(const RunId& run, std::string_view step, std::uint32_t attempt_number);

ThreadId run_thread(const RunId& run);
// The names must have passed check_name.
ThreadId dispatch_thread(std::string_view queue);
ThreadId index_thread(std::string_view workflow);
ThreadId catalog_thread();

}  // namespace holdfast
