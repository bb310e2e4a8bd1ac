#include <ostream>

#include "base/hash.h"
#include "journal/entry.h"
#include "journal/history.h"
#include "journal/transfer.h"

namespace holdfast {

namespace {

Error cannot_write() { return Error{ErrorCode::io_error, "cannot write the export"}; }

Result<std::uint32_t> export_batch(const Batch& batch, std::ostream& out) {
  const std::string begin = "{\"position\":" + std::to_string(batch.position.value) + ",";
  BodyScanner scanner(batch.position, batch.body);
  for (;;) {
    HOLDFAST_TRY(const auto entry, scanner.next());
    if (!entry.has_value()) {
      return scanner.count();
    }
    out << begin << entry->raw.substr(1) << '\n';
  }
}

}  // namespace

Result<TransferReport> export_journal(Log& from, std::ostream& out, const Progress& progress) {
  HOLDFAST_TRY(const auto state, from.refresh());
  TransferReport report;
  report.chain = state.head_chain;
  out << "{\"holdfast_export\":1,\"log_id\":\"" << to_string(state.log_id) << "\"}\n";
  History history(from);
  while (report.head < state.head) {
    HOLDFAST_TRY(const auto batches, history.next());
    for (const Batch& batch : batches) {
      if (state.head < batch.position) {
        break;  // came after the export began
      }
      HOLDFAST_TRY(const auto entries, export_batch(batch, out));
      report.batches += 1;
      report.entries += entries;
      report.head = batch.position;
      report.chain = batch.chain;
    }
    if (!out) {
      return cannot_write();
    }
    if (progress) {
      progress(ProgressPoint{report.head.value, state.head.value});
    }
  }
  out << "{\"end\":{\"position\":" << report.head.value << ",\"chain\":\"" << to_hex(report.chain)
      << "\"}}\n";
  out.flush();
  if (!out) {
    return cannot_write();
  }
  return report;
}

}  // namespace holdfast
