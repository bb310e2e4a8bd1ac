#include "journal/open_journal.h"

#include "log/chain.h"
#include "log/open_store.h"

namespace holdfast {

StoreOrigin new_origin(const Uuid& log_id) {
  return StoreOrigin{log_id, Position{1}, genesis_chain(log_id)};
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
