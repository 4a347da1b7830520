# Joins Debian's modules of Vega to one script: -DFOLDER=/usr/share/javascript/vega -DOUTPUT=vega.js. Each is a UMD module, which here
# gets `exports`, `module` and `require` of its own; the order is that of their dependencies.
set(modules vega-util vega-time vega-format vega-loader vega-dataflow vega-canvas vega-scale vega-scenegraph vega-statistics vega-expression
    vega-event-selector vega-selections vega-functions vega-parser vega-runtime vega-view vega-transforms vega-view-transforms vega-encode
    vega-label vega-interpreter)
set(text "const vega = (() => {\nconst loaded = {};\nconst require = (name) => loaded[name];\n")
string(APPEND text "const load = (name, body) => { const module = {exports: {}}; body(module.exports, module, require); loaded[name] = module.exports; };\n")
foreach(module ${modules})
  string(REPLACE "selections" "selection" stem ${module})
  file(READ ${FOLDER}/${stem}.min.js content)
  string(REGEX REPLACE "//# sourceMappingURL=[^\n]*" "" content "${content}")
  if(content MATCHES "</script" OR content MATCHES "<!--")
    message(FATAL_ERROR "${stem}.min.js cannot stand inside a page's script")
  endif()
  string(APPEND text "load(\"${module}\", function (exports, module, require) {\n${content}\n});\n")
endforeach()
string(APPEND text "Object.assign(loaded[\"vega-dataflow\"].transforms, loaded[\"vega-transforms\"], loaded[\"vega-view-transforms\"], loaded[\"vega-encode\"], loaded[\"vega-label\"]);\n")
string(APPEND text "return {parse: loaded[\"vega-parser\"].parse, View: loaded[\"vega-view\"].View, interpreter: loaded[\"vega-interpreter\"].expressionInterpreter};\n})();\n")
file(WRITE ${OUTPUT} "${text}")
