// The side of those who want work done: several conversations with workers at once, none of which can block another.
#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iterator>
#include <memory>

#include "sim/engine/file_descriptor.hpp"
#include "sim/engine/nursery.hpp"
#include "sim/units/error.hpp"

namespace trainyard {
namespace {

constexpr std::size_t kLastWords = 2000;
constexpr std::size_t kChunk = std::size_t{1} << 20U;

struct Ends {
  FileDescriptor ours, theirs;
};

Ends socket_pair() {
  int ends[2];
  require(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0,
          fmt::format("no socket pair for a worker: {}", std::strerror(errno)));
  ::fcntl(ends[0], F_SETFL, O_NONBLOCK);
  return {FileDescriptor(ends[0]), FileDescriptor(ends[1])};
}

void send_order(int nursery_socket, const int (&files)[3]) {
  char byte = 0;
  iovec data{&byte, 1};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof files)] = {};
  msghdr message{};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  cmsghdr* head = CMSG_FIRSTHDR(&message);
  head->cmsg_level = SOL_SOCKET;
  head->cmsg_type = SCM_RIGHTS;
  head->cmsg_len = CMSG_LEN(sizeof files);
  std::memcpy(CMSG_DATA(head), files, sizeof files);
  ssize_t n = 0;
  do n = ::sendmsg(nursery_socket, &message, MSG_NOSIGNAL);
  while (n < 0 && errno == EINTR);
  require(n == 1, fmt::format("the workers' nursery is gone: {}", std::strerror(errno)));
}

/// One worker: writes the request, reads the answer, its standard error and how it ended, as each becomes possible.
class Conversation {
 public:
  Conversation(std::size_t which, std::string request, int nursery_socket)
      : which_(which), request_(std::move(request)) {
    const std::uint64_t length = request_.size();
    request_.insert(0, reinterpret_cast<const char*>(&length), sizeof length);
    Ends talk = socket_pair(), errors = socket_pair(), report = socket_pair();
    send_order(nursery_socket, {talk.theirs.number(), errors.theirs.number(), report.theirs.number()});
    talk_ = std::move(talk.ours);
    errors_ = std::move(errors.ours);
    report_ = std::move(report.ours);
  }

  [[nodiscard]] std::size_t which() const { return which_; }
  [[nodiscard]] bool is_over() const { return !talk_.is_open() && !errors_.is_open() && !report_.is_open(); }
  /// Its worker has no more to do than to end.
  [[nodiscard]] bool has_answered() const { return is_over() || answer_is_whole(); }

  void append_to(std::vector<pollfd>& wanted) const {
    const bool writing = sent_ < request_.size();
    if (talk_.is_open()) wanted.push_back({talk_.number(), static_cast<short>(writing ? POLLIN | POLLOUT : POLLIN), 0});
    if (errors_.is_open()) wanted.push_back({errors_.number(), POLLIN, 0});
    if (report_.is_open()) wanted.push_back({report_.number(), POLLIN, 0});
  }

  void progress() {
    if (talk_.is_open()) write_request();
    read_into(talk_, answer_);
    read_into(errors_, last_words_);
    read_into(report_, end_);
    if (last_words_.size() > 2 * kLastWords) last_words_.erase(0, last_words_.size() - kLastWords);
  }

  [[nodiscard]] WorkerAnswer result() {
    if (answer_is_whole()) {
      std::string text = answer_.substr(sizeof(std::uint64_t) + 1);
      if (answer_[sizeof(std::uint64_t)] == '\1') return text;
      return WorkerFailure{std::move(text), words()};
    }
    return WorkerFailure{how_it_ended(), words()};
  }

