#include "serve/http.hpp"

#include <httplib.h>
#include <sys/socket.h>

#include <condition_variable>
#include <deque>

#include "heed/base/error.hpp"

namespace heed::serve {
namespace {

constexpr std::size_t kWorkers = 32;       // connections that are answered at once
constexpr std::size_t kWaiting = 64;       // and that wait for it; more are told to come again
constexpr std::size_t kRefusers = 4;       // by so many threads
constexpr std::size_t kLongestPath = 256;  // ours have 15; the library matches them recursively
constexpr int kReadSeconds = 5, kWriteSeconds = 10, kIdleSeconds = 2;
constexpr std::size_t kRequestsAConnection = 1000;
constexpr int kUnaccepted = 128;  // connections that the system holds until we accept them

thread_local bool t_turns_away = false;

/// Threads for connections. When too many wait, a few threads more answer them, with 503 alone.
class Workers : public httplib::TaskQueue {
 public:
  Workers() {
    for (std::size_t i = 0; i < kWorkers; ++i) threads_.emplace_back([this] { work(accepted_); });
    for (std::size_t i = 0; i < kRefusers; ++i) {
      threads_.emplace_back([this] {
        t_turns_away = true;
        work(refused_);
      });
    }
  }

  void enqueue(std::function<void()> connection) override {
    {
      std::unique_lock lock(mutex_);
      // Not to be dropped: it owns its socket. The kernel keeps those that come meanwhile.
      changed_.wait(lock, [this] { return refused_.size() < kWaiting; });
      (accepted_.size() < kWaiting ? accepted_ : refused_).push_back(std::move(connection));
    }
    changed_.notify_all();
  }

  void shutdown() override {
    {
      const std::lock_guard lock(mutex_);
      ended_ = true;
    }
    changed_.notify_all();
    for (std::thread& thread : threads_) thread.join();
  }

 private:
  using Connections = std::deque<std::function<void()>>;

  void work(Connections& connections) {
    while (true) {
      std::function<void()> connection;
      {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [&] { return ended_ || !connections.empty(); });
        if (connections.empty()) return;
        connection = std::move(connections.front());
        connections.pop_front();
      }
      changed_.notify_all();
      connection();
    }
  }

  bool ended_ = false;
  std::mutex mutex_;
  std::condition_variable changed_;
  Connections accepted_, refused_;
  std::vector<std::thread> threads_;
};

Ask ask_of(const httplib::Request& request) {
  return {
      .method = request.method,
      .path = request.path,
      .body = request.body,
      .host = request.get_header_value_count("Host") == 1 ? request.get_header_value("Host") : "",
      .content_type = request.get_header_value("Content-Type"),
      .authorization = request.get_header_value("Authorization"),
      .token = request.get_param_value("token")};
}

void write(Answer answer, httplib::Response& response) {
  response.status = answer.status;
  for (const auto& [name, value] : answer.headers) response.set_header(name, value);
  response.set_content(std::move(answer.body), answer.type);
}

/// For a request whose body was not read: what is left of it would be taken for the next request.
void write_and_close(Answer answer, httplib::Response& response) {
  response.status = answer.status;
  for (const auto& [name, value] : answer.headers) response.set_header(name, value);
  response.set_header("Connection", "close");
  const std::size_t size = answer.body.size();
  response.set_content_provider(
      size, answer.type,
      [body = std::move(answer.body)](std::size_t, std::size_t, httplib::DataSink& sink) {
        sink.write(body.data(), body.size());
        return false;  // the library closes a connection only when a response fails
      });
}

bool may_have_body(const httplib::Request& request) {
  return request.method == "POST" || request.method == "PUT" || request.method == "PATCH";
}

/// Why a body is not read at all; status 200: it is.
Answer body_problem(const httplib::Request& request) {
  if (request.has_header("Transfer-Encoding") || !request.has_header("Content-Length"))
    return error_answer(411, "send the body in one piece, with a Content-Length");
  if (request.has_header("Content-Encoding"))
    return error_answer(415, "send the body as it is, without Content-Encoding");
  return {};
}

/// What is said of a request the library refused by itself.
std::string reason(int status) {
  switch (status) {
    case 413:
      return fmt::format("the body is longer than {} bytes; send less", kMostBytes);
    case 414:
      return "the address is too long";
    case 416:
      return "the Range header is not understood; leave it out";
    default:
      return "this is not a valid HTTP request";
  }
}

}  // namespace

