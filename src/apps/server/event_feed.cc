#include "apps/server/event_feed.h"

#include "base/json_writer.h"
#include "base/text.h"
#include "runs/language/data/path.h"
#include "runs/run/redact.h"
#include "runs/run/run_fact.h"

namespace holdfast {

namespace {

constexpr std::size_t kChunkBytes = 64U << 10U;
constexpr std::size_t kKeptBatches = 512;
constexpr std::size_t kKnownRuns = 10'000;
constexpr std::string_view kRunPrefix = "run:";
// Facts about tokens are not sent to listeners.
constexpr std::string_view kAccessPrefix = "access:";

std::string run_of(std::string_view thread, std::string_view data) {
  if (thread.starts_with(kRunPrefix)) {
    return std::string(thread.substr(kRunPrefix.size()));
  }
  const auto run = data.starts_with('{') ? ObjectView(data).member("run_id") : std::nullopt;
  return run.has_value() ? json_string_value(*run).value_or("") : std::string();
}

std::string event_text(const EntryView& entry, Position position, std::uint32_t index,
                       const std::string& run_id) {
  JsonWriter json;
  json.begin_object().member("position", position.value);
  json.member("index", static_cast<std::uint64_t>(index)).member("thread", entry.thread);
  json.member("seq", entry.seq.value).member("kind", entry.kind).member("at", entry.at.value);
  if (!run_id.empty()) {
    json.member("run_id", run_id);
  }
  const Payload data = redact(Payload::trusted(entry.data));
  json.key("data").raw(JsonText::trusted(std::string(data.view()))).end_object();
  return "id: " + std::to_string(position.value) + "." + std::to_string(index) +
         "\nevent: " + std::string(entry.kind) + "\ndata: " + std::move(json).take() + "\n\n";
}

}  // namespace

std::optional<EventCursor> EventCursor::parse(std::string_view text) {
  const std::size_t dot = text.find('.');
  const auto position = parse_decimal(text.substr(0, dot));
  if (!position.has_value()) {
    return std::nullopt;
  }
  if (dot == std::string_view::npos) {
    return EventCursor{Position{*position}};
  }
  const auto index = parse_decimal(text.substr(dot + 1));
  if (!index.has_value() || *index > UINT32_MAX) {
    return std::nullopt;
  }
  return EventCursor{Position{*position}, static_cast<std::uint32_t>(*index)};
}

void EventFeed::reached(Position position) {
  {
    const std::scoped_lock lock(mutex_);
    if (position <= head_) {
      return;
    }
    head_ = position;
  }
  pump_.changed();
}

Position EventFeed::head() {
  const std::scoped_lock lock(mutex_);
  return head_;
}

void EventFeed::listen(std::shared_ptr<net::Stream> stream, EventFilter filter,
                       const EventCursor& after, std::function<void()> ended) {
  const auto listener = std::make_shared<Listener>(Listener{std::move(filter), after});
  pump_.add(
      std::move(stream), [this, listener] { return next_piece(*listener); }, std::move(ended));
}

Result<StreamPump::Piece> EventFeed::next_piece(Listener& listener) {
  const Position end = head();
  HOLDFAST_TRY(std::string chunk, chunk_for(listener, end));
  return StreamPump::Piece{std::move(chunk), listener.cursor < EventCursor{end}};
}

// The events of the batches after the cursor, up to the size of a chunk; advances the cursor.
Result<std::string> EventFeed::chunk_for(Listener& listener, Position head) {
  std::string chunk;
  const bool whole = listener.cursor.index == UINT32_MAX;
  Position position = whole ? listener.cursor.position.next() : listener.cursor.position;
  if (position == Position{0}) {
    position = Position{1};
  }
  constexpr std::size_t kMostBatches = 1000;
  for (std::size_t i = 0; i < kMostBatches && position <= head && chunk.size() < kChunkBytes; ++i) {
    HOLDFAST_TRY(const auto events, events_at(position));
    for (const Event& event : *events) {
      const bool seen =
          position == listener.cursor.position && event.index <= listener.cursor.index;
      if (!seen && matches(listener, event)) {
        chunk += event.text;
      }
    }
    listener.cursor = EventCursor{position};
    position = position.next();
  }
  return chunk;
}

// From the newest batches, else from the journal, which is read in order.
Result<std::shared_ptr<const EventFeed::Events>> EventFeed::events_at(Position position) {
  const auto known = newest_.find(position.value);
  if (known != newest_.end()) {
    return known->second;
  }
  if (!tail_.has_value() || tail_->next_position() != position) {
    tail_.emplace(journal_.log(), position);
  }
  HOLDFAST_TRY(const auto batches, tail_->next());
  std::shared_ptr<const Events> wanted;
  for (const Batch& batch : batches) {
    auto events = std::make_shared<Events>();
    BodyScanner scanner(batch.position, batch.body);
    for (;;) {
      HOLDFAST_TRY(const auto entry, scanner.next());
      if (!entry.has_value()) {
        break;
      }
      if (entry->thread.starts_with(kAccessPrefix)) {
        continue;
      }
      const std::uint32_t index = scanner.count() - 1;
      const std::string run = run_of(entry->thread, entry->data);
      events->push_back({index, std::string(entry->thread), std::string(entry->kind), run,
                         event_text(*entry, batch.position, index, run)});
    }
    if (batch.position == position) {
      wanted = events;
    }
    newest_[batch.position.value] = std::move(events);
  }
  // The next batches for this listener stay.
  while (newest_.size() > kKeptBatches) {
    const bool behind = newest_.begin()->first < position.value;
    newest_.erase(behind ? newest_.begin() : std::prev(newest_.end()));
  }
  if (wanted == nullptr) {
    return Error{ErrorCode::corrupt_log,
                 "batch " + std::to_string(position.value) + " does not exist"};
  }
  return wanted;
}

bool EventFeed::matches(const Listener& listener, const Event& event) {
  const EventFilter& filter = listener.filter;
  if ((!filter.kinds.empty() && !filter.kinds.contains(event.kind)) ||
      (!filter.runs.empty() && !filter.runs.contains(event.run_id)) ||
      !event.thread.starts_with(filter.thread)) {
    return false;
  }
  return filter.workflows.empty() ||
         (!event.run_id.empty() && filter.workflows.contains(workflow_of(event.run_id)));
}

std::string EventFeed::workflow_of(const std::string& run_id) {
  const auto known = workflows_.find(run_id);
  if (known != workflows_.end()) {
    return known->second;
  }
  constexpr std::size_t kFirstFacts = 4;
  const auto id = parse_run_id(run_id);
  if (!id.ok()) {
    return {};
  }
  const auto entries = journal_.load(run_thread(id.value()), Revision{0}, kFirstFacts);
  std::string workflow;
  for (const Entry& entry : entries.ok() ? entries.value() : std::vector<Entry>()) {
    if (entry.kind == RunStarted::kKind) {
      const auto started = from_json<RunStarted>(entry.data);
      workflow = started.ok() ? started.value().workflow.str() : std::string();
    }
  }
  if (workflows_.size() >= kKnownRuns) {
    workflows_.clear();
  }
  workflows_.emplace(run_id, workflow);
  return workflow;
}

}  // namespace holdfast
