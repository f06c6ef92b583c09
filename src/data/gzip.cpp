#include "data/gzip.hpp"

#include <zlib.h>

#include <algorithm>
#include <memory>

#include "heed/base/error.hpp"
#include "heed/base/file.hpp"
#include "heed/base/words.hpp"

namespace heed {
namespace {

constexpr int kGzipWindow = 15 + 16;  // zlib's way to say gzip, and the largest window

struct EndInflate {
  void operator()(z_stream* stream) const { inflateEnd(stream); }
};

std::string unpack(const std::string& packed, const std::filesystem::path& file) {
  z_stream stream{};
  HEED_CHECK(inflateInit2(&stream, kGzipWindow) == Z_OK, "{}: cannot unpack gzip", file.string());
  const std::unique_ptr<z_stream, EndInflate> guard(&stream);
  std::string text;
  std::string chunk(1 << 18, '\0');
  std::size_t taken = 0;  // avail_in counts in 32 bits
  int status = Z_OK;
  while (taken < packed.size() || stream.avail_in > 0) {
    if (stream.avail_in == 0) {
      const std::size_t next = std::min<std::size_t>(packed.size() - taken, 1 << 30);
      stream.next_in =
          reinterpret_cast<Bytef*>(const_cast<char*>(packed.data() + taken));  // NOLINT
      stream.avail_in = static_cast<uInt>(next);
      taken += next;
    }
    stream.next_out = reinterpret_cast<Bytef*>(chunk.data());  // NOLINT
    stream.avail_out = static_cast<uInt>(chunk.size());
    status = inflate(&stream, Z_NO_FLUSH);
    HEED_CHECK(status == Z_OK || status == Z_STREAM_END,
               "{}: damaged gzip: {}; fetch or pack it again", file.string(),
               stream.msg ? stream.msg : "it makes no sense");
    text.append(chunk.data(), chunk.size() - stream.avail_out);
    // A gzip file may be several, one after the other.
    if (status == Z_STREAM_END && stream.avail_in > 0) inflateReset(&stream);
  }
  HEED_CHECK(status == Z_STREAM_END, "{}: damaged gzip: it ends too early; fetch or pack it again",
             file.string());
  return text;
}

}  // namespace

std::string read_unpacked(const std::filesystem::path& file) {
  std::string bytes = read_file(file);
  return bytes.starts_with("\x1f\x8b") ? unpack(bytes, file) : bytes;
}

std::string format_ending(const std::filesystem::path& file) {
  const std::string ending = lower(file.extension().string());
  return ending == ".gz" ? lower(file.stem().extension().string()) : ending;
}

}  // namespace heed
