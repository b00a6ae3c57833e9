// Drawing with WebGL 2: a shadow map of the sun, then ground, bodies, deforming bodies, spheres (squares whose shader finds the ball), lines
// and dots. Places are relative to the middle of the scene, so that floats suffice.

const COMMON = `#version 300 es
precision highp float;
precision highp int;
precision highp sampler2DShadow;
`;

// What all lit surfaces share.
const LIGHT = `
uniform vec3 uEye, uSun, uUp, uSky, uBounce, uSunColor;
uniform mat4 uShadowView;
uniform sampler2DShadow uShadow;
uniform float uShadows; // metres off the surface; below 0: none
out vec4 color;
float sunReaches(vec3 p, vec3 n) {
	if (uShadows < 0.0) return 1.0;
	vec4 q = uShadowView * vec4(p + n * uShadows, 1.0);
	vec3 c = q.xyz * 0.5 + 0.5;
	if (any(lessThan(c, vec3(0.0))) || any(greaterThan(c, vec3(1.0)))) return 1.0;
	float sum = 0.0, step = 1.4 / float(textureSize(uShadow, 0).x);
	for (int y = -1; y <= 1; y++)
		for (int x = -1; x <= 1; x++)
			sum += texture(uShadow, vec3(c.xy + vec2(x, y) * step, c.z - 0.0006));
	return sum / 9.0;
}
vec3 shade(vec3 base, vec3 p, vec3 n) {
	float up = dot(n, uUp), sun = max(dot(n, uSun), 0.0);
	vec3 toEye = normalize(uEye - p);
	float lit = sun > 0.0 ? sunReaches(p, n) : 0.0;
	vec3 ambient = mix(uBounce, uSky, 0.5 + 0.5 * up);
	float rim = pow(1.0 - max(dot(n, toEye), 0.0), 3.0);
	float gloss = pow(max(dot(n, normalize(toEye + uSun)), 0.0), 40.0) * 0.12 * lit;
	return base * (ambient * (0.82 + 0.25 * rim) + uSunColor * sun * lit) + gloss * uSunColor;
}
// What can be seen through lacks pixels, in an ordered pattern: no order of drawing matters.
bool isClear(float part) {
	const int order[16] = int[16](0, 8, 2, 10, 12, 4, 14, 6, 3, 11, 1, 9, 15, 7, 13, 5);
	ivec2 at = ivec2(gl_FragCoord.xy) & 3;
	return part * 16.0 > float(order[at.y * 4 + at.x]) + 0.5;
}
vec4 finish(vec3 c, float alpha) {
	c = c * (1.0 + c * 0.10) / (1.0 + c * 0.30);
	return vec4(pow(max(c, 0.0), vec3(1.0 / 2.2)), alpha);
}
`;

