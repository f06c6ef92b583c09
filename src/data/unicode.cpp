// Tables made from Unicode 14's character data: categories and canonical decompositions.
#include "heed/data/unicode.hpp"

#include <algorithm>
#include <array>

#include "heed/base/error.hpp"
#include "heed/base/words.hpp"

namespace heed {
namespace unicode {
namespace {

struct Range {
  char32_t first, last;
};

template <std::size_t N>
bool among(const std::array<Range, N>& ranges, char32_t point) {
  const auto* found = std::ranges::lower_bound(ranges, point, {}, &Range::last);
  return found != ranges.end() && found->first <= point;
}

constexpr auto kPunctuation = std::to_array<Range>(
    {{0xA1, 0xA1},     {0xA7, 0xA7},     {0xAB, 0xAB},     {0xB6, 0xB7},     {0xBB, 0xBB},
     {0xBF, 0xBF},     {0x37E, 0x37E},   {0x387, 0x387},   {0x55A, 0x55F},   {0x589, 0x58A},
     {0x5BE, 0x5BE},   {0x5C0, 0x5C0},   {0x5C3, 0x5C3},   {0x5C6, 0x5C6},   {0x5F3, 0x5F4},
     {0x609, 0x60A},   {0x60C, 0x60D},   {0x61B, 0x61B},   {0x61D, 0x61F},   {0x66A, 0x66D},
     {0x6D4, 0x6D4},   {0x700, 0x70D},   {0x7F7, 0x7F9},   {0x830, 0x83E},   {0x85E, 0x85E},
     {0x964, 0x965},   {0x970, 0x970},   {0x9FD, 0x9FD},   {0xA76, 0xA76},   {0xAF0, 0xAF0},
     {0xC77, 0xC77},   {0xC84, 0xC84},   {0xDF4, 0xDF4},   {0xE4F, 0xE4F},   {0xE5A, 0xE5B},
     {0xF04, 0xF12},   {0xF14, 0xF14},   {0xF3A, 0xF3D},   {0xF85, 0xF85},   {0xFD0, 0xFD4},
     {0xFD9, 0xFDA},   {0x104A, 0x104F}, {0x10FB, 0x10FB}, {0x1360, 0x1368}, {0x1400, 0x1400},
     {0x166E, 0x166E}, {0x169B, 0x169C}, {0x16EB, 0x16ED}, {0x1735, 0x1736}, {0x17D4, 0x17D6},
     {0x17D8, 0x17DA}, {0x1800, 0x180A}, {0x1944, 0x1945}, {0x1A1E, 0x1A1F}, {0x1AA0, 0x1AA6},
     {0x1AA8, 0x1AAD}, {0x1B5A, 0x1B60}, {0x1B7D, 0x1B7E}, {0x1BFC, 0x1BFF}, {0x1C3B, 0x1C3F},
     {0x1C7E, 0x1C7F}, {0x1CC0, 0x1CC7}, {0x1CD3, 0x1CD3}, {0x2010, 0x2027}, {0x2030, 0x2043},
     {0x2045, 0x2051}, {0x2053, 0x205E}, {0x207D, 0x207E}, {0x208D, 0x208E}, {0x2308, 0x230B},
     {0x2329, 0x232A}, {0x2768, 0x2775}, {0x27C5, 0x27C6}, {0x27E6, 0x27EF}, {0x2983, 0x2998},
     {0x29D8, 0x29DB}, {0x29FC, 0x29FD}, {0x2CF9, 0x2CFC}, {0x2CFE, 0x2CFF}, {0x2D70, 0x2D70},
     {0x2E00, 0x2E2E}, {0x2E30, 0x2E4F}, {0x2E52, 0x2E5D}, {0x3001, 0x3003}, {0x3008, 0x3011},
     {0x3014, 0x301F}, {0x3030, 0x3030}, {0x303D, 0x303D}, {0x30A0, 0x30A0}, {0x30FB, 0x30FB},
     {0xA4FE, 0xA4FF}, {0xA60D, 0xA60F}, {0xA673, 0xA673}, {0xA67E, 0xA67E}, {0xA6F2, 0xA6F7},
     {0xA874, 0xA877}, {0xA8CE, 0xA8CF}, {0xA8F8, 0xA8FA}, {0xA8FC, 0xA8FC}, {0xA92E, 0xA92F},
     {0xA95F, 0xA95F}, {0xA9C1, 0xA9CD}, {0xA9DE, 0xA9DF}, {0xAA5C, 0xAA5F}, {0xAADE, 0xAADF},
     {0xAAF0, 0xAAF1}, {0xABEB, 0xABEB}, {0xFD3E, 0xFD3F}, {0xFE10, 0xFE19}, {0xFE30, 0xFE52},
     {0xFE54, 0xFE61}, {0xFE63, 0xFE63}, {0xFE68, 0xFE68}, {0xFE6A, 0xFE6B}, {0xFF01, 0xFF03},
     {0xFF05, 0xFF0A}, {0xFF0C, 0xFF0F}, {0xFF1A, 0xFF1B}, {0xFF1F, 0xFF20}, {0xFF3B, 0xFF3D},
     {0xFF3F, 0xFF3F}, {0xFF5B, 0xFF5B}, {0xFF5D, 0xFF5D}, {0xFF5F, 0xFF65}});

constexpr auto kControl = std::to_array<Range>({{0, 0x8},
                                                {0xB, 0xC},
                                                {0xE, 0x1F},
                                                {0x7F, 0x9F},
                                                {0xAD, 0xAD},
                                                {0x600, 0x605},
                                                {0x61C, 0x61C},
                                                {0x6DD, 0x6DD},
                                                {0x70F, 0x70F},
                                                {0x180E, 0x180E},
                                                {0x200B, 0x200F},
                                                {0x202A, 0x202E},
                                                {0x2060, 0x206F},
                                                {0xE000, 0xF8FF},
                                                {0xFEFF, 0xFEFF},
                                                {0xFFF0, 0xFFFB},
                                                {0xFFFD, 0xFFFF},
                                                {0xE0000, 0xE00FF},
                                                {0xF0000, 0x10FFFF}});

constexpr auto kIdeographs = std::to_array<Range>({{0x3400, 0x4DBF},
                                                   {0x4E00, 0x9FFF},
                                                   {0xF900, 0xFAFF},
                                                   {0x20000, 0x2A6DF},
                                                   {0x2A700, 0x2B73F},
                                                   {0x2B740, 0x2B81F},
                                                   {0x2B820, 0x2CEAF},
                                                   {0x2F800, 0x2FA1F}});

constexpr auto kMarks = std::to_array<Range>({{0x300, 0x36F},
                                              {0x20D0, 0x20DC},
                                              {0x20E1, 0x20E1},
                                              {0x20E5, 0x20F0},
                                              {0x302A, 0x302D},
                                              {0xFE00, 0xFE0F},
                                              {0xFE20, 0xFE2F}});

/// The folded character of each code point from `first` on; a space for a mark.
struct Folds {
  char32_t first;
  std::u32string_view to;
};

// Unformatted, or clang-format cuts these strings anew each time it runs.
// clang-format off
constexpr Folds kFolds[] = {
    {0xC0,
     U"aaaaaaæceeeeiiiiðnooooo×øuuuuyþßaaaaaaæceeeeiiiiðnooooo÷øuuuuyþyaaaaaaccccccccdd"
     U"đđeeeeeeeeeegggggggghhħħiiiiiiiiiıĳĳjjkkĸllllllŀŀłłnnnnnnŉŋŋooooooœœrrrrrrssssss"
     U"ssttttŧŧuuuuuuuuuuuuwwyyyzzzzzzſƀɓƃƃƅƅɔƈƈɖɗƌƌƍǝəɛƒƒɠɣƕɩɨƙƙƚƛɯɲƞɵooƣƣƥƥʀƨƨʃƪƫƭƭʈu"
     U"uʊʋƴƴƶƶʒƹƹƺƻƽƽƾƿǀǁǂǃǆǆǆǉǉǉǌǌǌaaiioouuuuuuuuuuǝaaaaææǥǥggkkooooʒʒjǳǳǳggƕƿnnaaææøø"
     U"aaaaeeeeiiiioooorrrruuuussttȝȝhhƞȡȣȣȥȥaaeeooooooooyyȴȵȶȷȸȹⱥȼȼƚⱦȿɀɂɂƀʉʌɇɇɉɉɋɋɍɍɏɏ"},
    {0x370,
     U"ͱͱͳͳʹ͵ͷͷ\u0378\u0379ͺͻͼͽ;ϳ\u0380\u0381\u0382\u0383΄¨α·εηι\u038Bο\u038Dυωιαβγδεζη"
     U"θικλμνξοπρ\u03A2στυφχψωιυαεηιυαβγδεζηθικλμνξοπρςστυφχψωιυουωϗϐϑϒϒϒϕϖϗϙϙϛϛϝϝϟϟϡϡϣ"
     U"ϣϥϥϧϧϩϩϫϫϭϭϯϯϰϱϲϳθϵ϶ϸϸϲϻϻϼͻͼͽ"},
    {0x400,
     U"ееђгєѕііјљњћкиуџабвгдежзииклмнопрстуфхцчшщъыьэюяабвгдежзииклмнопрстуфхцчшщъыьэюя"
     U"ееђгєѕііјљњћкиуџѡѡѣѣѥѥѧѧѩѩѫѫѭѭѯѯѱѱѳѳѵѵѵѵѹѹѻѻѽѽѿѿҁҁ҂     \u0488\u0489ҋҋҍҍҏҏґґғғҕҕ"
     U"җҗҙҙққҝҝҟҟҡҡңңҥҥҧҧҩҩҫҫҭҭүүұұҳҳҵҵҷҷҹҹһһҽҽҿҿӏжжӄӄӆӆӈӈӊӊӌӌӎӎӏааааӕӕееәәәәжжззӡӡииии"
     U"ооөөөөээууууууччӷӷыыӻӻӽӽӿӿԁԁԃԃԅԅԇԇԉԉԋԋԍԍԏԏԑԑԓԓԕԕԗԗԙԙԛԛԝԝԟԟԡԡԣԣԥԥԧԧԩԩԫԫԭԭԯ"
     U"ԯ"},
    {0x1E00,
     U"aabbbbbbccddddddddddeeeeeeeeeeffgghhhhhhhhhhiiiikkkkkkllllllllmmmmmmnnnnnnnnoooo"
     U"oooopppprrrrrrrrssssssssssttttttttuuuuuuuuuuvvvvwwwwwwwwwwxxxxyyzzzzzzhtwyẚſẜẝßẟ"
     U"aaaaaaaaaaaaaaaaaaaaaaaaeeeeeeeeeeeeeeeeiiiioooooooooooooooooooooooouuuuuuuuuuuu"
     U"uuyyyyyyyyỻỻỽỽỿỿ"},
    {0x1F00,
     U"ααααααααααααααααεεεεεε\u1F16\u1F17εεεεεε\u1F1E\u1F1Fηηηηηηηηηηηηηηηηιιιιιιιιιιιι"
     U"ιιιιοοοοοο\u1F46\u1F47οοοοοο\u1F4E\u1F4Fυυυυυυυυ\u1F58υ\u1F5Aυ\u1F5Cυ\u1F5Eυωωωω"
     U"ωωωωωωωωωωωωααεεηηιιοουυωω\u1F7E\u1F7Fααααααααααααααααηηηηηηηηηηηηηηηηωωωωωωωωωω"
     U"ωωωωωωααααα\u1FB5ααααααα᾽ι᾿῀¨ηηη\u1FC5ηηεεηηη᾿᾿᾿ιιιι\u1FD4\u1FD5ιιιιιι\u1FDC῾῾῾υ"
     U"υυυρρυυυυυυρ¨¨`\u1FF0\u1FF1ωωω\u1FF5ωωοοωωω´῾\u1FFF"},
    {0x3041,
     U"ぁあぃいぅうぇえぉおかかききくくけけここささししすすせせそそたたちちっつつててととなにぬねの"
     U"はははひひひふふふへへへほほほまみむめもゃやゅゆょよらりるれろゎわゐ"
     U"ゑをんうゕゖ\u3097\u3098  "
     U"゛゜ゝゝゟ゠ァアィイゥウェエォオカカキキククケケココササシシススセセソソタタチチッツツテテト"
     U"トナニヌネノハハハヒヒヒフフ"
     U"フヘヘヘホホホマミムメモャヤュユョヨラリルレロヮワヰヱヲンウヵヶワヰヱヲ・ーヽヽヿ"},
};
// clang-format on

}  // namespace

std::u32string code_points(std::string_view text) {
  HEED_CHECK(!invalid_utf8(text), "characters: a word is not UTF-8; convert its file");
  std::u32string points;
  for (std::size_t i = 0; i < text.size();) {
    const auto first = static_cast<unsigned char>(text[i]);
    const std::size_t length = first < 0x80 ? 1 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
    char32_t point = length == 1 ? first : first & (0xFFu >> (length + 1));
    for (std::size_t k = 1; k < length; ++k) {
      point = point << 6 | (static_cast<unsigned char>(text[i + k]) & 0x3Fu);
    }
    points += point;
    i += length;
  }
  return points;
}

void append_utf8(std::string& text, char32_t point) {
  const auto tail = [&](int shift) { text += static_cast<char>(0x80 | (point >> shift & 0x3F)); };
  if (point < 0x80) {
    text += static_cast<char>(point);
  } else if (point < 0x800) {
    text += static_cast<char>(0xC0 | point >> 6);
    tail(0);
  } else if (point < 0x10000) {
    text += static_cast<char>(0xE0 | point >> 12);
    tail(6), tail(0);
  } else {
    text += static_cast<char>(0xF0 | point >> 18);
    tail(12), tail(6), tail(0);
  }
}

bool is_space(char32_t point) {
  return point == ' ' || point == '\t' || point == '\n' || point == '\r' || point == 0xA0 ||
         point == 0x1680 || (point >= 0x2000 && point <= 0x200A) || point == 0x2028 ||
         point == 0x2029 || point == 0x202F || point == 0x205F || point == 0x3000;
}

bool is_control(char32_t point) { return among(kControl, point); }

bool is_punctuation(char32_t point) {
  if (point > 0x7E) return among(kPunctuation, point);
  const bool letter = (point | 0x20) >= 'a' && (point | 0x20) <= 'z';
  return point > ' ' && !letter && !(point >= '0' && point <= '9');
}

bool is_ideograph(char32_t point) { return among(kIdeographs, point); }

char32_t fold(char32_t point) {
  if (point < 0xC0) return point >= 'A' && point <= 'Z' ? point + 0x20 : point;
  if (among(kMarks, point)) return 0;
  for (const auto& [first, to] : kFolds) {
    if (point < first || point - first >= to.size()) continue;
    const char32_t folded = to[point - first];
    return folded == ' ' ? 0 : folded;
  }
  return point;
}

}  // namespace unicode

std::vector<std::string> characters(std::string_view word) {
  std::vector<std::string> result;
  for (const char32_t point : unicode::code_points(word))
    unicode::append_utf8(result.emplace_back(), point);
  return result;
}

}  // namespace heed
