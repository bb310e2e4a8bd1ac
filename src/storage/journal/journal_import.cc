#include <functional>
#include <istream>
#include <utility>

#include "base/encoding.h"
#include "base/json_value.h"
#include "base/text.h"
#include "storage/entry/entry.h"
#include "storage/journal/journal_transfer.h"
#include "storage/log/hash_chain.h"
#include "storage/log/open_store.h"

namespace holdfast {

namespace {

constexpr std::string_view kPositionPrefix = "{\"position\":";
constexpr std::size_t kBytesPerWrite = 4U << 20U;

Error bad_line(std::uint64_t line, std::string_view what) {
  return Error{ErrorCode::invalid_export, "line " + std::to_string(line) + ": " + std::string(what)}
      .with("line", line);
}

struct ExportEnd {
  Position position;
  std::string chain;
};

// Reads an export line by line and passes on its batches in order.
class ExportReader {
 public:
  using BatchSink = std::function<Result<void>(Batch batch)>;

  explicit ExportReader(std::istream& file) : file_(&file) {}

  Result<Uuid> read_header() {
    file_->clear();
    file_->seekg(0);
    line_number_ = 0;
    if (!next_line()) {
      return bad_line(1, "the file is empty");
    }
    auto json = Json::parse(line_);
    const auto version = json.ok() ? json.value().find("holdfast_export") : std::nullopt;
    const auto id = json.ok() ? json.value().find("log_id") : std::nullopt;
    if (!version.has_value() || !id.has_value()) {
      return bad_line(1,
                      "this is not a journal export: the first line must be "
                      "{\"holdfast_export\":1,\"log_id\":\"…\"}");
    }
    if (version->integer() != 1) {
      return Error{ErrorCode::newer_format, "the export has another version than 1"};
    }
    auto uuid = parse_uuid(id->string().value_or(""));
    return uuid.ok() ? std::move(uuid) : bad_line(1, "log_id is not a UUID");
  }

  // Must be called after read_header. Returns the end that the last line records.
  Result<ExportEnd> read_batches(const BatchSink& sink) {
    Batch batch{Position{0}, {}, {}};
    while (next_line()) {
      if (std::string_view(line_).starts_with("{\"end\":")) {
        HOLDFAST_CHECK(close_batch(batch, sink));
        return read_end(batch.position);
      }
      HOLDFAST_TRY(const Position position, take_position());
      if (position != batch.position) {
        if (position != batch.position.next()) {
          return bad_line(line_number_, "position " + std::to_string(position.value) +
                                            " does not follow " +
                                            std::to_string(batch.position.value));
        }
        HOLDFAST_CHECK(close_batch(batch, sink));
        batch = Batch{position, {}, {}};
      }
      batch.body += batch.body.empty() ? '[' : ',';
      batch.body += entry_;
      ++entries_;
    }
    return bad_line(line_number_, "the file is cut off: it has no end line");
  }

  [[nodiscard]] std::uint64_t entries() const { return entries_; }

 private:
  bool next_line() {
    ++line_number_;
    return static_cast<bool>(std::getline(*file_, line_));
  }

  Result<void> close_batch(Batch& batch, const BatchSink& sink) {
    if (batch.body.empty()) {
      return {};
    }
    batch.body += ']';
    return sink(Batch{batch.position, std::exchange(batch.body, {}), {}});
  }

  // Splits {"position":N,"thread":… into the number and the entry.
  Result<Position> take_position() {
    const std::string_view line(line_);
    const std::size_t comma = line.find(',');
    const auto position =
        line.starts_with(kPositionPrefix) && comma != std::string_view::npos
            ? parse_decimal(line.substr(kPositionPrefix.size(), comma - kPositionPrefix.size()))
            : std::nullopt;
    if (!position.has_value()) {
      return bad_line(line_number_, "an entry must begin with {\"position\":");
    }
    entry_ = "{";
    entry_ += line.substr(comma + 1);
    auto entry = BodyScanner(Position{*position}, entry_).only();
    if (!entry.ok()) {
      return bad_line(line_number_, entry.error().message());
    }
    auto data = JsonText::parse(entry.value().data);
    if (!data.ok() || data.value().view() != entry.value().data) {
      return bad_line(line_number_, "data is not compact JSON");
    }
    return Position{*position};
  }

  Result<ExportEnd> read_end(Position last) {
    auto json = Json::parse(line_);
    const auto end = json.ok() ? json.value().find("end") : std::nullopt;
    const auto position = end.has_value() ? end->find("position") : std::nullopt;
    const auto chain = end.has_value() ? end->find("chain") : std::nullopt;
    if (!position.has_value() || !chain.has_value() || position->unsigned_integer() != last.value) {
      return bad_line(line_number_, "the end line does not fit: entries are missing");
    }
    return ExportEnd{last, std::string(chain->string().value_or(""))};
  }