const PROGRAMS = {
	mesh: {
		vertex: `
in vec3 aPosition, aNormal, iPlace, iScale, iColor; in vec4 iTurn; in vec2 iFlags;
uniform mat4 uView;
out vec3 vPlace, vNormal, vColor; flat out vec2 vFlags; flat out float vClear;
vec3 turn(vec4 q, vec3 v) { vec3 t = 2.0 * cross(q.xyz, v); return v + q.w * t + cross(q.xyz, t); }
void main() {
	vNormal = turn(iTurn, aNormal / max(iScale, vec3(1e-20)));
	vPlace = iPlace + turn(iTurn, aPosition * iScale);
	vClear = floor(iColor.r / 4.0) / 16.0; // sixteenths that can be seen through, in fours above the red
	vColor = vec3(iColor.r - 64.0 * vClear, iColor.gb); vFlags = iFlags;
	gl_Position = uView * vec4(vPlace, 1.0);
}`,
		fragment: `
in vec3 vPlace, vNormal, vColor; flat in vec2 vFlags; flat in float vClear;
void main() {
	if (isClear(vClear)) discard;
	vec3 n = normalize(vNormal);
	if (dot(n, uEye - vPlace) < 0.0 && !gl_FrontFacing) n = -n;
	vec3 c = shade(vColor, vPlace, n);
	if (vFlags.x > 0.5) { float rim = 1.0 - abs(dot(n, normalize(uEye - vPlace))); c = mix(c, vec3(1.0, 0.85, 0.25), 0.25 + 0.6 * rim * rim); }
	color = finish(c, 1.0);
}`,
		lit: true,
	},
	cloth: {
		vertex: `
in vec3 aPosition, aNormal, aColor; uniform mat4 uView;
out vec3 vPlace, vNormal, vColor;
void main() { vPlace = aPosition; vNormal = aNormal; vColor = aColor; gl_Position = uView * vec4(aPosition, 1.0); }`,
		fragment: `
in vec3 vPlace, vNormal, vColor;
void main() {
	vec3 n = normalize(vNormal);
	bool front = gl_FrontFacing;
	n = front ? n : -n;
	vec3 base = front ? vColor : mix(vColor, vec3(0.42), 0.45);
	color = finish(shade(base, vPlace, n), 1.0);
}`,
		lit: true,
	},
	spheres: {
		vertex: `
in vec2 aPosition; in vec3 iPlace; in float iRadius; in vec3 iColor;
uniform mat4 uView; uniform vec3 uEye, uRight, uUpward, uForward; uniform float uFlat;
out vec3 vPlace; flat out vec3 vCentre; flat out float vRadius; flat out vec3 vColor; flat out int vId;
void main() {
	vec3 to = iPlace - uEye; float d = length(to);
	vec3 right = uRight, up = uUpward, toward = -uForward;
	if (uFlat < 0.5) { toward = -to / max(d, 1e-20); right = normalize(cross(uUpward, toward)); up = cross(toward, right); }
	float grow = uFlat < 0.5 ? d / sqrt(max(d * d - iRadius * iRadius, 1e-6 * d * d)) : 1.0;
	vPlace = iPlace + (right * aPosition.x + up * aPosition.y) * iRadius * grow;
	vCentre = iPlace; vRadius = iRadius; vColor = iColor; vId = gl_InstanceID;
	gl_Position = uView * vec4(vPlace, 1.0);
}`,
		fragment: `
in vec3 vPlace; flat in vec3 vCentre; flat in float vRadius; flat in vec3 vColor; flat in int vId;
uniform mat4 uView;
void main() {
	vec3 d = normalize(vPlace - uEye), o = uEye - vCentre;
	float b = dot(o, d), c = dot(o, o) - vRadius * vRadius, h = b * b - c;
	if (h < 0.0) discard;
	vec3 p = uEye + d * (-b - sqrt(h)), n = (p - vCentre) / vRadius;
	vec4 q = uView * vec4(p, 1.0);
	gl_FragDepth = q.z / q.w * 0.5 + 0.5;
	color = finish(shade(vColor, p, n), 1.0);
}`,
		lit: true,
	},
	ground: {
		vertex: `
in vec2 aPosition; uniform mat4 uView; uniform vec3 uCentre, uFirst, uSecond; uniform float uExtent;
out vec3 vPlace; out vec2 vAt;
void main() { vAt = aPosition * uExtent; vPlace = uCentre + uFirst * vAt.x + uSecond * vAt.y; gl_Position = uView * vec4(vPlace, 1.0); }`,
		fragment: `
in vec3 vPlace; in vec2 vAt; uniform vec3 uNormal, uGround, uLine; uniform vec2 uShift; uniform float uCell, uExtent;
float lines(vec2 at) { vec2 w = fwidth(at), g = abs(fract(at - 0.5) - 0.5) / max(w, vec2(1e-6));
	float fade = 1.0 - smoothstep(0.25, 0.7, max(w.x, w.y)); return (1.0 - min(min(g.x, g.y), 1.0)) * fade; }
void main() {
	vec2 at = (vAt + uShift) / uCell;
	vec3 base = mix(uGround, uLine, 0.38 * lines(at) + 0.55 * lines(at / 10.0));
	float fade = 1.0 - smoothstep(0.25, 0.98, length(vAt) / uExtent);
	color = finish(shade(base, vPlace, uNormal), fade);
}`,
		lit: true,
	},
	lines: {
		vertex: `in vec3 aPosition; in vec4 aColor; uniform mat4 uView; out vec4 vColor;
void main() { vColor = aColor; gl_Position = uView * vec4(aPosition, 1.0); gl_Position.z -= 2e-5 * gl_Position.w; }`,
		fragment: `in vec4 vColor; uniform float uAlpha; out vec4 color; void main() { color = vec4(vColor.rgb, vColor.a * uAlpha); }`,
	},
	dots: {
		vertex: `in vec3 aPosition; in vec4 aColor; uniform mat4 uView; uniform float uSize; out vec4 vColor;
void main() { vColor = aColor; gl_Position = uView * vec4(aPosition, 1.0); gl_Position.z -= 4e-5 * gl_Position.w; gl_PointSize = uSize; }`,
		fragment: `in vec4 vColor; uniform float uAlpha; out vec4 color;
void main() { float r = length(gl_PointCoord - 0.5) * 2.0; if (r > 1.0) discard;
	vec3 c = r > 0.72 ? vec3(0.05) : vColor.rgb; color = vec4(c, vColor.a * uAlpha * (1.0 - smoothstep(0.92, 1.0, r))); }`,
	},
	sky: {
		vertex: `in vec2 aPosition; out vec2 vAt; void main() { vAt = aPosition; gl_Position = vec4(aPosition, 0.9999, 1.0); }`,
		fragment: `in vec2 vAt; uniform vec3 uTop, uBottom; out vec4 color;
void main() { float t = smoothstep(-1.0, 1.0, vAt.y); color = vec4(mix(uBottom, uTop, t), 1.0); }`,
	},
};

