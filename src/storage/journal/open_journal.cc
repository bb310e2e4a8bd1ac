#include "storage/journal/open_journal.h"

#include "storage/journal/journal_keys.h"
#include "storage/log/open_store.h"

namespace holdfast {

Result<void> check_copy_finished(Log& log) {
  HOLDFAST_TRY(const auto mark, log.get(std::string(kCopyKey)));
  if (mark.has_value()) {
    return Error{ErrorCode::unfinished_copy,
                 log.name() +
                     " is the target of a copy that did not end: run the same "
                     "'holdfast journal copy' again"};
  }
  return {};
}

Result<std::unique_ptr<Log>> open_log(std::string_view url, OpenMode mode, Clock& clock,
                                      Random& random) {
  HOLDFAST_TRY(auto store, open_store(url, mode, new_origin(make_uuid(clock.now(), random))));
  return Log::open(std::move(store));
}

Result<std::unique_ptr<Journal>> open_journal(std::string_view url, OpenMode mode, Clock& clock,
                                              Random& random) {
  HOLDFAST_TRY(auto log, open_log(url, mode, clock, random));
  return Journal::open(std::move(log));
}

}  // namespace holdfast
