// Meshes of shapes, with normals: of unit shapes, of capsules, and of triangle meshes, whose creases stay sharp.

/** Join corners: { positions, normals, indices }. */
function makeGeometry(positions, normals, indices) {
	return { positions: new Float32Array(positions), normals: new Float32Array(normals), indices: new Uint32Array(indices) };
}

/** A grid of a surface of revolution about z: profile is a list of [radius, z, normal radius, normal z]. */
function revolve(profile, around) {
	const positions = [], normals = [], indices = [];
	for (const [r, z, nr, nz] of profile) {
		for (let k = 0; k <= around; k++) {
			const c = Math.cos(2 * Math.PI * k / around), s = Math.sin(2 * Math.PI * k / around);
			positions.push(r * c, r * s, z);
			normals.push(nr * c, nr * s, nz);
		}
	}
	for (let i = 0; i + 1 < profile.length; i++) {
		for (let k = 0; k < around; k++) {
			const a = i * (around + 1) + k, b = a + around + 1;
			indices.push(a, a + 1, b + 1, a, b + 1, b);
		}
	}
	return makeGeometry(positions, normals, indices);
}

/** The arc of a sphere about (0, z) from one latitude to another. */
function arc(radius, z, from, to, steps) {
	const points = [];
	for (let i = 0; i <= steps; i++) {
		const t = from + (to - from) * i / steps;
		points.push([radius * Math.cos(t), z + radius * Math.sin(t), Math.cos(t), Math.sin(t)]);
	}
	return points;
}

const ROUND_STEPS = 6; // of a quarter of a circle

/**
 * A box, and a ball that goes over it: patches of a sphere, each moved to its corner. Rows lead from below to above; the two rows and the two
 * columns where the corner changes bound the edges and sides between.
 */
function roundedBox(half, rounding) {
	const positions = [], normals = [], indices = [], columns = 4 * (ROUND_STEPS + 1), rows = 2 * (ROUND_STEPS + 1), quarter = Math.PI / 2 / ROUND_STEPS;
	for (let row = 0; row < rows; row++) {
		const above = row > ROUND_STEPS, latitude = (row - ROUND_STEPS - (above ? 1 : 0)) * quarter;
		for (let column = 0; column < columns; column++) {
			const corner = Math.floor(column / (ROUND_STEPS + 1)), around = (column - corner) * quarter;
			const n = [Math.cos(latitude) * Math.cos(around), Math.cos(latitude) * Math.sin(around), Math.sin(latitude)];
			const side = [corner === 0 || corner === 3 ? 1 : -1, corner < 2 ? 1 : -1, above ? 1 : -1];
			positions.push(...n.map((c, k) => side[k] * half[k] + rounding * c));
			normals.push(...n);
		}
	}
	for (let row = 0; row + 1 < rows; row++) {
		for (let column = 0; column < columns; column++) {
			const a = row * columns + column, b = row * columns + (column + 1) % columns;
			indices.push(a, b, b + columns, a, b + columns, a + columns);
		}
	}
	const top = (rows - 1) * columns, corners = [0, 1, 2, 3].map((i) => i * (ROUND_STEPS + 1));
	indices.push(corners[0], corners[2], corners[1], corners[0], corners[3], corners[2]);
	indices.push(top + corners[0], top + corners[1], top + corners[2], top + corners[0], top + corners[2], top + corners[3]);
	return makeGeometry(positions, normals, indices);
}

/** An ellipsoid, and a ball that goes over it. */
function roundedEllipsoid(half, rounding) {
	const ball = unitShapes.sphere(), { normals } = ball, positions = ball.positions.slice();
	for (let i = 0; i < positions.length; i += 3) {
		const length = Math.hypot(...half.map((c, k) => c * normals[i + k]));
		half.forEach((c, k) => { positions[i + k] = c * c * normals[i + k] / length + rounding * normals[i + k]; });
	}
	return { ...ball, positions };
}

/** A cylinder or a cone, and a ball that goes over it. */
function roundedTurned(type, radius, halfLength, rounding) {
	const right = Math.PI / 2, slope = type === "cone" ? Math.atan2(radius, 2 * halfLength) : 0, top = type === "cone" ? 0 : radius;
	const shifted = (points, by) => points.map(([r, z, nr, nz]) => [r + by, z, nr, nz]);
	return revolve([[0, -halfLength - rounding, 0, -1], ...shifted(arc(rounding, -halfLength, -right, slope, ROUND_STEPS), radius),
		...shifted(arc(rounding, halfLength, slope, right, ROUND_STEPS), top), [0, halfLength + rounding, 0, 1]], 48);
}

/** The mesh of a shape with its rounding, in its own size. */
function roundedGeometry(type, { radius, halfLength, half, rounding }) {
	if (type === "box")
		return roundedBox(half, rounding);
	return type === "ellipsoid" ? roundedEllipsoid(half, rounding) : roundedTurned(type, radius, halfLength, rounding);
}

