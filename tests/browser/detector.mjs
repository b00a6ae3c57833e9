// node detector.mjs BROWSER FOLDER: in bodies.html and convex.html of FOLDER the library finds the contacts of frames, and they are those
// that the command found; a hash that differs, and a module that is damaged, are told.
import { readFileSync, writeFileSync } from 'node:fs';
import assert from 'node:assert/strict';
import { startBrowser } from './browser.mjs';

const [program, folder] = process.argv.slice(2);
const browser = await startBrowser(program, 480, 320);
const state = 'document.documentElement.dataset', message = 'document.getElementById("message").textContent';

async function open(name) {
	await browser.open(`file://${folder}/${name}`);
	await browser.until(`${state}.state === 'ready'`, name);
	await browser.until(`${state}.whole === 'yes'`, `${name}: its end`);
}

try {
	for (const name of ['convex.html', 'bodies.html']) {
		await open(name);
		await browser.key('End');
		await browser.until('!caromViewer.dirty', `${name}: the last frame`);
		await browser.key('4');
		await browser.until(`+${state}.contacts > 0`, `${name}: contacts`);
		await browser.key('c');
		await browser.until(`${state}.check === 'equal'`, `${name}: a check`);
		assert.match(await browser.evaluate(message), /bit for bit: [0-9a-f]{16}/);
		assert.deepEqual(browser.errors, []);
		assert.deepEqual(browser.foreign(`file://${folder}/`), []);
	}
	// Another pose than the command's: the hash tells.
	await browser.evaluate(`caromViewer.head.tracks.poses.quantum *= 1.0001; delete ${state}.check`);
	await browser.key('c');
	await browser.until(`${state}.check === 'different'`, 'a hash that differs');
	// A damaged module.
	const text = readFileSync(`${folder}/bodies.html`, 'latin1');
	writeFileSync(`${folder}/damaged.html`, text.replace(/(data-name="carom-wasm" data-size="\d+">[^<]{5000})(.)/, (all, head, c) => head + (c === 'A' ? 'B' : 'A')), 'latin1');
	await open('damaged.html');
	await browser.key('c');
	await browser.until(`/damaged.*carom-wasm/.test(${message})`, 'a damaged module');
	console.log('contacts are found in the page, and are equal');
} finally {
	await browser.close();
}
