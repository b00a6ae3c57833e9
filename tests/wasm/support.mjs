// What the tests of the npm package share.
import assert from 'node:assert/strict';
import { pathToFileURL } from 'node:url';

/** The package in a folder, loaded, and assertions on it. */
export async function load(folder) {
	const { loadCarom, CaromError } = await import(pathToFileURL(`${folder}/carom.js`));
	return {
		carom: await loadCarom(),
		loadCarom,
		CaromError,
		refuses: (call, words, code = 'invalid argument') => assert.throws(call, (e) => {
			assert.ok(e instanceof CaromError, `${e.stack} is no CaromError`);
			assert.equal(e.code, code, e.message);
			assert.match(e.message, words);
			return true;
		}),
	};
}

export const close = (a, b, most = 1e-6) => assert.ok(Math.abs(a - b) <= most, `${a} instead of ${b}`);

/** A cube of side 2: its corners and triangles. */
export const corners = [], sides = [];
for (let i = 0; i < 8; i++)
	corners.push(i & 1 ? 1 : -1, i & 2 ? 1 : -1, i & 4 ? 1 : -1);
for (const [a, b, c, d] of [[0, 2, 3, 1], [4, 5, 7, 6], [0, 1, 5, 4], [2, 6, 7, 3], [0, 4, 6, 2], [1, 3, 7, 5]])
	sides.push(a, b, c, a, c, d);

/** A sheet of n by n vertices from -1 to 1, at height z: its vertices and triangles. */
export function sheet(n, z) {
	const vertices = [], triangles = [];
	for (let i = 0; i < n * n; i++)
		vertices.push(2 * (i % n) / (n - 1) - 1, 2 * Math.floor(i / n) / (n - 1) - 1, z);
	for (let i = 0; i < n * n - n; i++) {
		if (i % n < n - 1)
			triangles.push(i, i + 1, i + n + 1, i, i + n + 1, i + n);
	}
	return { vertices, triangles };
}

/** A closed ring whose tube is lumpy, of around by across vertices: [vertices, triangles]. */
export function lumpyRing(around, across) {
	const vertices = [], triangles = [];
	for (let i = 0; i < around; i++) {
		for (let j = 0; j < across; j++) {
			const a = 2 * Math.PI * i / around, b = 2 * Math.PI * j / across, r = 0.3 * (1 + 0.2 * Math.sin(5 * a) * Math.cos(3 * b)), out = 1 + r * Math.cos(b);
			const next = (i + 1) % around * across, right = (j + 1) % across;
			vertices.push(out * Math.cos(a), out * Math.sin(a), r * Math.sin(b));
			triangles.push(i * across + j, next + j, next + right, i * across + j, next + right, i * across + right);
		}
	}
	return [vertices, triangles];
}

/** Numbers from 0 to 1, the same in each run. */
export function randomNumbers(seed = 1) {
	return () => (seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0) / 4294967296;
}
