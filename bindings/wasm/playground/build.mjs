// node build.mjs WASM OUTPUT.html: the playground as one page, with the module in it.
import { readFileSync, writeFileSync } from 'node:fs';

const [wasm, output] = process.argv.slice(2);
const read = (path) => readFileSync(new URL(path, import.meta.url), 'utf8');
const viewer = ['codec', 'shapes', 'camera', 'renderer'].map((name) => read(`../../../web/viewer/${name}.js`)).join('');
writeFileSync(output, `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>Carom: two bodies</title>
<style>
${read('../../../web/viewer/page.css')}</style>
${read('page.html')}<script id="carom-worker" type="text/plain">
${read('../carom.js')}${read('worker.js')}</script>
<script id="carom-module" type="application/octet-stream">${readFileSync(wasm).toString('base64')}</script>
<script>
"use strict";
(() => {
${viewer}${read('playground.js')}})();
</script>
</body>
</html>
`);
