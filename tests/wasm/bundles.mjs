// node bundles.mjs PACKAGE [MODULES]: loadCarom takes the module in each of the ways that bundles need. MODULES: a folder node_modules, whose
// bundlers (esbuild, webpack, rollup, vite) then make bundles of a program: for browsers none may ask for a module of Node or lose carom.wasm,
// and for Node the bundles run.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';

const [folder, modules] = process.argv.slice(2), text = readFileSync(`${folder}/carom.js`, 'utf8'), bytes = readFileSync(`${folder}/carom.wasm`);

// No import whose name a bundler reads, and the one form of address that bundlers know.
assert.doesNotMatch(text, /(?:import|require)\s*\(?\s*["'`]|^import\s|\sfrom\s+["'`]/m);
assert.match(text, /new URL\("carom\.wasm", import\.meta\.url\)/);

// Where the file is unknown, as in a bundle of one script: a clear error, and the module can be given in each form.
const { loadCarom, CaromError } = await import('data:text/javascript,' + encodeURIComponent(text));
const refuses = (given, words, code) => assert.rejects(loadCarom(...given), (e) => e instanceof CaromError && e.code === code && words.test(e.message));
await refuses([], /does not know where carom\.wasm is/, 'not found');
const address = `data:application/wasm;base64,${bytes.toString('base64')}`;
for (const given of [bytes, new Uint8Array(bytes).buffer, await WebAssembly.compile(bytes), `${folder}/carom.wasm`, pathToFileURL(`${folder}/carom.wasm`), address])
	assert.match((await loadCarom(given)).version, /^\d+\.\d+\.\d+$/);
await refuses([new Uint8Array(5)], /module has 5 bytes that are not carom\.wasm/, 'invalid argument');
await refuses([null], /module is null; it must be bytes/, 'invalid argument');
await assert.rejects(loadCarom(`${folder}/nowhere.wasm`), /nowhere\.wasm/);

const PROGRAM = `import { loadCarom } from "carom-collision";
const place = globalThis.caromPlace;
loadCarom(place).then((carom) => { const world = carom.createWorld(); world.addBody({ kind: "static", shape: { type: "plane" } });
world.addBody({ shape: { type: "sphere", radius: 1 }, pose: [0, 0, 0.5, 0, 0, 0, 1] }); world.step(); console.log("contacts", world.contacts.length); }, (e) => console.log(e.message));\n`;
const all = (place) => readdirSync(place, { recursive: true }).map((name) => join(place, String(name)));
/** The module lies among the files of a bundle, or in one of them. */
const carries = (out) => all(out).some((file) => file.endsWith('.wasm') && readFileSync(file).equals(bytes)) ||
	all(out).some((file) => /\.m?js$/.test(file) && readFileSync(file, 'utf8').includes(bytes.toString('base64').slice(0, 400)));
const scripts = (out) => all(out).filter((file) => /\.[cm]?js$/.test(file));
const runs = (file) => execFileSync(process.execPath, [file], { encoding: 'utf8' }).trim();

const ways = {
	async esbuild(esbuild, work) {
		const options = { entryPoints: [join(work, 'main.js')], bundle: true, logLevel: 'silent', minify: true };
		const { warnings } = await esbuild.build({ ...options, platform: 'browser', format: 'esm', outdir: join(work, 'browser') });
		assert.deepEqual(warnings, []); // it leaves new URL alone: carom.wasm is copied beside the bundle (docs/guide/browser.md)
		await esbuild.build({ ...options, platform: 'node', format: 'esm', outfile: join(work, 'node/main.mjs') });
		cpSync(`${folder}/carom.wasm`, join(work, 'node/carom.wasm'));
		assert.equal(runs(join(work, 'node/main.mjs')), 'contacts 1');
		await esbuild.build({ ...options, platform: 'node', format: 'cjs', outfile: join(work, 'cjs/main.cjs') });
		assert.match(runs(join(work, 'cjs/main.cjs')), /does not know where carom\.wasm is/);
		await esbuild.build({ ...options, platform: 'node', format: 'cjs', outfile: join(work, 'given/main.cjs'), banner: { js: `globalThis.caromPlace = ${JSON.stringify(resolve(folder, 'carom.wasm'))};` } });
		assert.equal(runs(join(work, 'given/main.cjs')), 'contacts 1');
	},
	async webpack({ default: webpack }, work) {
		const run = (target, out) => new Promise((done, fail) => webpack({ mode: 'production', performance: false, context: work, entry: './main.js', target, output: { path: join(work, out), filename: target === 'node' ? 'main.cjs' : 'main.js' } },
			(error, stats) => error || stats.hasErrors() || stats.hasWarnings() ? fail(error || new Error(stats.toString())) : done()));
		await run('web', 'browser');
		assert.ok(carries(join(work, 'browser')), 'webpack leaves carom.wasm behind');
		await run('node', 'node');
		assert.equal(runs(join(work, 'node/main.cjs')), 'contacts 1');
	},
	async rollup({ rollup }, work) {
		const plugin = { name: 'resolve', resolveId: (id) => id === 'carom-collision' ? resolve(folder, 'carom.js') : null }, bundle = await rollup({ input: join(work, 'main.js'), plugins: [plugin],
			onwarn: (warning) => { throw new Error(warning.message); } });
		await bundle.write({ dir: join(work, 'browser'), format: 'es', entryFileNames: 'main.mjs' });
		cpSync(`${folder}/carom.wasm`, join(work, 'browser/carom.wasm'));
		assert.equal(runs(join(work, 'browser/main.mjs')), 'contacts 1');
	},
	async vite({ build }, work) {
		writeFileSync(join(work, 'index.html'), '<script type="module" src="./main.js"></script>');
		await build({ root: work, base: './', logLevel: 'error', configFile: false, build: { outDir: join(work, 'browser') } });
		assert.ok(carries(join(work, 'browser')), 'vite leaves carom.wasm behind');
	},
};

/** A package of a folder: what it has for import, where that is another file than for require. */
async function importFrom(place, name) {
	const { exports } = JSON.parse(readFileSync(join(place, name, 'package.json'))), own = exports && exports['.'] && exports['.'].import, file = own && (own.default || own);
	return import(pathToFileURL(typeof file === 'string' ? join(place, name, file) : createRequire(join(resolve(place), 'none.js')).resolve(name)));
}

const tried = [];
for (const [name, way] of modules ? Object.entries(ways) : []) {
	if (!existsSync(join(modules, name)))
		continue;
	const work = mkdtempSync(join(tmpdir(), 'carom-bundle-')), own = join(work, 'node_modules/carom-collision');
	try {
		mkdirSync(own, { recursive: true });
		for (const file of ['package.json', 'carom.js', 'carom.wasm'])
			cpSync(`${folder}/${file}`, join(own, file));
		writeFileSync(join(work, 'main.js'), PROGRAM);
		await way(await importFrom(modules, name), work);
		for (const file of scripts(join(work, 'browser')))
			assert.doesNotMatch(readFileSync(file, 'utf8'), /(?:from|import|require\()\s*["'`](?:node:|fs\b)|browser-external/, `${name}: a bundle for browsers needs a module of Node`);
		tried.push(name);
	} finally {
		rmSync(work, { recursive: true, force: true });
	}
}
console.log(`the module is loaded in six forms; bundlers: ${tried.join(', ') || 'none given'}`);