// Depth alone for the sun, and numbers for picking: other fragment shaders behind the vertex shaders above.
const SHADOW_FRAGMENT = { plain: `void main() {}`, mesh: `
flat in float vClear;
void main() { if (vClear > 0.0) discard; }`, spheres: `
in vec3 vPlace; flat in vec3 vCentre; flat in float vRadius;
void main() { if (length(vPlace - vCentre) > vRadius) discard; }` };
const PICK_FRAGMENT = {
	mesh: `flat in vec2 vFlags; flat in float vClear; out vec4 color;
void main() { if (vClear > 0.99) discard; int i = int(vFlags.y + 0.5); color = vec4(i & 255, (i >> 8) & 255, (i >> 16) & 255, 255.0) / 255.0; color.a = 1.0; }`,
	spheres: `in vec3 vPlace; flat in vec3 vCentre; flat in float vRadius; flat in int vId; uniform mat4 uView; uniform vec3 uEye; out vec4 color;
void main() { vec3 d = normalize(vPlace - uEye), o = uEye - vCentre; float b = dot(o, d), h = b * b - dot(o, o) + vRadius * vRadius;
	if (h < 0.0) discard; vec4 q = uView * vec4(uEye + d * (-b - sqrt(h)), 1.0); gl_FragDepth = q.z / q.w * 0.5 + 0.5;
	color = vec4(vId & 255, (vId >> 8) & 255, (vId >> 16) & 255, 128.0) / 255.0; color.a = 0.5; }`,
};

const SHADOW_SIZE = 2048;
/** Floats of an instance of a mesh: place 3, turn 4, scale 3, colour 3 (red + 4 for each sixteenth that can be seen through), picked, number. */
const INSTANCE = 15;

