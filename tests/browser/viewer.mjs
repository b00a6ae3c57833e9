// Pages of carom export, opened from disk in a headless browser: no error on the console, nothing asked for from a network, frames
// advance, keys and mouse do what they say, damage is told. To open a page takes a second of a processor, so each is opened once.
import { readFileSync, writeFileSync } from 'node:fs';
import assert from 'node:assert/strict';

const state = 'document.documentElement.dataset';
let browser, folder;

async function open(name, options) {
	await browser.open(`file://${folder}/${name}`, options);
	await browser.until(`['ready', 'error'].includes(${state}.state)`, name);
}

function quiet(name) {
	assert.deepEqual(browser.errors, [], `${name}: errors on the console`);
	assert.deepEqual(browser.foreign(`file://${folder}/`), [], `${name}: asks for more than itself`);
}

/** How many colours the middle of the picture has: an empty one has those of sky and ground, a few dozen. */
const picture = `(() => { const v = document.getElementById('view'), c = document.createElement('canvas'); c.width = c.height = 200;
	const d = c.getContext('2d'); caromViewer.drawNow(); d.drawImage(v, v.width / 2 - 100, v.height / 2 - 100, 200, 200, 0, 0, 200, 200);
	const p = new Uint32Array(d.getImageData(0, 0, 200, 200).data.buffer); let h = 0; for (const x of p) h = Math.imul(h ^ x, 16777619);
	return { colors: new Set(p).size, hash: h }; })()`;

async function plays(name) {
	await open(name);
	assert.equal(await browser.evaluate(`${state}.state`), 'ready');
	await browser.until(`${state}.whole === 'yes'`, `${name}: the end of the page`);
	const first = await browser.evaluate(picture);
	assert.ok(first.colors > 200, `${name}: the picture has ${first.colors} colours`);
	await browser.key('End');
	await browser.until(`+${state}.frame === caromViewer.master.frames - 1 && !caromViewer.dirty`, `${name}: the last frame`);
	const last = await browser.evaluate(picture);
	assert.notEqual(last.hash, first.hash, `${name}: the last frame looks like the first`);
	await browser.key('Home');
	await browser.until(`+${state}.frame === 0 && !caromViewer.dirty`, `${name}: the first frame`);
	assert.equal((await browser.evaluate(picture)).hash, first.hash, `${name}: the first frame looks different later`);
	await browser.key(' ');
	await browser.until(`+${state}.frame > 0`, `${name}: frames advance`);
	await browser.evaluate('caromViewer.play(false)');
	await sharesKeys(name);
	quiet(name);
}

/** Space is the focused control's, arrows turn the picture that has the focus, and the slider tells the time in words. */
async function sharesKeys(name) {
	const press = (id, key) => browser.evaluate(`(() => { const to = document.getElementById('${id}') || document.body, camera = JSON.stringify(caromViewer.camera), frame = caromViewer.frame;
		const taken = !to.dispatchEvent(new KeyboardEvent('keydown', { key: '${key}', bubbles: true, cancelable: true })), plays = caromViewer.playing;
		caromViewer.play(false); return { taken, plays, turned: JSON.stringify(caromViewer.camera) !== camera, moved: caromViewer.frame !== frame }; })()`);
	for (const control of ['layer-bodies', 'show-charts', 'play'])
		assert.deepEqual(await press(control, ' '), { taken: false, plays: false, turned: false, moved: false }, `${name}: Space on ${control}`);
	assert.equal((await press('', ' ')).plays, true, `${name}: Space elsewhere`);
	await browser.evaluate('caromViewer.setFrame(0)');
	for (const key of ['ArrowLeft', 'ArrowRight', 'ArrowUp', 'ArrowDown', 'PageUp', 'PageDown'])
		assert.deepEqual(await press('view', key), { taken: true, plays: false, turned: true, moved: false }, `${name}: ${key} on the picture`);
	assert.deepEqual(await press('', 'ArrowRight'), { taken: true, plays: false, turned: false, moved: true }, `${name}: the arrow elsewhere`);
	assert.match(await browser.evaluate('document.getElementById("scrub").getAttribute("aria-valuetext")'), /^[\d.]+ s, step \d+$/);
}

