#include "apps/server/backup_stream.h"

#include "apps/server/server_call.h"
#include "storage/journal/journal_transfer.h"

namespace holdfast {

namespace {

class BackupStream : public std::enable_shared_from_this<BackupStream> {
 public:
  BackupStream(CallPtr call, JournalExport whole)
      : call_(std::move(call)), export_(std::move(whole)) {}

  void begin() {
    net::Response head;
    head.content_type = "application/jsonl";
    head.headers.push_back(
        {"Content-Disposition", "attachment; filename=\"holdfast-backup.jsonl\""});
    stream_ = call_->exchange->stream(std::move(head));
    send_next();
  }

 private:
  // An interrupted backup lacks its last line, so it cannot be mistaken for a complete one.
  void send_next() {
    const Result<void> taken = call_->service.readers.run([self = shared_from_this()] {
      auto chunk = self->export_.next();
      if (!chunk.ok()) {
        self->call_->service.log.write(LogLevel::error, "backup failed",
                                       {{"why", chunk.error().text()}});
      }
      if (!chunk.ok() || chunk.value().empty()) {
        self->end();
        return;
      }
      self->stream_->write(std::move(chunk).value(), [self](bool alive) {
        if (alive) {
          self->send_next();
        } else {
          self->end();
        }
      });
    });
    if (!taken.ok()) {
      end();
    }
  }

  void end() {
    call_->note(200);
    stream_->finish();
  }

  const CallPtr call_;
  JournalExport export_;
  std::shared_ptr<net::Stream> stream_;
};

}  // namespace

void stream_backup(const CallPtr& call) {
  read(call, [call]() -> Result<void> {
    HOLDFAST_TRY(JournalExport whole, JournalExport::begin(call->service.loop.journal().log()));
    std::make_shared<BackupStream>(call, std::move(whole))->begin();
    return {};
  });
}

}  // namespace holdfast