class Renderer {
	constructor(canvas) {
		this.canvas = canvas;
		const gl = this.gl = canvas.getContext("webgl2", { antialias: true, alpha: false, preserveDrawingBuffer: true });
		if (!gl)
			throw new PageError("This browser has no WebGL 2, or it is switched off. The page needs it to draw.");
		this.programs = {};
		for (const [name, source] of Object.entries(PROGRAMS))
			this.programs[name] = this.makeProgram(source.vertex, (source.lit ? LIGHT : "") + source.fragment);
		this.shadowPrograms = {};
		for (const name of ["mesh", "cloth", "spheres"])
			this.shadowPrograms[name] = this.makeProgram(PROGRAMS[name].vertex, SHADOW_FRAGMENT[name] || SHADOW_FRAGMENT.plain);
		this.pickPrograms = {};
		for (const name of ["mesh", "spheres"])
			this.pickPrograms[name] = this.makeProgram(PROGRAMS[name].vertex, PICK_FRAGMENT[name]);
		this.square = this.makeMesh({ positions: new Float32Array([-1, -1, 1, -1, 1, 1, -1, 1]), indices: new Uint32Array([0, 1, 2, 0, 2, 3]) }, 2);
		this.batches = [];
		this.overlay = {};
		this.makeShadowMap();
		this.makePickTarget();
		this.theme = "light";
		this.shadows = true;
	}

	makeProgram(vertex, fragment) {
		const gl = this.gl, program = gl.createProgram();
		for (const [kind, source] of [[gl.VERTEX_SHADER, vertex], [gl.FRAGMENT_SHADER, fragment]]) {
			const shader = gl.createShader(kind);
			gl.shaderSource(shader, COMMON + source);
			gl.compileShader(shader);
			gl.attachShader(program, shader);
			program.shaders = (program.shaders || []).concat(shader);
		}
		["aPosition", "aNormal", "aColor", "iPlace", "iTurn", "iScale", "iColor", "iFlags", "iRadius"]
			.forEach((name, i) => gl.bindAttribLocation(program, i, name));
		gl.linkProgram(program);
		if (!gl.getProgramParameter(program, gl.LINK_STATUS)) {
			const logs = program.shaders.map((shader) => gl.getShaderInfoLog(shader)).join("\n");
			throw new PageError(`This browser's WebGL cannot compile a shader:\n${logs || gl.getProgramInfoLog(program)}`);
		}
		const uniforms = {};
		for (let i = 0; i < gl.getProgramParameter(program, gl.ACTIVE_UNIFORMS); i++) {
			const info = gl.getActiveUniform(program, i);
			uniforms[info.name] = { at: gl.getUniformLocation(program, info.name), type: info.type };
		}
		return { program, uniforms };
	}

	use(made, values) {
		const gl = this.gl;
		gl.useProgram(made.program);
		for (const [name, uniform] of Object.entries(made.uniforms)) {
			const value = values[name];
			if (value === undefined)
				continue;
			switch (uniform.type) {
			case gl.FLOAT: gl.uniform1f(uniform.at, value); break;
			case gl.FLOAT_VEC2: gl.uniform2fv(uniform.at, value); break;
			case gl.FLOAT_VEC3: gl.uniform3fv(uniform.at, value); break;
			case gl.FLOAT_MAT4: gl.uniformMatrix4fv(uniform.at, false, value); break;
			default: gl.uniform1i(uniform.at, value);
			}
		}
	}

	buffer(target, data, use) {
		const gl = this.gl, buffer = gl.createBuffer();
		gl.bindBuffer(target, buffer);
		gl.bufferData(target, data, use);
		return buffer;
	}

	attribute(place, size, stride, offset, perInstance) {
		const gl = this.gl;
		gl.enableVertexAttribArray(place);
		gl.vertexAttribPointer(place, size, gl.FLOAT, false, stride, offset);
		gl.vertexAttribDivisor(place, perInstance ? 1 : 0);
	}

