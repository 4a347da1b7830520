# The page without its data: -DFOLDER=.. (this one) -DVEGA=vega.js -DOUTPUT=page.html
file(READ ${FOLDER}/shell.html page)
file(READ ${VEGA} vega)
foreach(part style.css charts.js gantt.js sections.js page.js)
  file(READ ${FOLDER}/${part} content)
  string(REPLACE "@${part}@" "${content}" page "${page}")
endforeach()
string(REPLACE "@vega.js@" "${vega}" page "${page}")
file(WRITE ${OUTPUT} "${page}")
