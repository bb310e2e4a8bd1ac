// Every command of the program, in the order of `holdfast --help`.
#include "apps/cli/command.h"

namespace holdfast::cli {

extern const Command kRunCommand;
extern const Command kWorkCommand;
extern const Command kStartCommand;
extern const Command kListCommand;
extern const Command kShowCommand;
extern const Command kExplainCommand;
extern const Command kGraphCommand;
extern const Command kTimelineCommand;
extern const Command kDiffCommand;
extern const Command kStatusCommand;
extern const Command kDoctorCommand;
extern const Command kCancelCommand;
extern const Command kSignalCommand;
extern const Command kResumeCommand;
extern const Command kApproveCommand;
extern const Command kRejectCommand;
extern const Command kMutateCommand;
extern const Command kMigrateCommand;
extern const Command kRetryCommand;
extern const Command kDeadLettersListCommand;
extern const Command kDeadLettersShowCommand;
extern const Command kDeadLettersRedriveCommand;
extern const Command kDeadLettersDiscardCommand;
extern const Command kCircuitCloseCommand;
extern const Command kReplayCommand;
extern const Command kWorkflowCheckCommand;
extern const Command kWorkflowSchemaCommand;
extern const Command kWorkflowListCommand;
extern const Command kWorkflowRegisterCommand;
extern const Command kWorkflowShowCommand;
extern const Command kWorkflowDiffCommand;
extern const Command kSimulateCommand;
extern const Command kServerCommand;
extern const Command kWorkerCommand;
extern const Command kTokenCreateCommand;
extern const Command kTokenListCommand;
extern const Command kTokenRevokeCommand;
extern const Command kQueuesCommand;
extern const Command kWorkersCommand;
extern const Command kSchedulesCommand;
extern const Command kApprovalsCommand;
extern const Command kBrokerServeCommand;
extern const Command kBrokerWorkspaceCreateCommand;
extern const Command kBrokerWorkspaceListCommand;
extern const Command kBrokerWorkspaceShowCommand;
extern const Command kBrokerWorkspaceDeleteCommand;
extern const Command kBrokerMemberCreateCommand;
extern const Command kBrokerMemberInviteCommand;
extern const Command kBrokerMemberListCommand;
extern const Command kBrokerMemberRevokeCommand;
extern const Command kBrokerTopicCreateCommand;
extern const Command kBrokerTopicListCommand;
extern const Command kBrokerTopicShowCommand;
extern const Command kBrokerTopicArchiveCommand;
extern const Command kBrokerTopicSubscribeCommand;
extern const Command kBrokerTopicUnsubscribeCommand;
extern const Command kBrokerQueueCreateCommand;
extern const Command kBrokerQueueListCommand;
extern const Command kBrokerQueueStatusCommand;
extern const Command kBrokerQueueConfigureCommand;
extern const Command kBrokerQueueGrantCommand;
extern const Command kBrokerQueueRevokeCommand;
extern const Command kBrokerQueueClaimCommand;
extern const Command kBrokerQueueAckCommand;
extern const Command kBrokerQueueNackCommand;
extern const Command kBrokerQueueExtendCommand;
extern const Command kBrokerQueueDeadCommand;
extern const Command kBrokerQueueRedriveCommand;
extern const Command kBrokerQueueDiscardCommand;
extern const Command kBrokerMessageReceiveCommand;
extern const Command kBrokerMessageRedactCommand;
extern const Command kBrokerWebhooksCreateCommand;
extern const Command kBrokerWebhooksListCommand;
extern const Command kBrokerWebhooksShowCommand;
extern const Command kBrokerWebhooksUpdateCommand;
extern const Command kBrokerWebhooksEnableCommand;
extern const Command kBrokerWebhooksDisableCommand;
extern const Command kBrokerWebhooksRotateCommand;
extern const Command kBrokerWebhooksDeleteCommand;
extern const Command kBrokerWebhooksDeliveriesCommand;
extern const Command kBrokerWebhooksAttemptsCommand;
extern const Command kBrokerWebhooksReplayCommand;
extern const Command kBrokerCheckCommand;
extern const Command kBrokerSweepCommand;
extern const Command kBrokerBackupCommand;
extern const Command kBrokerRestoreCommand;
extern const Command kDaemonUpCommand;
extern const Command kDaemonDownCommand;
extern const Command kDaemonStatusCommand;
extern const Command kDaemonVersionCommand;
extern const Command kDaemonJoinCommand;
extern const Command kDaemonLeaveCommand;
extern const Command kDaemonRotateTokenCommand;
extern const Command kDaemonLogsCommand;
extern const Command kDaemonReloadCommand;
extern const Command kDaemonDoctorCommand;
extern const Command kDaemonRecoverCommand;
extern const Command kDaemonResetCommand;
extern const Command kDaemonUninstallCommand;
extern const Command kDaemonInstallServiceCommand;
extern const Command kDaemonUninstallServiceCommand;
extern const Command kSendCommand;
extern const Command kOutboxListCommand;
extern const Command kOutboxInspectCommand;
extern const Command kOutboxRequeueCommand;
extern const Command kOutboxRequeueAllCommand;
extern const Command kOutboxAbortCommand;
extern const Command kOutboxCompactCommand;
extern const Command kInboxListCommand;
extern const Command kInboxTailCommand;
extern const Command kInboxShowCommand;
extern const Command kInboxAckCommand;
extern const Command kInboxDeleteCommand;
extern const Command kTopicListCommand;
extern const Command kTopicSubscribeCommand;
extern const Command kTopicUnsubscribeCommand;
extern const Command kPeersCommand;
extern const Command kBackupCommand;
extern const Command kRestoreCommand;
extern const Command kJournalAppendCommand;
extern const Command kJournalStatCommand;
extern const Command kJournalCatCommand;
extern const Command kJournalVerifyCommand;
extern const Command kJournalExportCommand;
extern const Command kJournalImportCommand;
extern const Command kJournalCopyCommand;
extern const Command kJournalSealCommand;
extern const Command kCompletionCommand;
extern const Command kBenchJournalCommand;
extern const Command kBenchEngineCommand;
extern const Command kBenchWorkflowCommand;
extern const Command kBenchServerCommand;
extern const Command kBenchBrokerCommand;
extern const Command kBenchDaemonCommand;
extern const Command kBenchMeshCommand;

namespace {

using Commands = std::vector<const Command*>;

Commands broker_queue_commands() {
  return {&kBrokerQueueCreateCommand,    &kBrokerQueueListCommand,  &kBrokerQueueStatusCommand,
          &kBrokerQueueConfigureCommand, &kBrokerQueueGrantCommand, &kBrokerQueueRevokeCommand,
          &kBrokerQueueClaimCommand,     &kBrokerQueueAckCommand,   &kBrokerQueueNackCommand,
          &kBrokerQueueExtendCommand,    &kBrokerQueueDeadCommand,  &kBrokerQueueRedriveCommand,
          &kBrokerQueueDiscardCommand};
}

Commands broker_webhook_commands() {
  return {&kBrokerWebhooksCreateCommand,     &kBrokerWebhooksListCommand,
          &kBrokerWebhooksShowCommand,       &kBrokerWebhooksUpdateCommand,
          &kBrokerWebhooksEnableCommand,     &kBrokerWebhooksDisableCommand,
          &kBrokerWebhooksRotateCommand,     &kBrokerWebhooksDeleteCommand,
          &kBrokerWebhooksDeliveriesCommand, &kBrokerWebhooksAttemptsCommand,
          &kBrokerWebhooksReplayCommand};
}

CommandGroup broker_commands() {
  CommandGroup group{"Messages", {&kBrokerServeCommand,
                                  &kBrokerWorkspaceCreateCommand,
                                  &kBrokerWorkspaceListCommand,
                                  &kBrokerWorkspaceShowCommand,
                                  &kBrokerWorkspaceDeleteCommand,
                                  &kBrokerMemberCreateCommand,
                                  &kBrokerMemberInviteCommand,
                                  &kBrokerMemberListCommand,
                                  &kBrokerMemberRevokeCommand,
                                  &kBrokerTopicCreateCommand,
                                  &kBrokerTopicListCommand,
                                  &kBrokerTopicShowCommand,
                                  &kBrokerTopicArchiveCommand,
                                  &kBrokerTopicSubscribeCommand,
                                  &kBrokerTopicUnsubscribeCommand,
                                  &kBrokerMessageReceiveCommand,
                                  &kBrokerMessageRedactCommand,
                                  &kBrokerCheckCommand,
                                  &kBrokerSweepCommand,
                                  &kBrokerBackupCommand,
                                  &kBrokerRestoreCommand}};
  for (const Commands& more : {broker_queue_commands(), broker_webhook_commands()}) {
    group.commands.insert(group.commands.end(), more.begin(), more.end());
  }
  return group;
}

std::vector<const Command*> daemon_commands() {
  return {&kDaemonUpCommand,
          &kDaemonDownCommand,
          &kDaemonStatusCommand,
          &kDaemonVersionCommand,
          &kDaemonLogsCommand,
          &kDaemonReloadCommand,
          &kDaemonDoctorCommand,
          &kDaemonRecoverCommand,
          &kDaemonResetCommand,
          &kDaemonUninstallCommand,
          &kDaemonInstallServiceCommand,
          &kDaemonUninstallServiceCommand,
          &kDaemonJoinCommand,
          &kDaemonLeaveCommand,
          &kDaemonRotateTokenCommand,
          &kSendCommand,
          &kOutboxListCommand,
          &kOutboxInspectCommand,
          &kOutboxRequeueCommand,
          &kOutboxRequeueAllCommand,
          &kOutboxAbortCommand,
          &kOutboxCompactCommand,
          &kInboxListCommand,
          &kInboxTailCommand,
          &kInboxShowCommand,
          &kInboxAckCommand,
          &kInboxDeleteCommand,
          &kTopicListCommand,
          &kTopicSubscribeCommand,
          &kTopicUnsubscribeCommand,
          &kPeersCommand};
}

}  // namespace

const std::vector<CommandGroup>& command_groups() {
  static const std::vector<CommandGroup> groups{
      {"Run workflows", {&kRunCommand, &kWorkCommand, &kStartCommand}},
      {"Inspect runs",
       {&kListCommand, &kShowCommand, &kExplainCommand, &kGraphCommand, &kTimelineCommand,
        &kDiffCommand, &kStatusCommand, &kDoctorCommand}},
      {"Control runs",
       {&kCancelCommand, &kSignalCommand, &kResumeCommand, &kApproveCommand, &kRejectCommand,
        &kRetryCommand, &kDeadLettersListCommand, &kDeadLettersShowCommand,
        &kDeadLettersRedriveCommand, &kDeadLettersDiscardCommand, &kCircuitCloseCommand,
        &kMutateCommand, &kMigrateCommand, &kReplayCommand}},
      {"Workflows",
       {&kWorkflowCheckCommand, &kWorkflowSchemaCommand, &kWorkflowRegisterCommand,
        &kWorkflowListCommand, &kWorkflowShowCommand, &kWorkflowDiffCommand, &kSimulateCommand}},
      {"Servers",
       {&kServerCommand, &kWorkerCommand, &kTokenCreateCommand, &kTokenListCommand,
        &kTokenRevokeCommand, &kQueuesCommand, &kWorkersCommand, &kSchedulesCommand,
        &kApprovalsCommand}},
      broker_commands(),
      {"Daemon", daemon_commands()},
      {"Stores",
       {&kBackupCommand, &kRestoreCommand, &kJournalAppendCommand, &kJournalStatCommand,
        &kJournalCatCommand, &kJournalVerifyCommand, &kJournalExportCommand, &kJournalImportCommand,
        &kJournalCopyCommand, &kJournalSealCommand}},
      {"Tools",
       {&kCompletionCommand, &kBenchJournalCommand, &kBenchEngineCommand, &kBenchWorkflowCommand,
        &kBenchServerCommand, &kBenchBrokerCommand, &kBenchDaemonCommand, &kBenchMeshCommand}},
  };
  return groups;
}

namespace {

std::vector<CommandFamily> more_families() {
  return {
      {"circuit", "Close circuit breakers.",
       "Examples:\n  holdfast circuit close invoice charge --actor ann --reason 'it answers "
       "again'"},
      {"daemon", "Send and receive the messages of this machine, across outages and crashes.",
       "Examples:\n  holdfast daemon join 'http://127.0.0.1:7718/join#hfi_…' --name ann"},
      {"outbox", "List the messages that were sent; send them again, or retire them.",
       "`holdfast daemon outbox` is the same.\n\nExamples:\n  holdfast outbox list --failed"},
      {"inbox", "List, follow and acknowledge the messages that were received.",
       "`holdfast daemon inbox` is the same.\n\nExamples:\n  holdfast inbox list --unread\n  "
       "holdfast inbox tail"},
      {"topic", "List topics; choose those whose messages this member receives.",
       "Examples:\n  holdfast topic list\n  holdfast topic subscribe deploys"},
      {"journal", "Read, verify, export and copy journals.",
       R"(A journal is the log of a store: everything that a store knows is derived from it.

Examples:
  holdfast journal stat sqlite:demo.db
  holdfast journal cat sqlite:demo.db --thread run:1
  holdfast journal cat --help)"},
  };
}

}  // namespace

const std::vector<CommandFamily>& command_families() {
  static const std::vector<CommandFamily> families = [] {
    std::vector<CommandFamily> all{
        {"workflow", "Check workflow files; show registered workflows.",
         R"(Examples:
  holdfast workflow check orders.yaml
  holdfast workflow schema > workflow.schema.json
  holdfast workflow register orders.yaml --dry-run
  holdfast workflow list
  holdfast workflow diff order order.yaml)"},
        {"dead-letters", "List and decide attempts that were the last ones of their steps.",
         R"(A step with `retry: {then: park}` waits with its error instead of failing, until it is
redriven or discarded. An attempt that failed its run is repeated by a new run.

Examples:
  holdfast dead-letters list --queue billing
  holdfast dead-letters show latest
  holdfast dead-letters redrive --code bank_down --dry-run
  holdfast dead-letters discard latest --actor ann --comment 'paid in cash')"},
        {"token", "Create, list and revoke the tokens that authenticate programs to a server.",
         R"(Examples:
  holdfast token create --role worker --name billing --queue billing
  holdfast token list
  holdfast token revoke 3f2a9c41d07b5e6688aa12cd)"},
        {"broker", "Serve messages, each accepted exactly once, and administer workspaces.",
         R"(A broker stores the messages between the members of a workspace.

Examples:
  holdfast broker workspace create team
  holdfast broker member create team ann > ann.token
  holdfast broker topic create team alerts
  holdfast broker serve)"},
        {"broker workspace", "Create, list, show and delete workspaces.",
         R"(Examples:
  holdfast broker workspace create team
  holdfast broker workspace list)"},
        {"broker member", "Create, invite, list and revoke the members of a workspace.",
         R"(Examples:
  holdfast broker member create team ann > ann.token
  holdfast broker member invite team
  holdfast broker member revoke team ann)"},
        {"broker topic", "Create and archive topics; subscribe members to them.",
         R"(Examples:
  holdfast broker topic create team alerts
  holdfast broker topic subscribe team alerts ben
  holdfast broker topic show team alerts)"},
        {"broker queue", "Create and list queues of messages.",
         "Examples:\n  holdfast broker queue create team jobs\n  holdfast broker queue list team"},
        {"broker webhooks", "Post messages to URLs.",
         "Examples:\n  holdfast broker webhooks create team https://hooks.example/holdfast"},
        {"broker message", "Receive messages; remove the content of messages.",
         "Examples:\n  holdfast broker message receive team --token-file ben.token"},
        {"bench", "Measure the performance of this machine.",
         R"(Examples:
  holdfast bench journal --quick
  holdfast bench engine --quick
  holdfast bench workflow --quick
  holdfast bench broker --quick
  holdfast bench engine --help)"},
    };
    const auto more = more_families();
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }();
  return families;
}

}  // namespace holdfast::cli
