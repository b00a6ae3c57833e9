// Vectors, matrices (column by column, as WebGL has them), and the camera, which turns about a target.

const add = (a, b) => [a[0] + b[0], a[1] + b[1], a[2] + b[2]];
const subtract = (a, b) => [a[0] - b[0], a[1] - b[1], a[2] - b[2]];
const scale = (a, s) => [a[0] * s, a[1] * s, a[2] * s];
const dot = (a, b) => a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
const cross = (a, b) => [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]];
const norm = (a) => Math.hypot(a[0], a[1], a[2]);
const unit = (a) => scale(a, 1 / (norm(a) || 1));

/** Two unit vectors across a unit vector, and across each other. */
function tangents(n) {
	const first = unit(cross(Math.abs(n[0]) < 0.8 ? [1, 0, 0] : [0, 1, 0], n));
	return [first, cross(n, first)];
}

/** v turned by the quaternion x y z w. */
function turn(q, v) {
	const t = scale(cross(q, v), 2);
	return add(add(v, scale(t, q[3])), cross(q, t));
}

/** The turn by b, then by a. */
function turnBoth(a, b) {
	return [
		a[3] * b[0] + a[0] * b[3] + a[1] * b[2] - a[2] * b[1], a[3] * b[1] - a[0] * b[2] + a[1] * b[3] + a[2] * b[0],
		a[3] * b[2] + a[0] * b[1] - a[1] * b[0] + a[2] * b[3], a[3] * b[3] - a[0] * b[0] - a[1] * b[1] - a[2] * b[2],
	];
}

function multiply(a, b) {
	const out = new Float32Array(16);
	for (let c = 0; c < 4; c++) {
		for (let r = 0; r < 4; r++)
			out[4 * c + r] = a[r] * b[4 * c] + a[4 + r] * b[4 * c + 1] + a[8 + r] * b[4 * c + 2] + a[12 + r] * b[4 * c + 3];
	}
	return out;
}

/** From the world to axes right, up, back at an eye. */
function viewMatrix(eye, right, up, back) {
	return new Float32Array([
		right[0], up[0], back[0], 0, right[1], up[1], back[1], 0, right[2], up[2], back[2], 0,
		-dot(right, eye), -dot(up, eye), -dot(back, eye), 1,
	]);
}

function perspective(fieldOfView, aspect, near, far) {
	const f = 1 / Math.tan(fieldOfView / 2);
	return new Float32Array([f / aspect, 0, 0, 0, 0, f, 0, 0, 0, 0, (far + near) / (near - far), -1, 0, 0, 2 * far * near / (near - far), 0]);
}

function orthographic(half, near, far) {
	return new Float32Array([1 / half, 0, 0, 0, 0, 1 / half, 0, 0, 0, 0, -2 / (far - near), 0, 0, 0, -(far + near) / (far - near), 1]);
}

class Camera {
	constructor(up) {
		this.up = unit(up);
		this.ahead = tangents(this.up)[0]; // where heading 0 looks to
		this.target = [0, 0, 0];
		this.distance = 10;
		this.heading = 0.6;
		this.height = 0.42; // radians above the horizon
		this.fieldOfView = 38 * Math.PI / 180;
		this.reach = 10; // radius of the scene
	}

	axes() {
		const side = cross(this.up, this.ahead);
		const level = add(scale(this.ahead, Math.cos(this.heading)), scale(side, Math.sin(this.heading)));
		const back = add(scale(level, Math.cos(this.height)), scale(this.up, Math.sin(this.height)));
		const right = unit(cross(this.up, back));
		return { back, right, up: cross(back, right) };
	}

	/** Stand at a place and look at another. */
	stand(position, target, fieldOfView) {
		const back = subtract(position, target), side = cross(this.up, this.ahead);
		this.target = target;
		this.distance = norm(back) || 1;
		this.height = Math.asin(Math.max(-1, Math.min(1, dot(back, this.up) / this.distance)));
		this.heading = Math.atan2(dot(back, side), dot(back, this.ahead));
		if (fieldOfView)
			this.fieldOfView = fieldOfView * Math.PI / 180;
	}

	/** See a box whole, at a picture's width / height: the corner that asks for most decides. */
	frame(lower, upper, aspect) {
		const { back, right, up } = this.axes(), high = 0.8 * Math.tan(this.fieldOfView / 2), wide = 0.86 * Math.tan(this.fieldOfView / 2) * aspect;
		this.target = scale(add(lower, upper), 0.5);
		this.distance = 1e-9;
		for (let i = 0; i < 8; i++) {
			const corner = subtract([0, 1, 2].map((k) => (i >> k & 1 ? upper : lower)[k]), this.target), ahead = dot(corner, back);
			this.distance = Math.max(this.distance, ahead + Math.abs(dot(corner, right)) / wide, ahead + Math.abs(dot(corner, up)) / high);
		}
	}

	rotate(dx, dy) {
		this.heading -= dx;
		this.height = Math.max(-1.55, Math.min(1.55, this.height + dy));
	}

	/** Move by parts of the picture's height. */
	pan(dx, dy) {
		const { right, up } = this.axes(), size = 2 * this.distance * Math.tan(this.fieldOfView / 2);
		this.target = add(this.target, add(scale(right, -dx * size), scale(up, dy * size)));
	}

	zoom(factor) { this.distance = Math.max(1e-4 * this.reach, Math.min(60 * this.reach, this.distance * factor)); }

	/** Matrices and eye for a picture. */
	look(aspect) {
		const { back, right, up } = this.axes(), eye = add(this.target, scale(back, this.distance));
		const far = this.distance + 40 * this.reach, near = Math.max(this.distance * 0.01, far * 2e-5);
		const view = viewMatrix(eye, right, up, back), projection = perspective(this.fieldOfView, aspect, near, far);
		return { eye, right, up, back, view, projection, both: multiply(projection, view) };
	}
}
