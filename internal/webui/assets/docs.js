"use strict";

(() => {
  const text = 'system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif';
  const code = 'ui-monospace, SFMono-Regular, Menlo, Consolas, "Liberation Mono", monospace';
  const reference = document.getElementById("reference");

  const options = {
    // Whether an operation is served yet.
    showExtensions: ["x-status"],
    expandResponses: "200,201",
    // Names and patterns of schemas are for programs; the texts say the same for people.
    hideSchemaPattern: true,
    hideSchemaTitles: true,
    jsonSamplesExpandLevel: 3,
    theme: {
      colors: { primary: { main: "#1d5fa8" } },
      // Wide margins are for wide screens.
      spacing: { sectionHorizontal: window.innerWidth < 600 ? 20 : 40 },
      typography: {
        fontFamily: text,
        headings: { fontFamily: text, fontWeight: "600" },
        code: { fontFamily: code, color: "#1f3b57", backgroundColor: "#eef2f6" },
      },
    },
  };

  Redoc.init("/openapi.yaml", options, reference, (failure) => {
    if (failure) {
      reference.textContent = "The reference could not be shown. It is also a plain text file: /openapi.yaml";
      reference.className = "notice";
    }
  });
})();
