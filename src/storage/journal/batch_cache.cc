#include "storage/journal/batch_cache.h"

namespace holdfast {

Result<BatchCache::Indexed> BatchCache::read(Log& log, Position position) {
  HOLDFAST_TRY(auto reader, log.read(position));
  HOLDFAST_TRY(auto batches, reader.next(ReadLimit{.max_rows = 1}));
  HOLDFAST_ASSERT(!batches.empty());
  Indexed indexed;
  indexed.body = std::make_shared<const std::string>(std::move(batches.front().body));
  BodyScanner scanner(position, *indexed.body);
  for (;;) {
    HOLDFAST_TRY(const auto view, scanner.next());
    if (!view.has_value()) {
      return indexed;
    }
    indexed.by_thread[view->thread].push_back(
        Entry{*view, position, scanner.count() - 1, indexed.body});
  }
}

Result<std::vector<Entry>> BatchCache::entries(Log& log, Position position,
                                               std::string_view thread) {
  auto known = batches_.find(position.value);
  if (known == batches_.end()) {
    HOLDFAST_TRY(Indexed read, BatchCache::read(log, position));
    bytes_ += read.body->size();
    known = batches_.emplace(position.value, std::move(read)).first;
    order_.push_back(position.value);
    while (bytes_ > max_bytes_ && order_.size() > 1) {
      const auto oldest = batches_.find(order_.front());
      bytes_ -= oldest->second.body->size();
      batches_.erase(oldest);
      order_.pop_front();
    }
  }
  const auto found = known->second.by_thread.find(thread);
  return found == known->second.by_thread.end() ? std::vector<Entry>() : found->second;
}

}  // namespace holdfast
