#include "tests/support/journal_files.h"

#include <fstream>
#include <sstream>

#include "storage/journal/journal_transfer.h"
#include "storage/journal/journal_verify.h"
#include "tests/support/test_log.h"

namespace holdfast {

std::string verified_export(Log& log) {
  must(verify_journal(log));
  std::ostringstream out;
  must(export_journal(log, out));
  return out.str();
}

void import_export(const std::string& path, const std::string& to_url) {
  std::ifstream file(path, std::ios::binary);
  must(import_journal(file, to_url));
}

}  // namespace holdfast