/** Points of deforming bodies and of spheres, on the page that is open: their numbers are told, and each layer changes the picture. */
async function showsPoints(name, keys) {
	await browser.until(`${state}.points !== undefined`, `${name}: points`);
	await browser.key('End');
	await browser.until('!caromViewer.dirty && !caromViewer.scene.readingPoints', `${name}: points of the last frame`);
	for (const key of keys) {
		const before = await browser.evaluate(picture), layer = await browser.evaluate(`(() => { const list = [...document.querySelectorAll('#layers label')];
			const label = list.find((each) => each.querySelector('kbd').textContent.toLowerCase() === '${key}'); return { off: label.className, count: +label.querySelector('.count').textContent.replace(/\\D/g, '') }; })()`);
		assert.equal(layer.off, '', `${name}: layer ${key} is off`);
		assert.ok(layer.count > 0, `${name}: layer ${key} has no points`);
		await browser.key(key);
		assert.notEqual((await browser.evaluate(picture)).hash, before.hash, `${name}: layer ${key} changes nothing`);
	}
	quiet(name);
}

/** A page of two recordings that are equal: both halves show the same. */
async function comparesEqual() {
	const half = (renderer) => `(() => { const v = caromViewer.${renderer}.canvas, c = document.createElement('canvas'); c.width = v.width; c.height = v.height;
		const d = c.getContext('2d'); caromViewer.drawNow(); d.drawImage(v, 0, 0); const p = new Uint32Array(d.getImageData(0, 0, c.width, c.height).data.buffer);
		let h = 0; for (const x of p) h = Math.imul(h ^ x, 16777619); return { width: v.width, colors: new Set(p).size, hash: h }; })()`;
	await open('same.html');
	await browser.until(`${state}.differences !== undefined`, 'a comparison');
	assert.equal(await browser.evaluate(`${state}.differences`), '0');
	assert.match(await browser.evaluate('document.getElementById("differences").textContent'), /None: all columns are equal/);
	await browser.key('End');
	await browser.until('!caromViewer.dirty', 'the last frame of both');
	const [left, right] = [await browser.evaluate(half('renderer')), await browser.evaluate(half('second'))];
	assert.ok(left.colors > 200, `the first half has ${left.colors} colours`);
	assert.ok(left.width <= browser.size.width / 2, 'a half of the page');
	assert.equal(right.hash, left.hash, 'equal runs look alike');
	quiet('same.html');
}

/** A page of two recordings: one clock, one camera, contacts and picked bodies in both, and where they differ. */
async function comparesDifferent() {
	await open('two.html');
	await browser.until(`+${state}.differences > 0`, 'differences');
	await browser.key('4');
	await browser.until('caromViewer.scenes.every((scene) => scene.found.length > 0)', 'contacts of both');
	assert.equal(await browser.evaluate('document.querySelectorAll(".chart")[0].querySelectorAll("b").length'), 2);
	const capsule = await browser.evaluate(`(() => { const [a, b] = caromViewer.scenes, i = a.bodies.findIndex((body) => body.rows[0].type === 'capsule'); caromViewer.picked = { kind: 'body', number: i, view: 0 };
		a.picked = b.picked = caromViewer.picked; caromViewer.drawNow(); return document.getElementById('picked').textContent; })()`);
	assert.match(capsule, /in the other.*apart by0\.\d+ m/);
	await browser.evaluate('document.querySelector("#differences button").click()');
	await browser.key('Escape');
	assert.equal(await browser.evaluate('caromViewer.scenes.some((scene) => scene.picked)'), false);
	quiet('two.html');
}