	makeMesh(geometry, size) {
		const gl = this.gl, array = gl.createVertexArray();
		gl.bindVertexArray(array);
		this.buffer(gl.ARRAY_BUFFER, geometry.positions, gl.STATIC_DRAW);
		this.attribute(0, size, 0, 0, false);
		if (geometry.normals) {
			this.buffer(gl.ARRAY_BUFFER, geometry.normals, gl.STATIC_DRAW);
			this.attribute(1, 3, 0, 0, false);
		}
		this.buffer(gl.ELEMENT_ARRAY_BUFFER, geometry.indices, gl.STATIC_DRAW);
		gl.bindVertexArray(null);
		return { array, count: geometry.indices.length };
	}

	/** A batch of instances of a mesh: fill data [INSTANCE*count], then call its update. */
	addInstances(geometry, count) {
		const gl = this.gl, mesh = this.makeMesh(geometry, 3), data = new Float32Array(INSTANCE * count), stride = 4 * INSTANCE;
		gl.bindVertexArray(mesh.array);
		const buffer = this.buffer(gl.ARRAY_BUFFER, data, gl.DYNAMIC_DRAW);
		[[3, 3, 0], [4, 4, 12], [5, 3, 28], [6, 3, 40], [7, 2, 52]].forEach(([place, size, offset]) => this.attribute(place, size, stride, offset, true));
		gl.bindVertexArray(null);
		const batch = { kind: "mesh", data, visible: true, update: () => {
			gl.bindBuffer(gl.ARRAY_BUFFER, buffer);
			gl.bufferSubData(gl.ARRAY_BUFFER, 0, data);
		}, draw: () => {
			gl.bindVertexArray(mesh.array);
			gl.drawElementsInstanced(gl.TRIANGLES, mesh.count, gl.UNSIGNED_INT, 0, count);
		} };
		this.batches.push(batch);
		return batch;
	}

	/** A surface whose vertices move: update(positions, normals). */
	addCloth(vertexCount, triangles, colors) {
		const gl = this.gl, array = gl.createVertexArray();
		gl.bindVertexArray(array);
		const buffers = [0, 1].map((place) => {
			const buffer = this.buffer(gl.ARRAY_BUFFER, 12 * vertexCount, gl.DYNAMIC_DRAW);
			this.attribute(place, 3, 0, 0, false);
			return buffer;
		});
		this.buffer(gl.ARRAY_BUFFER, colors, gl.STATIC_DRAW);
		this.attribute(2, 3, 0, 0, false);
		this.buffer(gl.ELEMENT_ARRAY_BUFFER, triangles, gl.STATIC_DRAW);
		gl.bindVertexArray(null);
		const batch = { kind: "cloth", visible: true, update: (positions, normals) => [positions, normals].forEach((data, i) => {
			gl.bindBuffer(gl.ARRAY_BUFFER, buffers[i]);
			gl.bufferSubData(gl.ARRAY_BUFFER, 0, data);
		}), draw: () => {
			gl.bindVertexArray(array);
			gl.drawElements(gl.TRIANGLES, triangles.length, gl.UNSIGNED_INT, 0);
		} };
		this.batches.push(batch);
		return batch;
	}

	addSpheres(radii, colors) {
		const gl = this.gl, count = radii.length;
		const mesh = this.makeMesh({ positions: new Float32Array([-1, -1, 1, -1, 1, 1, -1, 1]), indices: new Uint32Array([0, 1, 2, 0, 2, 3]) }, 2);
		gl.bindVertexArray(mesh.array);
		const places = this.buffer(gl.ARRAY_BUFFER, 12 * count, gl.DYNAMIC_DRAW);
		this.attribute(3, 3, 0, 0, true);
		this.buffer(gl.ARRAY_BUFFER, radii, gl.STATIC_DRAW);
		this.attribute(8, 1, 0, 0, true);
		this.buffer(gl.ARRAY_BUFFER, colors, gl.STATIC_DRAW);
		this.attribute(6, 3, 0, 0, true);
		gl.bindVertexArray(null);
		const batch = { kind: "spheres", visible: true, update: (positions) => {
			gl.bindBuffer(gl.ARRAY_BUFFER, places);
			gl.bufferSubData(gl.ARRAY_BUFFER, 0, positions);
		}, draw: () => {
			gl.bindVertexArray(mesh.array);
			gl.drawElementsInstanced(gl.TRIANGLES, mesh.count, gl.UNSIGNED_INT, 0, count);
		} };
		this.batches.push(batch);
		return batch;
	}

