// The file of a record, as the program that is recorded writes it.
//
// The program does not know of it. It may close all descriptors that it did not open, and open a file of its own under
// the same number; it may change its folder, and fork. A line goes to the record, or nowhere.
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>

namespace coalesce::record {

class File {
 public:
  File() = default;
  ~File() { close(); }
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  // Empty path: no record. A file that another process holds is left to it (a recorded program's children); one that
  // has content already is left as it is, with a warning on stderr. With COALESCE_RECORD_SHARED=1 all of them write.
  void open(const std::string& path);

  bool is_open() const { return file_ >= 0; }
  bool active() const;  // open, and this process opened it: a forked child leaves the file to its parent

  // `line` with its newline: at once, so that a process that is killed leaves whole lines. A disk write is whole unless
  // a signal or a full disk cuts it. After a write that fails nothing more is written, and a file beside the record
  // says that it is cut (kTruncated). Costs two system calls.
  void write(std::string_view line);

  void close();

 private:
  int descriptor(int flags) const;
  bool is_ours() const;
  bool reopen();
  void give_up(const char* why);
  void complain(const char* why) const;

  std::string path_;
  int file_ = -1;
  pid_t owner_ = 0;
  dev_t device_ = 0;
  ino_t number_ = 0;
  int lock_ = 0;  // of flock: LOCK_EX, or LOCK_SH where processes share the record
};

}  // namespace coalesce::record