/** A page of recorded library calls (tests/cli/record_calls.c): bodies and spheres come and go, a body tells its id and user data. */
async function showsCalls() {
	const there = '(scene) => [scene.bodies.filter((body) => body.there).length, scene.places.filter((c) => c === c).length / 3, scene.pieceCount]';
	await open('calls.html');
	const at = async (frame) => {
		await browser.evaluate(`caromViewer.setFrame(${frame})`);
		await browser.until(`+${state}.frame === ${frame} && !caromViewer.dirty`, `frame ${frame}`);
		return browser.evaluate(`JSON.stringify((${there})(caromViewer.scenes[0]))`);
	};
	assert.equal(await at(3), '[14,1,3]');
	assert.equal(await at(12), '[15,32,3]');
	assert.equal(await at(39), '[14,32,3]');
	assert.ok((await browser.evaluate(picture)).colors > 100, 'a picture of recorded calls');
	assert.ok(await browser.evaluate('Number.isFinite(caromViewer.scenes[0].boxOfMoving()[0][0])'), 'a box of what is there');
	const picked = await browser.evaluate(`(() => { const [scene] = caromViewer.scenes; caromViewer.picked = scene.picked = { kind: 'body', number: 15, view: 0 };
		caromViewer.drawNow(); return document.getElementById('picked').textContent; })()`);
	assert.match(picked, /Body 15.*id3\.1user data102/);
	quiet('calls.html');
}

/** Keys, layers and mouse on the page of bodies, which is open. */
async function obeys() {
	// Structure: what a reader can use, and names for those who do not see it.
	assert.equal(await browser.evaluate('document.querySelector("h1").textContent'), 'two < three & "more"');
	const unnamed = await browser.evaluate(`[...document.querySelectorAll('button, input, select, canvas#view')].filter((e) =>
		!(e.getAttribute('aria-label') || e.textContent.trim() || e.closest('label'))).length`);
	assert.equal(unnamed, 0, 'controls without a name');
	assert.ok(await browser.evaluate('document.querySelectorAll("#charts .chart").length') > 3, 'there are charts');

	// Layers change the picture; contacts are there and told.
	await browser.key('End');
	await browser.until(`+${state}.frame === caromViewer.master.frames - 1 && !caromViewer.dirty`, 'the last frame');
	const plain = await browser.evaluate(picture);
	for (const key of ['4', '5', '8'])
		await browser.key(key);
	await browser.until(`+${state}.contacts > 0`, 'contacts');
	assert.notEqual((await browser.evaluate(picture)).hash, plain.hash, 'layers change nothing');
	assert.match(await browser.evaluate('document.getElementById("deepest").textContent'), /m$/);

	// A click picks a body; what is told is of this one.
	const middle = await browser.evaluate(`(() => { const c = caromViewer.camera, b = caromViewer.scene.bodies.find((x) => x.rows[0].type === 'box'); c.target = b.place; c.distance = 3; caromViewer.drawNow();
		const r = document.getElementById('view').getBoundingClientRect(); return [r.x + r.width / 2, r.y + r.height / 2]; })()`);
	await browser.mouse('mousePressed', ...middle);
	await browser.mouse('mouseReleased', ...middle);
	await browser.until('!document.getElementById("picked").hidden', 'a picked body');
	await browser.until(`/Body \\d+/.test(document.getElementById('picked').textContent)`, 'its number');
	await browser.key('Escape');
	await browser.until('document.getElementById("picked").hidden', 'Escape lets it go');

	// The next event; dragging turns the view; dark.
	await browser.key('Home');
	await browser.key('n');
	await browser.until(`+${state}.frame > 0 && !document.getElementById('message').hidden`, 'the next event');
	const heading = await browser.evaluate('caromViewer.camera.heading');
	await browser.mouse('mousePressed', middle[0] - 40, middle[1] - 10);
	await browser.mouse('mouseMoved', middle[0] - 10, middle[1]);
	await browser.mouse('mouseReleased', middle[0] - 10, middle[1]);
	assert.notEqual(await browser.evaluate('caromViewer.camera.heading'), heading, 'dragging turns the view');
	await browser.key('d');
	assert.ok(await browser.evaluate('document.documentElement.classList.contains("dark")'), 'D makes it dark');
	quiet('bodies.html');
}