	/** Lines or dots of an overlay: data holds x y z r g b a of each point; empty ones are not drawn. */
	setOverlay(name, kind, data) {
		const gl = this.gl;
		let layer = this.overlay[name];
		if (!layer) {
			const array = gl.createVertexArray();
			gl.bindVertexArray(array);
			const buffer = this.buffer(gl.ARRAY_BUFFER, 4, gl.DYNAMIC_DRAW);
			this.attribute(0, 3, 28, 0, false);
			this.attribute(2, 4, 28, 12, false);
			gl.bindVertexArray(null);
			layer = this.overlay[name] = { array, buffer };
		}
		layer.kind = kind;
		layer.count = data.length / 7;
		gl.bindBuffer(gl.ARRAY_BUFFER, layer.buffer);
		gl.bufferData(gl.ARRAY_BUFFER, data, gl.DYNAMIC_DRAW);
	}

	makeShadowMap() {
		const gl = this.gl;
		this.shadowMap = gl.createTexture();
		gl.bindTexture(gl.TEXTURE_2D, this.shadowMap);
		gl.texStorage2D(gl.TEXTURE_2D, 1, gl.DEPTH_COMPONENT24, SHADOW_SIZE, SHADOW_SIZE);
		for (const [name, value] of [["MIN_FILTER", gl.LINEAR], ["MAG_FILTER", gl.LINEAR], ["COMPARE_MODE", gl.COMPARE_REF_TO_TEXTURE],
			["COMPARE_FUNC", gl.LEQUAL], ["WRAP_S", gl.CLAMP_TO_EDGE], ["WRAP_T", gl.CLAMP_TO_EDGE]])
			gl.texParameteri(gl.TEXTURE_2D, gl[`TEXTURE_${name}`], value);
		this.shadowTarget = gl.createFramebuffer();
		gl.bindFramebuffer(gl.FRAMEBUFFER, this.shadowTarget);
		gl.framebufferTexture2D(gl.FRAMEBUFFER, gl.DEPTH_ATTACHMENT, gl.TEXTURE_2D, this.shadowMap, 0);
		gl.bindFramebuffer(gl.FRAMEBUFFER, null);
	}

	makePickTarget() {
		const gl = this.gl;
		this.pickTarget = gl.createFramebuffer();
		gl.bindFramebuffer(gl.FRAMEBUFFER, this.pickTarget);
		for (const [format, place] of [[gl.RGBA8, gl.COLOR_ATTACHMENT0], [gl.DEPTH_COMPONENT24, gl.DEPTH_ATTACHMENT]]) {
			const part = gl.createRenderbuffer();
			gl.bindRenderbuffer(gl.RENDERBUFFER, part);
			gl.renderbufferStorage(gl.RENDERBUFFER, format, 1, 1);
			gl.framebufferRenderbuffer(gl.FRAMEBUFFER, place, gl.RENDERBUFFER, part);
		}
		gl.bindFramebuffer(gl.FRAMEBUFFER, null);
	}

	/** The colours of a theme; amounts of light are linear. */
	colors() {
		return this.theme === "dark" ?
			{ uSunColor: [1.05, 0.98, 0.88], uSky: [0.30, 0.34, 0.42], uBounce: [0.15, 0.14, 0.14], uGround: [0.050, 0.056, 0.066], uLine: [0.16, 0.18, 0.21],
				uTop: [0.086, 0.105, 0.133], uBottom: [0.05, 0.06, 0.075] } :
			{ uSunColor: [1.02, 0.95, 0.84], uSky: [0.42, 0.47, 0.55], uBounce: [0.24, 0.22, 0.20], uGround: [0.74, 0.75, 0.76], uLine: [0.46, 0.49, 0.53],
				uTop: [0.80, 0.865, 0.93], uBottom: [0.945, 0.955, 0.965] };
	}