 private:
  void write_request() {
    while (sent_ < request_.size()) {
      const ssize_t n =
          ::send(talk_.number(), request_.data() + sent_, std::min(kChunk, request_.size() - sent_), MSG_NOSIGNAL);
      if (n < 0 && errno == EINTR) continue;
      if (n < 0 && errno == EAGAIN) return;
      sent_ = n < 0 ? request_.size() : sent_ + static_cast<std::size_t>(n);  // it died: its end tells why
    }
    request_ = std::string();
    sent_ = 0;
  }

  /// Appends what is there; closes at the end.
  static void read_into(FileDescriptor& file, std::string& text) {
    static thread_local std::string chunk(kChunk, '\0');
    while (file.is_open()) {
      const ssize_t n = ::read(file.number(), chunk.data(), chunk.size());
      if (n < 0 && errno == EINTR) continue;
      if (n < 0 && errno == EAGAIN) return;
      if (n <= 0) return file.reset();
      text.append(chunk.data(), static_cast<std::size_t>(n));
    }
  }

  [[nodiscard]] bool answer_is_whole() const {
    std::uint64_t length = 0;
    if (answer_.size() < sizeof length) return false;
    std::memcpy(&length, answer_.data(), sizeof length);
    return length > 0 && answer_.size() - sizeof length == length;
  }

  [[nodiscard]] std::string how_it_ended() const {
    WorkerEnd end;
    if (end_.size() != sizeof end) return "the workers' nursery ended";
    std::memcpy(&end, end_.data(), sizeof end);
    if (!end.forked) return "the worker could not be forked";
    if (WIFSIGNALED(end.wait_status)) return fmt::format("ended by SIG{}", ::sigabbrev_np(WTERMSIG(end.wait_status)));
    return fmt::format("exited with status {} and without an answer", WEXITSTATUS(end.wait_status));
  }

  [[nodiscard]] std::string words() const {
    return last_words_.substr(last_words_.size() - std::min(last_words_.size(), kLastWords));
  }

  std::size_t which_;
  std::string request_, answer_, last_words_, end_;
  std::size_t sent_ = 0;
  FileDescriptor talk_, errors_, report_;
};

using Conversations = std::vector<std::unique_ptr<Conversation>>;

void wait_for_any(const Conversations& active) {
  std::vector<pollfd> wanted;
  for (const auto& conversation : active) conversation->append_to(wanted);
  if (!wanted.empty()) ::poll(wanted.data(), wanted.size(), -1);
}

/// Takes out those that are over.
Conversations finished(Conversations& active) {
  for (const auto& conversation : active) conversation->progress();
  const auto over = std::ranges::stable_partition(active, [](const auto& conversation) { return !conversation->is_over(); });
  Conversations taken(std::make_move_iterator(over.begin()), std::make_move_iterator(over.end()));
  active.erase(over.begin(), over.end());
  return taken;
}

}  // namespace

void ask_workers(int nursery_socket, std::size_t count, const std::function<std::string(std::size_t)>& request,
                 int jobs, const std::function<void(std::size_t, WorkerAnswer)>& answered) {
  require(jobs >= 1, "at least one worker at a time");
  Conversations active, over;
  for (std::size_t next = 0; next < count || !active.empty() || !over.empty();) {
    // The next begin while earlier ones end and before their answers are looked at, so that no core waits for that.
    while (next < count && std::ranges::count_if(active, [](const auto& one) { return !one->has_answered(); }) < jobs) {
      active.push_back(std::make_unique<Conversation>(next, request(next), nursery_socket));
      ++next;
    }
    for (const auto& one : over) answered(one->which(), one->result());
    over.clear();
    wait_for_any(active);
    over = finished(active);
  }
}

std::vector<WorkerAnswer> ask_workers(int nursery_socket, std::size_t count,
                                      const std::function<std::string(std::size_t)>& request, int jobs) {
  std::vector<WorkerAnswer> answers(count);
  ask_workers(nursery_socket, count, request, jobs,
              [&](std::size_t i, WorkerAnswer answer) { answers[i] = std::move(answer); });
  return answers;
}

}  // namespace trainyard