const unitShapes = {
	sphere: () => revolve(arc(1, 0, -Math.PI / 2, Math.PI / 2, 20), 40),
	cylinder: () => revolve([[0, -1, 0, -1], [1, -1, 0, -1], [1, -1, 1, 0], [1, 1, 1, 0], [1, 1, 0, 1], [0, 1, 0, 1]], 48),
	cone: () => revolve([[0, -1, 0, -1], [1, -1, 0, -1], [1, -1, 2 / Math.sqrt(5), 1 / Math.sqrt(5)], [0, 1, 2 / Math.sqrt(5), 1 / Math.sqrt(5)]], 48),
	box: () => {
		const positions = [], normals = [], indices = [];
		for (let side = 0; side < 6; side++) {
			const axis = side >> 1, sign = side & 1 ? 1 : -1, u = (axis + 1) % 3, v = (axis + 2) % 3, first = 4 * side;
			for (const [a, b] of [[-1, -1], [1, -1], [1, 1], [-1, 1]]) {
				const p = [0, 0, 0], n = [0, 0, 0];
				p[axis] = n[axis] = sign;
				p[u] = a * sign;
				p[v] = b;
				positions.push(...p);
				normals.push(...n);
			}
			indices.push(first, first + 1, first + 2, first, first + 2, first + 3);
		}
		return makeGeometry(positions, normals, indices);
	},
};

function capsuleGeometry(radius, halfLength) {
	const below = arc(radius, -halfLength, -Math.PI / 2, 0, 10), above = arc(radius, halfLength, 0, Math.PI / 2, 10);
	return revolve([...below, ...above], 32);
}

/** A triangle mesh with a normal for each corner: the mean of the faces around it within 50 degrees of its own face. */
function creasedGeometry(vertices, triangles) {
	const corners = triangles.length;
	const faces = new Float32Array(corners);
	for (let t = 0; t < corners; t += 3)
		faceNormal(vertices, triangles, t, faces);
	const start = new Uint32Array(vertices.length / 3 + 1);
	for (let i = 0; i < corners; i++)
		start[triangles[i] + 1]++;
	for (let i = 1; i < start.length; i++)
		start[i] += start[i - 1];
	const around = new Uint32Array(corners), next = start.slice();
	for (let i = 0; i < corners; i++)
		around[next[triangles[i]]++] = i - i % 3;
	const positions = new Float32Array(3 * corners), normals = new Float32Array(3 * corners), indices = new Uint32Array(corners);
	for (let i = 0; i < corners; i++) {
		const v = triangles[i], own = i - i % 3;
		const ox = faces[own], oy = faces[own + 1], oz = faces[own + 2], ol = Math.hypot(ox, oy, oz);
		let x = 0, y = 0, z = 0;
		for (let k = start[v]; k < start[v + 1]; k++) {
			const f = around[k], fx = faces[f], fy = faces[f + 1], fz = faces[f + 2];
			if (ox * fx + oy * fy + oz * fz >= 0.64 * ol * Math.hypot(fx, fy, fz)) {
				x += fx;
				y += fy;
				z += fz;
			}
		}
		const l = Math.hypot(x, y, z) || 1;
		normals.set([x / l, y / l, z / l], 3 * i);
		positions.set([vertices[3 * v], vertices[3 * v + 1], vertices[3 * v + 2]], 3 * i);
		indices[i] = i;
	}
	return { positions, normals, indices };
}

/** Twice the area times the normal of a triangle, at the same place of `to`. */
function faceNormal(vertices, triangles, t, to) {
	const a = 3 * triangles[t], b = 3 * triangles[t + 1], c = 3 * triangles[t + 2];
	const ux = vertices[b] - vertices[a], uy = vertices[b + 1] - vertices[a + 1], uz = vertices[b + 2] - vertices[a + 2];
	const vx = vertices[c] - vertices[a], vy = vertices[c + 1] - vertices[a + 1], vz = vertices[c + 2] - vertices[a + 2];
	to[t] = uy * vz - uz * vy;
	to[t + 1] = uz * vx - ux * vz;
	to[t + 2] = ux * vy - uy * vx;
}

/** Normals of the vertices of a surface that deforms; not of unit length (the shader sees to that). */
function smoothNormals(vertices, triangles, normals) {
	normals.fill(0);
	for (let t = 0; t < triangles.length; t += 3) {
		const a = 3 * triangles[t], b = 3 * triangles[t + 1], c = 3 * triangles[t + 2];
		const ux = vertices[b] - vertices[a], uy = vertices[b + 1] - vertices[a + 1], uz = vertices[b + 2] - vertices[a + 2];
		const vx = vertices[c] - vertices[a], vy = vertices[c + 1] - vertices[a + 1], vz = vertices[c + 2] - vertices[a + 2];
		const x = uy * vz - uz * vy, y = uz * vx - ux * vz, z = ux * vy - uy * vx;
		normals[a] += x; normals[a + 1] += y; normals[a + 2] += z;
		normals[b] += x; normals[b + 1] += y; normals[b + 2] += z;
		normals[c] += x; normals[c + 1] += y; normals[c + 2] += z;
	}
}

/** The number of the connected piece of each vertex, from 0. */
function pieces(vertexCount, triangles) {
	const parent = new Int32Array(vertexCount).map((_, i) => i);
	const find = (i) => {
		while (parent[i] !== i)
			i = parent[i] = parent[parent[i]];
		return i;
	};
	for (let t = 0; t < triangles.length; t += 3) {
		const a = find(triangles[t]);
		parent[find(triangles[t + 1])] = a;
		parent[find(triangles[t + 2])] = a;
	}
	const numbers = new Map(), piece = new Int32Array(vertexCount), used = new Uint8Array(vertexCount);
	for (const corner of triangles)
		used[corner] = 1;
	for (let i = 0; i < vertexCount; i++) {
		const root = find(i);
		if (!used[i])
			continue; // no triangle shows it
		if (!numbers.has(root))
			numbers.set(root, numbers.size);
		piece[i] = numbers.get(root);
	}
	return { piece, count: numbers.size };
}