/** A phone: nothing is wider than the screen. */
async function fitsPhone() {
	await open('bodies.html', { phone: true, dark: true });
	assert.ok(await browser.evaluate('document.documentElement.scrollWidth <= innerWidth'), 'the page is wider than a phone');
	quiet('bodies.html on a phone');
}

/** A copy of a page with its text changed. */
function spoil(name, to, change) {
	const text = readFileSync(`${folder}/${name}`, 'latin1'), changed = change(text);
	assert.notEqual(changed, text, `${to}: nothing was changed`);
	writeFileSync(`${folder}/${to}`, changed, 'latin1');
}

async function tells(name, words) {
	await open(name);
	await browser.until(`${words}.test(document.getElementById('message').textContent)`, `${name}: a message like ${words}`);
}

/** The text of a page with a letter of a block changed. */
const flip = (block) => (text) => text.replace(new RegExp(`(data-name="${block}" data-size="\\d+">[^<]{200})(.)`), (all, head, c) => head + (c === 'A' ? 'B' : 'A'));

/** Damage to a later block is told once, and the frames before it are shown as ever. */
async function livesWithDamage() {
	spoil('long.html', 'later.html', flip('poses-1'));
	await tells('later.html', '/damaged.*poses-1/');
	await browser.key('End');
	await browser.frames(20); // an error told at each would be told twenty times
	await browser.key('Home');
	await browser.until(`+${state}.frame === 0 && !caromViewer.dirty`, 'the first frame of a damaged page');
	assert.ok((await browser.evaluate(picture)).colors > 200, 'the first frame of a damaged page is drawn');
	assert.ok(await browser.evaluate('caromViewer.errors.length') <= 2, 'damage is told again and again');
}

/** Each kind of damage is told. */
async function tellsDamage() {
	spoil('bodies.html', 'flipped.html', flip('poses-0'));
	await tells('flipped.html', '/damaged.*poses-0/');
	spoil('bodies.html', 'head.html', (text) => text.replace('"format":"carom-page"', '"format":"carom-page'));
	await tells('head.html', '/head cannot be read/');
	spoil('bodies.html', 'newer.html', (text) => text.replace('"format":"carom-page","version":1', '"format":"carom-page","version":7'));
	await tells('newer.html', '/version 7.*reads version 1/');
	spoil('bodies.html', 'cut.html', (text) => text.slice(0, text.lastIndexOf('<script>caromEnd')));
	await tells('cut.html', '/cut off/');
	spoil('bodies.html', 'missing.html', (text) => text.replace(/<script type="application\/octet-stream" data-name="bodies".*?<\/script><script>caromBlock\(\)<\/script>/, ''));
	await tells('missing.html', '/“bodies” is missing/');
}

/**
 * Looks at the pages in a folder. A second browser draws, decodes, plays and obeys too; what the page computes by itself, whatever draws
 * it, is left to the first: equal recordings compared, the texts of damage, and what was left out.
 */
export async function lookAtPages(ofBrowser, inFolder, isSecond) {
	[browser, folder] = [ofBrowser, inFolder];
	await plays('cloth.html');
	await showsPoints('cloth.html', ['9', '0']);
	await plays('spheres.html');
	await showsPoints('spheres.html', ['s']);
	await plays('bodies.html');
	await obeys();
	await comparesDifferent();
	await fitsPhone();
	await livesWithDamage();
	if (isSecond)
		return;
	await comparesEqual();
	await showsCalls();
	await open('thin.html'); // what left frames or spheres out says so
	assert.match(await browser.evaluate('document.getElementById("notes").textContent'), /frame of|left out/);
	await tellsDamage();
}
