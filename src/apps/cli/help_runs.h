// The texts of the commands on runs: what each is for, and examples to copy.
#pragma once

namespace holdfast::help {

struct Text {
  const char* what;
  const char* examples;
};

extern const Text kRun;
extern const Text kWork;
extern const Text kStart;
extern const Text kList;
extern const Text kShow;
extern const Text kExplain;
extern const Text kGraph;
extern const Text kTimeline;
extern const Text kDiff;
extern const Text kStatus;
extern const Text kDoctor;
extern const Text kCancel;
extern const Text kSignal;
extern const Text kResume;
extern const Text kApprove;
extern const Text kReject;
extern const Text kReplay;
extern const Text kWorkflowList;
extern const Text kWorkflowShow;
extern const Text kWorkflowDiff;
extern const Text kCompletion;

}  // namespace holdfast::help
