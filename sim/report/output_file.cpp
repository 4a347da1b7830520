#include "sim/report/output_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>

namespace trainyard {
namespace {

[[noreturn]] void fail(const std::string& name, int cause) {
  throw OutputError(fmt::format("trainyard: cannot write {}: {}", name, std::strerror(cause)));
}

/// Holds interrupts back while a temporary file exists, so that none is left behind.
class WithoutInterrupts {
 public:
  WithoutInterrupts() {
    sigset_t held;
    sigemptyset(&held);
    sigaddset(&held, SIGINT);
    sigaddset(&held, SIGTERM);
    sigprocmask(SIG_BLOCK, &held, &before_);
  }
  ~WithoutInterrupts() { sigprocmask(SIG_SETMASK, &before_, nullptr); }
  WithoutInterrupts(const WithoutInterrupts&) = delete;
  WithoutInterrupts& operator=(const WithoutInterrupts&) = delete;

 private:
  sigset_t before_{};
};

class Descriptor {
 public:
  explicit Descriptor(int descriptor) : descriptor_(descriptor) {}
  ~Descriptor() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  [[nodiscard]] int get() const { return descriptor_; }
  [[nodiscard]] int close() {
    const int closing = descriptor_;
    descriptor_ = -1;
    return ::close(closing);
  }

 private:
  int descriptor_;
};

/// mkstemp makes files private; a result is as readable as any new file.
mode_t permissions(const std::string& path) {
  struct stat before {};
  if (::stat(path.c_str(), &before) == 0) return before.st_mode & 07777U;
  const mode_t mask = ::umask(0);
  ::umask(mask);
  return 0666U & ~mask;
}

void write_directly(const std::string& path, std::string_view text) {
  Descriptor file(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  if (file.get() < 0) fail(path, errno);
  write_all(file.get(), text, path);
}

void fill(Descriptor& file, const std::string& path, std::string_view text) {
  write_all(file.get(), text, path);
  if (::fchmod(file.get(), permissions(path)) != 0 || ::fsync(file.get()) != 0) fail(path, errno);
  if (file.close() != 0) fail(path, errno);
}

void write_beside(const std::string& path, std::string_view text) {
  const WithoutInterrupts held;
  std::string temporary = path + ".XXXXXX";
  Descriptor file(::mkstemp(temporary.data()));
  if (file.get() < 0) fail(path, errno);
  try {
    fill(file, path, text);
    if (std::rename(temporary.c_str(), path.c_str()) != 0) fail(path, errno);
  } catch (...) {
    ::unlink(temporary.c_str());
    throw;
  }
}

}  // namespace

void write_all(int descriptor, std::string_view text, const std::string& name) {
  while (!text.empty()) {
    const ssize_t written = ::write(descriptor, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail(name, errno);
    text.remove_prefix(static_cast<std::size_t>(written));
  }
}

void write_file(const std::string& path, std::string_view text) {
  std::error_code ignored;
  const std::filesystem::file_status status = std::filesystem::status(path, ignored);
  if (std::filesystem::is_directory(status)) fail(path, EISDIR);
  if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status)) return write_directly(path, text);
  const std::filesystem::path target = std::filesystem::weakly_canonical(path, ignored);
  write_beside(target.empty() ? path : target.string(), text);
}

void make_folders(const std::string& path) {
  std::error_code cause;
  std::filesystem::create_directories(path, cause);
  if (cause) fail(path, cause.value());
}

}  // namespace trainyard
