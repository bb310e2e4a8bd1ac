// The texts that teach: what each command is for, and examples to copy.
#pragma once

namespace holdfast::help {

extern const char* const kProgram;
extern const char* const kProgramExamples;
extern const char* const kJournal;
extern const char* const kJournalExamples;
extern const char* const kAppend;
extern const char* const kAppendExamples;
extern const char* const kStat;
extern const char* const kStatExamples;
extern const char* const kCat;
extern const char* const kCatExamples;
extern const char* const kVerify;
extern const char* const kVerifyExamples;
extern const char* const kExport;
extern const char* const kExportExamples;
extern const char* const kImport;
extern const char* const kImportExamples;
extern const char* const kCopy;
extern const char* const kCopyExamples;
extern const char* const kSeal;
extern const char* const kSealExamples;
extern const char* const kWorkflow;
extern const char* const kWorkflowExamples;
extern const char* const kWorkflowCheck;
extern const char* const kWorkflowCheckExamples;
extern const char* const kWorkflowSchema;
extern const char* const kWorkflowSchemaExamples;
extern const char* const kSimulate;
extern const char* const kSimulateExamples;
extern const char* const kBench;
extern const char* const kBenchExamples;
extern const char* const kBenchJournal;
extern const char* const kBenchJournalExamples;
extern const char* const kBenchEngine;
extern const char* const kBenchEngineExamples;
extern const char* const kBenchWorkflow;
extern const char* const kBenchWorkflowExamples;
extern const char* const kBenchServer;
extern const char* const kBenchServerExamples;

}  // namespace holdfast::help
