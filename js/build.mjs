// Builds the page's files into the Python package; the same sources give the same bytes.
//   node build.mjs             widget.js, widget.css, maths.js, languages.js, LICENSES.txt
//   node build.mjs --watch     the same, again on each change, unminified
//   node build.mjs --gallery   dev/gallery.js, for dev/gallery.html
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import * as esbuild from "esbuild";

const here = path.dirname(fileURLToPath(import.meta.url));
const out = path.join(here, "../acp_notebook/widget/static");
const MAX_EAGER_BYTES = 320_000;

/** @type {esbuild.BuildOptions} */
const common = {
  absWorkingDir: here, bundle: true, format: "esm", target: "es2022", charset: "utf8", legalComments: "none",
  jsx: "automatic", jsxImportSource: "preact", metafile: true, logLevel: "warning", define: { "process.env.NODE_ENV": '"production"' },
};

/** The licence texts of all packages whose code is in the bundles. */
function licences(metafiles) {
  const packages = new Set();
  for (const { inputs } of metafiles) {
    for (const input of Object.keys(inputs)) {
      const found = /^(.*node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(input);
      if (found) packages.add(found[1]);
    }
  }
  const texts = [...packages].sort().map((folder) => {
    const { name, version, license } = JSON.parse(readFileSync(path.join(here, folder, "package.json"), "utf8"));
    const file = readdirSync(path.join(here, folder)).filter((entry) => /^(licen[cs]e|copying)/i.test(entry)).sort()[0];
    if (!file) throw new Error(`no licence text in ${folder}`);
    return `${name} ${version} (${license})\n\n${readFileSync(path.join(here, folder, file), "utf8").replace(/\r\n/g, "\n").trim()}\n`;
  });
  return texts.join(`\n${"-".repeat(79)}\n\n`);
}

async function build() {
  const minify = { ...common, minify: true };
  const [widget, styles, maths, languages] = await Promise.all([
    esbuild.build({ ...minify, entryPoints: ["src/index.ts"], outfile: path.join(out, "widget.js") }),
    esbuild.build({ ...minify, entryPoints: ["src/styles/widget.css"], outfile: path.join(out, "widget.css"), target: "chrome115" }),
    esbuild.build({ ...minify, entryPoints: ["src/markdown/lazy/maths.ts"], outfile: path.join(out, "maths.js") }),
    esbuild.build({ ...minify, entryPoints: ["src/markdown/lazy/languages.ts"], outfile: path.join(out, "languages.js") }),
  ]);
  writeFileSync(path.join(out, "LICENSES.txt"), licences([widget, styles, maths, languages].map(({ metafile }) => metafile)));
  for (const { metafile } of [widget, styles, maths, languages]) {
    for (const [file, { bytes }] of Object.entries(metafile.outputs)) {
      console.log(`${path.basename(file).padEnd(14)} ${(bytes / 1024).toFixed(1)} KiB`);
      if (file.endsWith("widget.js") && bytes > MAX_EAGER_BYTES) throw new Error(`${file} is larger than ${MAX_EAGER_BYTES} bytes`);
    }
  }
}

if (process.argv.includes("--gallery")) {
  await esbuild.build({ ...common, entryPoints: ["dev/gallery.ts"], outfile: "dev/build/gallery.js", sourcemap: "inline" });
  await esbuild.build({ ...common, entryPoints: ["src/styles/widget.css"], outfile: "dev/build/gallery.css", target: "chrome115" });
} else if (process.argv.includes("--watch")) {
  const contexts = await Promise.all([
    esbuild.context({ ...common, entryPoints: ["src/index.ts"], outfile: path.join(out, "widget.js"), sourcemap: "inline" }),
    esbuild.context({ ...common, entryPoints: ["src/styles/widget.css"], outfile: path.join(out, "widget.css"), target: "chrome115" }),
  ]);
  await Promise.all(contexts.map((context) => context.watch()));
} else {
  await build();
}
