// Builds dist/report.html: one bundle, one style sheet, both named by hash in the page's policy.
// The result is committed, so that building sonde needs no node; tests/end/report_page.py builds it
// again and compares bytes.
import { build } from 'esbuild';
import { minify } from 'terser';
import { createHash } from 'node:crypto';
import { readFileSync, writeFileSync, mkdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { propertiesOf } from './src/palette.js';

const here = dirname(fileURLToPath(import.meta.url));
const out = process.argv[2] ?? join(here, 'dist', 'report.html');
const options = {
	bundle: true, write: false, minify: true, charset: 'utf8', legalComments: 'none',
	target: 'es2022', absWorkingDir: here, logLevel: 'warning',
};
const script = await build({
	...options, entryPoints: ['src/main.jsx'], format: 'iife',
	jsxFactory: 'h', jsxFragment: 'Fragment',
	// Long names that only we use, and never as strings: short ones fit the budget.
	mangleProps: /^(nodeExcl|nodeIncl|placeNs|placeSamples|funcExcl|funcIncl|funcSamples|loopExcl|ownLoopExcl|loopIncl|loopSamples|pointNs|pointSamples|sampleTotal|threadNs|threadSamples|outermost|nodeWait|threadWait|perColumn|rowHeight|classCount|matcher|rowKey|rowClass|onOpen|onSort|onHover|onPick|sortable|xRange|yRange|xLabel|yLabel|xUnit|yUnit|xLeast|isFirst|needsIncl|rowsKind|isCut|byThread|idleThreads|assembly|argument|filtered|functionOf|modelled|moreColumns|colours|entities|entity|slopes|flats|boxes|weigh|isOpen|className|whole|query|inputs|isUsed|room|setZoom|badQuery|matched|onMove|covered)$/,
});
const style = await build({ ...options, entryPoints: ['src/style.css'] });

// A bundle may hold "</script" only inside strings; there "<\/script" means the same.
// Terser folds and inlines what esbuild leaves: some 2,300 bytes compressed.
const { code: small } = await minify(script.outputFiles[0].text, { ecma: 2020, compress: { passes: 2 } });
const code = small.replaceAll('</script', '<\\/script').trimEnd();
const css = `:root{${propertiesOf(0)}}:root[data-theme=dark]{${propertiesOf(1)}}` + style.outputFiles[0].text.trimEnd();
const hash = (text) => `'sha256-${createHash('sha256').update(text).digest('base64')}'`;
const fill = (text, marker, value) => {
	const [before, after] = text.split(marker);
	return before + value + after;
};
let page = readFileSync(join(here, 'src', 'shell.html'), 'utf8').trimEnd() + '\n';
page = fill(page, '/*SCRIPT-HASH*/', hash(code));
page = fill(page, '/*STYLE-HASH*/', hash(css));
page = fill(page, '/*STYLE*/', css);
page = fill(page, '/*SCRIPT*/', code);
mkdirSync(dirname(out), { recursive: true });
writeFileSync(out, page);
const packed = gzipSync(code, { level: 9 }).length;
console.log(`${out}: ${page.length} characters; compressed: script ${packed} bytes, all ${gzipSync(page, { level: 9 }).length}`);
if (packed > 60000) {
	console.error('the script is over its budget of 60,000 bytes compressed');
	process.exit(1);
}