struct HttpServer::Library {
  httplib::Server server;
  int socket = -1;  // that listens
};

HttpServer::HttpServer(std::function<Answer(const Ask&)> service, const ServeOptions& options)
    : library_(std::make_unique<Library>()), options_(options) {
  using Handled = httplib::Server::HandlerResponse;
  httplib::Server& server = library_->server;
  server.new_task_queue = [] { return new Workers; };  // the library deletes it
  server.set_payload_max_length(kMostBytes);
  server.set_read_timeout(kReadSeconds);
  server.set_write_timeout(kWriteSeconds);
  server.set_keep_alive_timeout(kIdleSeconds);
  server.set_keep_alive_max_count(kRequestsAConnection);
  server.set_tcp_nodelay(true);  // head and body are written apart
  // Not the library's SO_REUSEPORT, by which two servers would share a port without a word.
  server.set_socket_options([library = library_.get()](int socket) {
    library->socket = socket;
    const int yes = 1;
    setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  });
  server.set_default_headers({{"X-Content-Type-Options", "nosniff"},
                              {"Referrer-Policy", "no-referrer"},
                              {"Cache-Control", "no-store"}});
  const auto answer = [service](const httplib::Request& request) {
    if (t_turns_away) {
      Answer busy = error_answer(503, "too many connections; try again in a second");
      busy.headers.emplace("Retry-After", "1");
      return busy;
    }
    return service(ask_of(request));
  };
  server.set_pre_routing_handler(
      [answer](const httplib::Request& request, httplib::Response& response) {
        if (request.has_header("Range") || request.path.size() > kLongestPath) {
          write_and_close(error_answer(request.has_header("Range") ? 416 : 404,
                                       "there is no such page, or no part of it to be had alone"),
                          response);
          return Handled::Handled;
        }
        if (may_have_body(request)) {
          Answer problem = body_problem(request);
          if (problem.status == 200) return Handled::Unhandled;  // the body is read, then below
          write_and_close(std::move(problem), response);
          return Handled::Handled;
        }
        const bool body =
            request.has_header("Content-Length") || request.has_header("Transfer-Encoding");
        (body ? write_and_close : write)(answer(request), response);
        return Handled::Handled;
      });
  const auto with_body = [answer](const httplib::Request& request, httplib::Response& response) {
    write(answer(request), response);
  };
  server.Post(".*", with_body).Put(".*", with_body).Patch(".*", with_body);
  server.set_error_handler([](const httplib::Request&, httplib::Response& response) {
    if (response.body.empty() && !response.has_header("Content-Type"))
      write(error_answer(response.status, reason(response.status)), response);
  });
}

HttpServer::~HttpServer() = default;

int HttpServer::bind() {
  httplib::Server& server = library_->server;
  if (options_.port == 0) {
    const int port = server.bind_to_any_port(options_.host);
    HEED_CHECK(port > 0, "serve: cannot listen at {}; is it an address of this machine?",
               options_.host);
    return port;
  }
  HEED_CHECK(server.bind_to_port(options_.host, options_.port),
             "serve: cannot listen at {}:{}; it is taken, or not an address of this machine: try "
             "--port 0, which finds a free one",
             options_.host, options_.port);
  return options_.port;
}

void HttpServer::listen() {
  // The library asks for five; when more come at once than are accepted in time, the system drops
  // or resets them before they could be told anything.
  ::listen(library_->socket, kUnaccepted);
  HEED_CHECK(library_->server.listen_after_bind(), "serve: the connection to the network broke");
}

void HttpServer::stop() { library_->server.stop(); }

}  // namespace heed::serve
