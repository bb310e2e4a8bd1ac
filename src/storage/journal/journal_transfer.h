// Moving whole journals: between stores, and to and from files.
//
// An export is JSON lines:
//   {"holdfast_export":1,"log_id":"…"}
//   {"position":1,"thread":"run:1","seq":0,"kind":"…","at":…,"data":{…}}    one per entry
//   {"end":{"position":N,"chain":"…"}}
// Importing it gives a log of the same id with the same batches and the same chain.
#pragma once

#include <iosfwd>
#include <string>
#include <string_view>

#include "holdfast/result.h"
#include "storage/journal/journal_history.h"
#include "storage/journal/transfer_progress.h"
#include "storage/log/log.h"

namespace holdfast {

struct TransferReport {
  std::uint64_t batches = 0;  // written by this call
  std::uint64_t entries = 0;
  std::uint64_t side_values = 0;
  Position head;
  Digest chain{};
};

// Makes the log at to_url an exact copy of `from`, side store included: same id, positions,
// bodies and chain. A copy that was interrupted resumes where it stopped; a finished one is
// brought up to date. already_exists when the target holds another journal, diverged when it
// has batches that `from` has not. Until it ends the target cannot be opened as a journal.
Result<TransferReport> copy_journal(Log& from, std::string_view to_url,
                                    const Progress& progress = {});

Result<TransferReport> export_journal(Log& from, std::ostream& out, const Progress& progress = {});

// The same export, a piece at a time, for callers that cannot take it all at once. It shows the
// journal as it was when the export began, whatever is written meanwhile.
class JournalExport {
 public:
  // The log must outlive it.
  static Result<JournalExport> begin(Log& from);
  // Some more lines; empty at the end.
  Result<std::string> next();
  [[nodiscard]] const TransferReport& report() const { return report_; }
  [[nodiscard]] ProgressPoint progress() const;

 private:
  enum class Part : std::uint8_t { head, batches, over };
  JournalExport(Log& from, const StoreState& state);

  Result<std::string> batches();

  History history_;
  StoreState state_;
  TransferReport report_;
  Part part_ = Part::head;
};

// The file is read twice: it must be seekable. Nothing is written unless all of it is good.
// invalid_export names the line that is not. An import that was interrupted resumes.
Result<TransferReport> import_journal(std::istream& file, std::string_view to_url,
                                      const Progress& progress = {});

}  // namespace holdfast
