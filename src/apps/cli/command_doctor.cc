#include "apps/cli/backend_commands.h"

namespace holdfast::cli {

namespace {

struct DoctorCommand : QueryCommand<DoctorRequest> {
  void declare(Arguments& arguments) {
    QueryCommand::declare(arguments);
    add_at(arguments, request.at);
  }
};

}  // namespace

extern const Command kDoctorCommand = make_command<DoctorCommand>(
    "doctor", "Check the store for problems and show what to do about them.",
    R"(Checks every run that has not ended: can anything advance it, is its definition
registered, were its workers lost, is it overdue? Changes nothing. `holdfast journal verify`
verifies the bytes.

Examples:
  holdfast doctor
  holdfast doctor --json | jq .verdict

Exit codes: 0 no problem, or only warnings; 1 a fault was found; others as listed in
`holdfast --help`.)");

}  // namespace holdfast::cli
