#include <ostream>

#include "base/hash.h"
#include "storage/entry/entry.h"
#include "storage/journal/journal_transfer.h"

namespace holdfast {

namespace {

Result<std::uint32_t> export_batch(const Batch& batch, std::string& out) {
  const std::string begin = "{\"position\":" + std::to_string(batch.position.value) + ",";
  BodyScanner scanner(batch.position, batch.body);
  for (;;) {
    HOLDFAST_TRY(const auto entry, scanner.next());
    if (!entry.has_value()) {
      return scanner.count();
    }
    out += begin;
    out += entry->raw.substr(1);
    out += '\n';
  }
}

}  // namespace

JournalExport::JournalExport(Log& from, const StoreState& state) : history_(from), state_(state) {
  report_.chain = state.head_chain;
}

Result<JournalExport> JournalExport::begin(Log& from) {
  HOLDFAST_TRY(const auto state, from.refresh());
  return JournalExport(from, state);
}

ProgressPoint JournalExport::progress() const { return {report_.head.value, state_.head.value}; }

Result<std::string> JournalExport::batches() {
  HOLDFAST_TRY(const auto batches, history_.next());
  std::string out;
  for (const Batch& batch : batches) {
    if (state_.head < batch.position) {
      break;  // came after the export began
    }
    HOLDFAST_TRY(const auto entries, export_batch(batch, out));
    report_.batches += 1;
    report_.entries += entries;
    report_.head = batch.position;
    report_.chain = batch.chain;
  }
  return out;
}

Result<std::string> JournalExport::next() {
  if (part_ == Part::head) {
    part_ = Part::batches;
    return "{\"holdfast_export\":1,\"log_id\":\"" + to_string(state_.log_id) + "\"}\n";
  }
  if (part_ == Part::batches && report_.head < state_.head) {
    return batches();
  }
  if (part_ != Part::over) {
    part_ = Part::over;
    return "{\"end\":{\"position\":" + std::to_string(report_.head.value) + ",\"chain\":\"" +
           to_hex(report_.chain) + "\"}}\n";
  }
  return std::string();
}

Result<TransferReport> export_journal(Log& from, std::ostream& out, const Progress& progress) {
  HOLDFAST_TRY(JournalExport whole, JournalExport::begin(from));
  for (;;) {
    HOLDFAST_TRY(const std::string piece, whole.next());
    if (piece.empty()) {
      break;
    }
    out << piece;
    if (!out) {
      return Error{ErrorCode::io_error, "cannot write the export"};
    }
    if (progress) {
      progress(whole.progress());
    }
  }
  out.flush();
  if (!out) {
    return Error{ErrorCode::io_error, "cannot write the export"};
  }
  return whole.report();
}

}  // namespace holdfast
