// Opens the log or the journal that a URL names. A new one gets an id made of clock and random.
#pragma once

#include <memory>
#include <string_view>

#include "base/clock.h"
#include "base/random.h"
#include "storage/journal/journal.h"

namespace holdfast {

Result<std::unique_ptr<Log>> open_log(std::string_view url, OpenMode mode, Clock& clock,
                                      Random& random);
Result<std::unique_ptr<Journal>> open_journal(std::string_view url, OpenMode mode, Clock& clock,
                                              Random& random);

// unfinished_copy when the log is the target of a copy that did not end.
Result<void> check_copy_finished(Log& log);

}  // namespace holdfast
