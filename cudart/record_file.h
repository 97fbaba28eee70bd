// The file of a record, as the program that is recorded writes it, on the machine (record.h) or on a GPU
// (gpu/session.h).
//
// The program does not know of it. It may close all descriptors that it did not open, and the number then be a file of
// its own; it may change its folder, and fork. What is written goes to the record, or nowhere.
#pragma once

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <filesystem>
#include <string>
#include <string_view>

namespace coalesce::cudart {

class RecordFile {
 public:
  RecordFile() = default;
  ~RecordFile() { close(); }
  RecordFile(const RecordFile&) = delete;
  RecordFile& operator=(const RecordFile&) = delete;

  // Empty path: no record. A file that another process holds is left to it (a recorded program's children); one that
  // has content already is left as it is, with a word on stderr.
  void open(const std::string& path) {
    if (path.empty()) return;
    std::error_code error;
    path_ = std::filesystem::absolute(path, error).string();
    file_ = descriptor(O_CREAT);
    if (file_ < 0) return complain(std::strerror(errno));
    struct stat info{};
    const bool known = fstat(file_, &info) == 0, held = flock(file_, LOCK_EX | LOCK_NB) != 0;
    if (!known || held || (S_ISREG(info.st_mode) && info.st_size != 0)) {
      if (!held)
        std::fprintf(
            stderr,
            "coalesce: warning: the record '%s' holds another run already; this one (process %d) is not recorded\n",
            path_.c_str(), static_cast<int>(getpid()));
      ::close(file_);
      file_ = -1;
      return;
    }
    device_ = info.st_dev;
    number_ = info.st_ino;
    owner_ = getpid();
  }

  bool is_open() const { return file_ >= 0; }
  bool active() const { return is_open() && getpid() == owner_; }  // a forked child leaves the file to its parent

  // `line` with its newline: at once, so that a process that is killed leaves whole lines. A disk write is whole unless
  // a signal or a full disk cuts it. Costs two system calls.
  void write(std::string_view line) {
    if (!is_open()) return;
    if (!is_ours() && !reopen()) return give_up("the program has closed it, and it is gone");
    while (!line.empty()) {
      const ssize_t n = ::write(file_, line.data(), line.size());
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) {
        const char* why = n < 0 ? std::strerror(errno) : "no space";
        // So says to whoever reads it that more was to come; a full disk still takes it.
        (void)fchmod(file_, S_IRUSR);
        return give_up(why);
      }
      line.remove_prefix(static_cast<std::size_t>(n));
    }
  }

  void close() {
    if (is_open() && is_ours()) ::close(file_);
    file_ = -1;
  }

 private:
  // Out of the way: programs see the lowest numbers, and some expect them.
  int descriptor(int flags) const {
    constexpr int kHigh = 200;
    const int file = ::open(path_.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC | flags, 0666);
    const int high = file < 0 ? -1 : fcntl(file, F_DUPFD_CLOEXEC, kHigh);
    if (high < 0) return file;
    ::close(file);
    return high;
  }
  bool is_ours() const {
    struct stat info{};
    return fstat(file_, &info) == 0 && info.st_dev == device_ && info.st_ino == number_;
  }
  bool reopen() {
    file_ = descriptor(0);
    if (is_open() && is_ours() && flock(file_, LOCK_EX | LOCK_NB) == 0) return true;
    if (is_open()) ::close(file_);
    file_ = -1;
    return false;
  }
  void give_up(const char* why) {
    complain(why);
    close();
  }
  void complain(const char* why) const {
    std::fprintf(stderr, "coalesce: error: cannot write the record '%s': %s\n", path_.c_str(), why);
  }

  std::string path_;
  int file_ = -1;
  pid_t owner_ = 0;
  dev_t device_ = 0;
  ino_t number_ = 0;
};

}  // namespace coalesce::cudart
