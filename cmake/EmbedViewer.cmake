# Writes a C++ file with the viewer's script and style as string literals.
# cmake -DJS=… -DCSS=… -DOUT=… -P EmbedViewer.cmake
set(code "#include \"report/viewer.hpp\"\n\nnamespace heed {\n")
foreach(kind JS CSS)
  file(READ ${${kind}} text)
  if(text MATCHES "\\)heed_viewer\"")
    message(FATAL_ERROR "${${kind}} contains the end of our literal")
  endif()
  string(TOLOWER ${kind} name)
  string(APPEND code "\nstd::string_view viewer_${name}() { return R\"heed_viewer(${text})heed_viewer\"; }\n")
endforeach()
string(APPEND code "\n}  // namespace heed\n")
file(WRITE ${OUT} "${code}")
