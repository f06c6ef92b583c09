#include "serve/page.hpp"

#include "report/viewer.hpp"

namespace heed::serve {

std::string page_html(const std::string& nonce) {
  std::string html =
      "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<title>heed, live</title>\n<link rel=\"icon\" href=\"data:,\">\n<style nonce=\"" +
      nonce + "\">";
  html += live_css();
  html +=
      "</style>\n</head>\n<body>\n<div id=\"app\"></div>\n<noscript>This page needs "
      "JavaScript; it asks this server only.</noscript>\n<script nonce=\"" +
      nonce + "\">";
  html += live_js();
  html += "</script>\n</body>\n</html>\n";
  return html;
}

}  // namespace heed::serve
