// node shapes.mjs SHAPES.JS: meshes of rounded shapes in the viewer are closed, face outwards, and lie at the rounding from the shape without it.
import { readFileSync } from 'node:fs';
import assert from 'node:assert/strict';

const roundedGeometry = new Function(`${readFileSync(process.argv[2], 'utf8')}; return roundedGeometry;`)();

/** The distance of a point from a box. */
const fromBox = (p, half) => Math.hypot(...p.map((c, k) => Math.max(Math.abs(c) - half[k], 0)));

/** The distance of a point [r, z] from the triangle or rectangle that turns about z. */
function fromOutline([r, z], corners) {
	let least = Infinity;
	corners.forEach(([ar, az], i) => {
		const [br, bz] = corners[(i + 1) % corners.length], length2 = (br - ar) ** 2 + (bz - az) ** 2;
		const t = Math.max(0, Math.min(1, ((r - ar) * (br - ar) + (z - az) * (bz - az)) / length2));
		least = Math.min(least, Math.hypot(r - ar - t * (br - ar), z - az - t * (bz - az)));
	});
	return least;
}

/** The volume of a mesh, whose edges must each be there once in each direction; triangles without an area do not count. */
function closedVolume({ positions, indices }) {
	const name = (i) => [0, 1, 2].map((k) => Math.round(positions[3 * i + k] * 1e5) + 0).join(), edges = new Map();
	let volume = 0;
	for (let t = 0; t < indices.length; t += 3) {
		const corners = [...indices.slice(t, t + 3)], names = corners.map(name), [a, b, c] = corners.map((i) => positions.slice(3 * i, 3 * i + 3));
		if (new Set(names).size < 3)
			continue;
		volume += (a[0] * (b[1] * c[2] - b[2] * c[1]) + a[1] * (b[2] * c[0] - b[0] * c[2]) + a[2] * (b[0] * c[1] - b[1] * c[0])) / 6;
		names.forEach((from, i) => {
			const key = `${from}|${names[(i + 1) % 3]}`;
			edges.set(key, (edges.get(key) || 0) + 1);
		});
	}
	for (const [key, count] of edges)
		assert.ok(count === 1 && edges.get(key.split('|').reverse().join('|')) === 1, `the edge ${key} is open`);
	return volume;
}

const half = [0.5, 0.4, 0.3], rounding = 0.2, [x, y, z] = half.map((c) => 2 * c), ball = 4 / 3 * Math.PI * rounding ** 3;
const shapes = {
	box: { volume: x * y * z + 2 * rounding * (x * y + y * z + z * x) + Math.PI * rounding ** 2 * (x + y + z) + ball, distance: (p) => fromBox(p, half) },
	cylinder: { distance: (p) => fromOutline([Math.hypot(p[0], p[1]), p[2]], [[0, -0.4], [0.3, -0.4], [0.3, 0.4], [0, 0.4]]) },
	cone: { distance: (p) => fromOutline([Math.hypot(p[0], p[1]), p[2]], [[0, -0.4], [0.3, -0.4], [0, 0.4]]) },
	ellipsoid: { volume: 0 },
};
for (const [type, { volume, distance }] of Object.entries(shapes)) {
	const geometry = roundedGeometry(type, { radius: 0.3, halfLength: 0.4, half, rounding }), { positions, normals, indices } = geometry;
	for (let i = 0; i < positions.length; i += 3) {
		const p = [...positions.slice(i, i + 3)], n = [...normals.slice(i, i + 3)];
		assert.ok(Math.abs(Math.hypot(...n) - 1) < 1e-6, `a normal of a ${type}`);
		if (distance)
			assert.ok(Math.abs(distance(p) - rounding) < 1e-6, `a ${type} has ${p}, ${distance(p)} from it`);
		else // along its normal lies the ellipsoid
			assert.ok(Math.abs(p.reduce((sum, c, k) => sum + ((c - rounding * n[k]) / half[k]) ** 2, 0) - 1) < 1e-5, `${p} of the ellipsoid`);
	}
	for (let t = 0; t < indices.length; t += 3) { // faces look where their normals do
		const [a, b, c] = [0, 1, 2].map((k) => positions.slice(3 * indices[t + k], 3 * indices[t + k] + 3)), n = normals.slice(3 * indices[t], 3 * indices[t] + 3);
		const u = b.map((e, k) => e - a[k]), v = c.map((e, k) => e - a[k]);
		assert.ok((u[1] * v[2] - u[2] * v[1]) * n[0] + (u[2] * v[0] - u[0] * v[2]) * n[1] + (u[0] * v[1] - u[1] * v[0]) * n[2] > -1e-7, `a ${type} has a face inwards`);
	}
	const found = closedVolume(geometry);
	assert.ok(found > 0.1 && (!volume || (found < volume && found > 0.985 * volume)), `a ${type} of volume ${found}, not ${volume}`);
}
console.log('rounded shapes are closed, and as far from the sharp ones as they should');
