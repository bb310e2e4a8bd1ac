#include "runs/facts/ids.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/encoding.h"
#include "base/hash.h"

namespace holdfast {

namespace {

// Names that passed check_name cannot break a thread name.
ThreadId thread_named(std::string_view prefix, std::string_view name) {
  std::string text;
  text.reserve(prefix.size() + name.size());
  text += prefix;
  text += name;
  return ThreadId::trusted(std::move(text));
}

}  // namespace

Result<RunId> parse_run_id(std::string_view text) {
  HOLDFAST_TRY(const Uuid uuid, parse_uuid(text));
  const RunId id{uuid};
  // A fact with this id would be one without a run.
  if (id.empty()) {
    return Error{ErrorCode::invalid_argument, "the id of a run cannot be all zeroes"};
  }
  return id;
}

RunId derive_run_id(std::initializer_list<std::string_view> parts) {
  std::string text;
  for (const std::string_view part : parts) {
    text += fmt::format("{}{}:{}", text.empty() ? "" : "|", part.size(), part);
  }
  const Digest digest = sha256(text);
  RunId id;
  std::copy_n(digest.begin(), id.uuid.bytes.size(), id.uuid.bytes.begin());
  id.uuid.bytes[6] = (id.uuid.bytes[6] & std::byte{0x0f}) | std::byte{0x50};
  id.uuid.bytes[8] = (id.uuid.bytes[8] & std::byte{0x3f}) | std::byte{0x80};
  return id;
}

SharedText runnable_key(const RunId& run, std::string_view step, std::uint32_t attempt_number) {
  std::string key;
  key.reserve(48 + step.size());
  append_uuid(key, run.uuid);
  key += ':';
  key += step;
  key += ':';
  key += std::to_string(attempt_number);
  return SharedText(key);
}

ThreadId run_thread(const RunId& run) {
  std::string text = "run:";
  text.reserve(40);
  append_uuid(text, run.uuid);
  return ThreadId::trusted(std::move(text));
}
ThreadId dispatch_thread(std::string_view queue) { return thread_named("dispatch:", queue); }
ThreadId index_thread(std::string_view workflow) { return thread_named("run_index:", workflow); }
ThreadId catalog_thread() { return thread_named("run_catalog:", "all"); }

}  // namespace holdfast