  std::istream* file_;
  std::string line_;
  std::string entry_;
  std::uint64_t line_number_ = 0;
  std::uint64_t entries_ = 0;
};

struct CheckedExport {
  ExportEnd end;
  std::optional<Digest> chain_at_target;  // what the export has where the target ends
};

// First pass: nothing is written before the whole file has been checked.
Result<CheckedExport> check_export(std::istream& file, const Uuid& log_id, Position target_head) {
  ExportReader reader(file);
  HOLDFAST_CHECK(reader.read_header());
  CheckedExport checked;
  Digest chain = genesis_chain(log_id);
  Position at;
  const auto visit = [&] {
    if (at == target_head) {
      checked.chain_at_target = chain;
    }
  };
  visit();
  HOLDFAST_TRY(checked.end, reader.read_batches([&](const Batch& batch) -> Result<void> {
    at = batch.position;
    chain = next_chain(chain, at, sha256(batch.body));
    visit();
    return {};
  }));
  if (to_hex(chain) != checked.end.chain) {
    return Error{ErrorCode::invalid_export,
                 "the entries do not give the chain hash of the end line: the file was changed"};
  }
  return checked;
}

// The journal at the target; empty if there is none.
Result<std::optional<LogHead>> existing_head(std::string_view to_url, const Uuid& log_id) {
  auto store = open_store(to_url, OpenMode::read, new_origin(log_id));
  if (!store.ok()) {
    if (store.error().code() == ErrorCode::not_found) {
      return std::optional<LogHead>();
    }
    return std::move(store).error();
  }
  HOLDFAST_TRY(const auto log, Log::open(std::move(store).value()));
  if (log->id() != log_id) {
    return Error{ErrorCode::already_exists,
                 log->name() + " holds another journal; import into a new store"};
  }
  return std::optional(log->head());
}

// Collects batches and writes many at a time, skipping those that the target has.
class ImportWriter {
 public:
  ImportWriter(Log& to, const ExportEnd& end, const Progress& progress)
      : to_(&to), end_(&end), progress_(&progress) {}

  Result<void> add(Batch batch) {
    if (batch.position <= to_->head().position) {
      return {};
    }
    bytes_ += batch.body.size();
    batches_.push_back(std::move(batch));
    return bytes_ < kBytesPerWrite ? Result<void>() : flush();
  }

  Result<void> flush() {
    if (!batches_.empty()) {
      HOLDFAST_CHECK(to_->append_copies(to_->head().position, batches_));
      written_ += batches_.size();
      batches_.clear();
      bytes_ = 0;
    }
    if (*progress_) {
      (*progress_)(ProgressPoint{to_->head().position.value, end_->position.value});
    }
    return {};
  }

  [[nodiscard]] std::uint64_t written() const { return written_; }

 private:
  Log* to_;
  const ExportEnd* end_;
  const Progress* progress_;
  std::vector<Batch> batches_;
  std::size_t bytes_ = 0;
  std::uint64_t written_ = 0;
};

}  // namespace

Result<TransferReport> import_journal(std::istream& file, std::string_view to_url,
                                      const Progress& progress) {
  ExportReader reader(file);
  HOLDFAST_TRY(const Uuid log_id, reader.read_header());
  HOLDFAST_TRY(const auto existing, existing_head(to_url, log_id));
  const Position target_head = existing.has_value() ? existing->position : Position{0};
  HOLDFAST_TRY(const auto checked, check_export(file, log_id, target_head));
  if (existing.has_value() && checked.chain_at_target != existing->chain) {
    return Error{ErrorCode::diverged, std::string(to_url.substr(0, to_url.find(':'))) +
                                          " target has batches that the export has not"};
  }
  HOLDFAST_TRY(auto store, open_store(to_url, OpenMode::create, new_origin(log_id)));
  HOLDFAST_TRY(const auto to, Log::open(std::move(store)));
  HOLDFAST_CHECK(reader.read_header());
  ImportWriter writer(*to, checked.end, progress);
  HOLDFAST_CHECK(reader.read_batches([&](Batch batch) { return writer.add(std::move(batch)); }));
  HOLDFAST_CHECK(writer.flush());
  if (to_hex(to->head().chain) != checked.end.chain) {
    return Error{ErrorCode::diverged, to->name() + " was changed by another process meanwhile"};
  }
  return TransferReport{.batches = writer.written(),
                        .entries = reader.entries(),
                        .side_values = 0,
                        .head = to->head().position,
                        .chain = to->head().chain};
}

}  // namespace holdfast