	resize() {
		const ratio = Math.min(window.devicePixelRatio || 1, 2), canvas = this.canvas;
		const width = Math.max(1, Math.round(canvas.clientWidth * ratio)), height = Math.max(1, Math.round(canvas.clientHeight * ratio));
		if (canvas.width !== width || canvas.height !== height) {
			canvas.width = width;
			canvas.height = height;
		}
		return width / height;
	}

	/** What the sun sees: the matrix of the shadow map, and its axes. */
	sunView(sun, centre, radius) {
		const [right, up] = tangents(sun), eye = add(centre, scale(sun, 3 * radius));
		return { right, up, back: sun, eye, both: multiply(orthographic(radius * 1.15, 0.5 * radius, 6 * radius), viewMatrix(eye, right, up, sun)) };
	}

	drawShadows(sunView) {
		const gl = this.gl;
		gl.bindFramebuffer(gl.FRAMEBUFFER, this.shadowTarget);
		gl.viewport(0, 0, SHADOW_SIZE, SHADOW_SIZE);
		gl.clear(gl.DEPTH_BUFFER_BIT);
		gl.enable(gl.POLYGON_OFFSET_FILL);
		gl.polygonOffset(1.5, 3);
		for (const batch of this.batches) {
			if (!batch.visible)
				continue;
			this.use(this.shadowPrograms[batch.kind], { uView: sunView.both, uEye: sunView.eye, uRight: sunView.right, uUpward: sunView.up,
				uForward: scale(sunView.back, -1), uFlat: 1 });
			batch.draw();
		}
		gl.disable(gl.POLYGON_OFFSET_FILL);
		gl.bindFramebuffer(gl.FRAMEBUFFER, null);
	}

	/** The sun stands over the viewer's left shoulder, and does not turn with the view. */
	sunDirection(camera) {
		const side = cross(camera.up, camera.ahead);
		const level = add(scale(camera.ahead, Math.cos(camera.sunHeading)), scale(side, Math.sin(camera.sunHeading)));
		return unit(add(camera.up, scale(level, 0.85)));
	}

	/** Draw a picture. grounds: list of { centre, normal, shift }. */
	draw(camera, scene) {
		const gl = this.gl, aspect = this.resize(), look = camera.look(aspect), sun = this.sunDirection(camera);
		const sunView = this.sunView(sun, scene.centre, scene.radius);
		gl.enable(gl.DEPTH_TEST);
		gl.depthMask(true);
		if (this.shadows)
			this.drawShadows(sunView);
		gl.viewport(0, 0, this.canvas.width, this.canvas.height);
		gl.clear(gl.COLOR_BUFFER_BIT | gl.DEPTH_BUFFER_BIT);
		const values = { uView: look.both, uEye: look.eye, uSun: sun, uUp: camera.up, uShadowView: sunView.both, uShadow: 0,
			uShadows: this.shadows ? 0.004 * scene.radius : -1, uRight: look.right, uUpward: look.up, uForward: scale(look.back, -1), uFlat: 0, ...this.colors() };
		gl.activeTexture(gl.TEXTURE0);
		gl.bindTexture(gl.TEXTURE_2D, this.shadowMap);
		this.drawSky(values);
		this.drawGrounds(values, scene, camera);
		for (const batch of this.batches) {
			if (!batch.visible)
				continue;
			this.use(this.programs[batch.kind], values);
			batch.draw();
		}
		this.drawOverlays(values);
	}

	drawSky(values) {
		const gl = this.gl;
		gl.depthMask(false);
		gl.disable(gl.DEPTH_TEST);
		this.use(this.programs.sky, values);
		gl.bindVertexArray(this.square.array);
		gl.drawElements(gl.TRIANGLES, 6, gl.UNSIGNED_INT, 0);
		gl.enable(gl.DEPTH_TEST);
		gl.depthMask(true);
	}

