#include "runs/service/migration_report.h"

#include <algorithm>

#include "runs/run/run_migration.h"

namespace holdfast {

namespace {

MigrationCheck check_of(const RunProjection& run, const Definition& target) {
  MigrationCheck check;
  check.run_id = to_string(run.run_id());
  check.status = to_text(run.status());
  if (run.pinned_definition().fingerprint != target.fingerprint()) {
    for (const MigrationProblem& problem : migration_problems(run, target)) {
      check.problems.push_back(
          {std::string(to_text(problem.blocker)), problem.step, problem.message});
    }
  }
  check.can_migrate = check.problems.empty();
  return check;
}

}  // namespace

Result<MigrationReport> migration_report(Turn& turn, const Definition& target) {
  std::vector<RunId> ids = turn.state().runs().ids();
  std::sort(ids.begin(), ids.end());
  MigrationReport report;
  for (const RunId& id : ids) {
    HOLDFAST_TRY(const RunProjection* run, turn.state().runs().get(id));
    if (run->is_terminal() || !run->started().has_value() ||
        run->started()->workflow != target.workflow()) {
      continue;
    }
    if (report.runs.size() == kMaxMigrationChecks) {
      report.more = true;
      break;
    }
    report.runs.push_back(check_of(*run, target));
  }
  return report;
}

RegisterResponse registration(const Definition& definition) {
  RegisterResponse response;
  response.workflow = definition.workflow().str();
  response.version = definition.version().str();
  response.fingerprint = definition.fingerprint().str();
  return response;
}

}  // namespace holdfast
