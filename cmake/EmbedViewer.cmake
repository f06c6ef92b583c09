# Writes a C++ file with the scripts and styles of the report and the live page as string literals.
# cmake -DDIST=… -DOUT=… -P EmbedViewer.cmake
set(code "#include \"report/viewer.hpp\"\n\nnamespace heed {\n")
foreach(bundle viewer live)
  foreach(kind js css)
    file(READ ${DIST}/${bundle}.${kind} text)
    if(text MATCHES "\\)heed_viewer\"")
      message(FATAL_ERROR "${DIST}/${bundle}.${kind} contains the end of our literal")
    endif()
    string(APPEND code "\nstd::string_view ${bundle}_${kind}() { return R\"heed_viewer(${text})heed_viewer\"; }\n")
  endforeach()
endforeach()
string(APPEND code "\n}  // namespace heed\n")
file(WRITE ${OUT} "${code}")