	drawGrounds(values, scene, camera) {
		const gl = this.gl;
		gl.enable(gl.BLEND);
		gl.blendFunc(gl.SRC_ALPHA, gl.ONE_MINUS_SRC_ALPHA);
		for (const ground of scene.grounds) {
			const toEye = subtract(values.uEye, ground.centre);
			if (dot(toEye, ground.normal) < 0)
				continue; // from behind a ground is glass
			const [first, second] = tangents(ground.normal);
			const size = Math.max(camera.distance, scene.radius) / 16, power = 10 ** Math.floor(Math.log10(size)), digit = size / power;
			this.use(this.programs.ground, { ...values, uCentre: ground.centre, uFirst: first, uSecond: second, uNormal: ground.normal,
				uExtent: 14 * scene.radius, uCell: power * (digit >= 5 ? 5 : digit >= 2 ? 2 : 1), uShift: [dot(ground.shift, first), dot(ground.shift, second)] });
			gl.bindVertexArray(this.square.array);
			gl.drawElements(gl.TRIANGLES, 6, gl.UNSIGNED_INT, 0);
		}
		gl.disable(gl.BLEND);
	}

	/** Overlays twice: faint where something is before them, full where nothing is. */
	drawOverlays(values) {
		const gl = this.gl, ratio = Math.min(window.devicePixelRatio || 1, 2);
		gl.enable(gl.BLEND);
		gl.blendFunc(gl.SRC_ALPHA, gl.ONE_MINUS_SRC_ALPHA);
		gl.depthMask(false);
		for (const hidden of [true, false]) {
			if (hidden)
				gl.disable(gl.DEPTH_TEST);
			else
				gl.enable(gl.DEPTH_TEST);
			for (const layer of Object.values(this.overlay)) {
				if (!layer.count)
					continue;
				this.use(this.programs[layer.kind], { uView: values.uView, uAlpha: hidden ? 0.28 : 1, uSize: 9 * ratio });
				gl.bindVertexArray(layer.array);
				gl.drawArrays(layer.kind === "dots" ? gl.POINTS : gl.LINES, 0, layer.count);
			}
		}
		gl.depthMask(true);
		gl.disable(gl.BLEND);
	}

	/** What is under a place of the canvas (in its pixels of CSS): { kind, number }, or null. */
	pick(camera, x, y) {
		const gl = this.gl, aspect = this.resize(), look = camera.look(aspect), { clientWidth: w, clientHeight: h } = this.canvas;
		// of the picture, one pixel
		const zoom = new Float32Array([w, 0, 0, 0, 0, h, 0, 0, 0, 0, 1, 0, w - 2 * (x + 0.5), 2 * (y + 0.5) - h, 0, 1]);
		const view = multiply(zoom, look.both), pixel = new Uint8Array(4);
		gl.bindFramebuffer(gl.FRAMEBUFFER, this.pickTarget);
		gl.viewport(0, 0, 1, 1);
		gl.clearColor(0, 0, 0, 0);
		gl.clear(gl.COLOR_BUFFER_BIT | gl.DEPTH_BUFFER_BIT);
		for (const batch of this.batches) {
			if (!batch.visible || !this.pickPrograms[batch.kind])
				continue;
			this.use(this.pickPrograms[batch.kind], { uView: view, uEye: look.eye, uRight: look.right, uUpward: look.up, uForward: scale(look.back, -1), uFlat: 0 });
			batch.draw();
		}
		gl.readPixels(0, 0, 1, 1, gl.RGBA, gl.UNSIGNED_BYTE, pixel);
		gl.bindFramebuffer(gl.FRAMEBUFFER, null);
		if (pixel[3] === 0)
			return null;
		return { kind: pixel[3] > 200 ? "body" : "sphere", number: pixel[0] | pixel[1] << 8 | pixel[2] << 16 };
	}
}
