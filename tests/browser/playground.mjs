// node playground.mjs BROWSER PAGE: the playground opened from disk: contacts while a body is moved by hand, by mouse and by keys, distance
// where the two are apart, meshes of files, and what is said about files that cannot be used.
import assert from 'node:assert/strict';
import { startBrowser } from './browser.mjs';

const [program, page] = process.argv.slice(2);
const browser = await startBrowser(program, 800, 400);
const verdict = 'document.getElementById("verdict").textContent', message = 'document.getElementById("message").textContent';
const open = (name, text) => browser.evaluate(`caromPlayground.open(new File([${JSON.stringify(text)}], ${JSON.stringify(name)})).catch(caromPlayground.fail)`);

try {
	await browser.open(`file://${page}`);
	await browser.until(`document.documentElement.dataset.state === 'ready'`, 'the playground');
	await browser.until(`${verdict} === 'Apart'`, 'two bodies apart');
	assert.match(await browser.evaluate('document.getElementById("facts").textContent'), /distance0\.\d+/);

	// By mouse: the body that is under it, to the middle between the two.
	const at = await browser.evaluate(`(() => { const p = caromPlayground; for (let y = 0; y < 400; y += 8) for (let x = 799; x >= 0; x -= 8) { const f = p.renderer.pick(p.camera, x, y); if (f && f.number === 1 && document.elementFromPoint(x, y).id === 'view') return [x, y]; } })()`);
	await browser.mouse('mousePressed', ...at);
	for (let i = 1; i <= 8; i++)
		await browser.mouse('mouseMoved', at[0] - 15 * i, at[1]);
	await browser.mouse('mouseReleased', at[0] - 120, at[1]);
	assert.ok(await browser.evaluate('caromPlayground.bodies[1].place[0] !== 1.3'), 'dragging moves the body');
	await browser.evaluate('caromPlayground.move(caromPlayground.bodies[1], [-1, 0, 0].map((c, k) => (k ? 0 : -0.4) - caromPlayground.bodies[1].place[k]))');
	await browser.until(`/^[1-9]\\d* contacts$/.test(${verdict})`, 'contacts');

	// By keys: put apart, then from the right towards the first body.
	await browser.evaluate('document.getElementById("reset").click()');
	await browser.until(`${verdict} === 'Apart'`, 'apart again');
	const before = await browser.evaluate('caromPlayground.bodies[1].place.join()');
	await browser.key('ArrowLeft');
	await browser.until(`caromPlayground.bodies[1].place.join() !== '${before}'`, 'a key moves the body');

	// Meshes of files; the body that was touched last takes them.
	await open('box.obj', 'v 0 0 0\nv 4 0 0\nv 4 4 0\nv 0 4 0\nv 0 0 4\nv 4 0 4\nv 4 4 4\nv 0 4 4\nf 1 4 3 2\nf 5 6 7 8\nf 1 2 6 5\nf 2 3 7 6\nf 3 4 8 7\nf 4 1 5 8\n');
	assert.equal(await browser.evaluate('caromPlayground.bodies[1].name'), 'box.obj');
	assert.equal(await browser.evaluate(message), '');
	await open('face.stl', 'solid a\nfacet normal 0 0 1\nouter loop\nvertex 0 0 0\nvertex 1 0 0\nvertex 0 1 0\nendloop\nendfacet\nendsolid a\n');
	assert.match(await browser.evaluate(message), /face\.stl is open: it has 3 border edges/);
	await open('empty.obj', '# nothing\n');
	assert.match(await browser.evaluate(message), /empty\.obj: holds no triangles/);
	await open('wrong.obj', 'v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 9\n');
	assert.match(await browser.evaluate(message), /wrong\.obj/);
	await open('picture.png', 'x');
	assert.match(await browser.evaluate(message), /OBJ and STL/);
	assert.equal(await browser.evaluate('caromPlayground.bodies[1].name'), 'face.stl');
	assert.deepEqual(browser.errors, []);
	assert.deepEqual(browser.foreign(`file://${page}`), []);
	console.log('the playground works');
} finally {
	await browser.close();
}
