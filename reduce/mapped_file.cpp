#include "reduce/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <mutex>
#include <stdexcept>
#include <utility>

namespace coalesce::reduce {
namespace {

std::atomic<bool> lost_page{false};
struct Mapping {
  std::atomic<uintptr_t> begin{0}, end{0};
};
constexpr int kMappings = 4096;  // files at a time
Mapping mappings[kMappings];
struct sigaction former;

// The kernel's answer to a read of a page that the file has no longer. The handler lays zeros there, so that the read
// goes on; lost_page says that the result is void. Only async-signal-safe calls.
void on_bus_error(int signal, siginfo_t* info, void* context) {
  const auto address = reinterpret_cast<uintptr_t>(info->si_addr);
  for (const Mapping& one : mappings) {
    if (address < one.begin || address >= one.end) continue;
    lost_page = true;
    const uintptr_t page = address & ~uintptr_t{4095};
    if (mmap(reinterpret_cast<void*>(page), 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) !=
        MAP_FAILED)
      return;
  }
  sigaction(signal, &former, nullptr);  // not ours: the read faults again, as it would have without us
  static_cast<void>(context);
}

// Files that stay open at a time: half of what the process may have. Others are read by their mappings.
std::atomic<int> open_files{0};
bool may_stay_open() {
  rlimit limit{};
  const int most =
      getrlimit(RLIMIT_NOFILE, &limit) == 0 ? static_cast<int>(std::min<rlim_t>(limit.rlim_cur, 1024)) / 2 : 0;
  if (++open_files <= most) return true;
  --open_files;
  return false;
}

void watch_bus_errors() {
  static std::once_flag once;
  std::call_once(once, [] {
    struct sigaction action{};
    action.sa_sigaction = on_bus_error;
    action.sa_flags = SA_SIGINFO;
    sigaction(SIGBUS, &action, &former);
  });
}

[[noreturn]] void refuse(const std::string& path, const char* reason) {
  throw std::runtime_error("cannot read '" + path + "': " + reason);
}

}  // namespace

MappedFile::MappedFile(const std::string& path) : path_(path) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) refuse(path, std::strerror(errno));
  struct stat status{};
  if (fstat(file, &status) != 0 || !S_ISREG(status.st_mode)) {
    const int error = errno;
    const bool regular = S_ISREG(status.st_mode);
    close(file);
    refuse(path, status.st_mode != 0 && !regular ? "it is not a regular file" : std::strerror(error));
  }
  size_ = static_cast<uint64_t>(status.st_size);
  modified_ = int64_t{status.st_mtim.tv_sec} * 1'000'000'000 + status.st_mtim.tv_nsec;
  if (size_ != 0) {
    watch_bus_errors();
    void* const at = mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, file, 0);
    const int error = errno;
    if (at == MAP_FAILED) {
      close(file);
      refuse(path, std::strerror(error));
    }
    data_ = static_cast<std::byte*>(at);
    madvise(data_, size_, MADV_SEQUENTIAL);
    for (Mapping& one : mappings) {
      uintptr_t free = 0;
      if (!one.begin.compare_exchange_strong(free, reinterpret_cast<uintptr_t>(data_))) continue;
      one.end = reinterpret_cast<uintptr_t>(data_) + size_;
      if (may_stay_open())
        file_ = file;
      else
        close(file);
      return;
    }
    close(file);
    munmap(data_, size_);
    data_ = nullptr;
    refuse(path, "more than 4096 files at a time");
  }
  close(file);
}

MappedFile::~MappedFile() {
  if (file_ >= 0) {
    close(file_);
    --open_files;
  }
  if (data_ == nullptr) return;
  for (Mapping& one : mappings) {
    if (one.begin != reinterpret_cast<uintptr_t>(data_)) continue;
    one.end = 0;
    one.begin = 0;
  }
  munmap(data_, size_);
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : path_(std::move(other.path_)),
      data_(std::exchange(other.data_, nullptr)),
      file_(std::exchange(other.file_, -1)),
      size_(other.size_),
      modified_(other.modified_) {}

void MappedFile::read(uint64_t begin, void* to, std::size_t bytes) const {
  if (file_ < 0) {
    std::memcpy(to, data_ + begin, bytes);
    return;
  }
  auto* at = static_cast<std::byte*>(to);
  while (bytes != 0) {
    const ssize_t done = pread(file_, at, bytes, static_cast<off_t>(begin));
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) {  // a bad disk, or the file has become shorter
      lost_page = true;
      std::memset(at, 0, bytes);
      return;
    }
    at += done;
    begin += static_cast<uint64_t>(done);
    bytes -= static_cast<std::size_t>(done);
  }
}

bool MappedFile::failed() { return lost_page; }

bool MappedFile::map(uint64_t begin, std::size_t bytes) const {
  constexpr int populate_read = 22;  // MADV_POPULATE_READ, which older headers lack
  const uint64_t first = begin & ~uint64_t{4095};
  return madvise(data_ + first, begin + bytes - first, populate_read) == 0;
}

// The first page may be another thread's last one, which then reads it by a fault.
void MappedFile::forget(uint64_t begin, std::size_t bytes) const {
  const uint64_t first = begin & ~uint64_t{4095};
  madvise(data_ + first, begin + bytes - first, MADV_DONTNEED);
}

}  // namespace coalesce::reduce
