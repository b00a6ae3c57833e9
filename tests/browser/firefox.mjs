// A Firefox for tests, driven by WebDriver BiDi through a WebSocket of our own (RFC 6455, text frames alone): no package of npm is needed, and
// the Node of Debian 12 has none. Headless it draws no WebGL, so it has a screen in memory (Xvfb).
import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { Page, ended, until, within } from './browser.mjs';

/** A WebSocket to 127.0.0.1: `take` gets the messages, as text. */
class Socket {
	constructor(port, path, take, lost) {
		this.rest = Buffer.alloc(0);
		this.parts = [];
		this.open = new Promise((resolve, reject) => {
			this.stream = connect(port, '127.0.0.1', () => this.stream.write(`GET ${path} HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nUpgrade: websocket\r\n` +
				`Connection: Upgrade\r\nSec-WebSocket-Key: ${randomBytes(16).toString('base64')}\r\nSec-WebSocket-Version: 13\r\n\r\n`));
			this.stream.on('error', reject);
			this.stream.on('close', () => { reject(new Error('the browser has ended')); lost(); });
			this.stream.on('data', (data) => {
				this.rest = Buffer.concat([this.rest, data]);
				const end = this.upgraded ? 0 : this.rest.indexOf('\r\n\r\n');
				if (!this.upgraded && end >= 0) {
					this.upgraded = this.rest.toString('latin1', 0, end).startsWith('HTTP/1.1 101');
					this.rest = this.rest.subarray(end + 4);
					this.upgraded ? resolve() : reject(new Error('Firefox refuses the WebSocket'));
				}
				while (this.upgraded && this.readFrame(take));
			});
		});
	}

	/** Read a frame, if it is there as a whole. */
	readFrame(take) {
		if (this.rest.length < 2)
			return false;
		let size = this.rest[1] & 127, at = 2;
		if (size >= 126) {
			at = size === 126 ? 4 : 10;
			if (this.rest.length < at)
				return false;
			size = at === 4 ? this.rest.readUInt16BE(2) : Number(this.rest.readBigUInt64BE(2));
		}
		if (this.rest.length < at + size)
			return false;
		const code = this.rest[0] & 15, last = this.rest[0] & 128;
		if (code < 2)
			this.parts.push(Buffer.from(this.rest.subarray(at, at + size)));
		this.rest = this.rest.subarray(at + size);
		if (code < 2 && last)
			take(Buffer.concat(this.parts.splice(0)).toString());
		return true;
	}

	send(text) {
		const data = Buffer.from(text), mask = randomBytes(4), size = data.length < 126 ? 2 : data.length < 65536 ? 4 : 10, head = Buffer.alloc(size);
		head[0] = 0x81;
		head[1] = 0x80 | (size === 2 ? data.length : size === 4 ? 126 : 127);
		if (size === 4)
			head.writeUInt16BE(data.length, 2);
		else if (size === 10)
			head.writeBigUInt64BE(BigInt(data.length), 2);
		for (let i = 0; i < data.length; i++)
			data[i] ^= mask[i & 3];
		this.stream.write(Buffer.concat([head, mask, data]));
	}
}

/** A value as BiDi tells it. */
function valueOf({ type, value }) {
	if (type === 'array')
		return value.map(valueOf);
	if (type === 'object')
		return Object.fromEntries(value.map(([key, item]) => [key, valueOf(item)]));
	return type === 'number' ? Number(value) : type === 'null' ? null : value;
}

// Keys that are no characters, as WebDriver numbers them.
const KEYS = { End: '\uE010', Home: '\uE011', Escape: '\uE00C', ArrowLeft: '\uE012', ArrowUp: '\uE013', ArrowRight: '\uE014', ArrowDown: '\uE015' };
// The software renderer draws WebGL; nothing is asked of a network.
const PREFERENCES = { 'webgl.force-enabled': true, 'gfx.webrender.software': true, 'app.update.enabled': false, 'browser.shell.checkDefaultBrowser': false,
	'datareporting.policy.dataSubmissionEnabled': false, 'network.captive-portal-service.enabled': false, 'network.connectivity-service.enabled': false,
	'layout.css.prefers-color-scheme.content-override': 1, 'general.smoothScroll': false };

export class Firefox extends Page {
	constructor(program, width, height) {
		super(width, height);
		writeFileSync(join(this.folder, 'user.js'), Object.entries(PREFERENCES).map(([name, value]) => `user_pref("${name}", ${value});\n`).join(''));
		this.program = program;
	}

	/** What a program prints that matches; its end is an error, and so is its silence. */
	static print(child, stream, pattern) {
		return within(new Promise((resolve, reject) => {
			let words = '';
			stream.on('data', (data) => {
				words = (words + data).slice(-20000);
				const found = words.match(pattern);
				if (found)
					resolve(found[1]);
			});
			child.on('exit', () => reject(new Error(`${child.spawnfile} has ended: ${words}`)));
			child.on('error', reject);
		}), `${child.spawnfile} is to print ${pattern}`);
	}

	take(text) {
		const message = JSON.parse(text);
		if (message.id !== undefined)
			this.answer(message.id, message.type === 'error' ? new Error(`${message.error}: ${message.message}`) : null, message.result);
		else if (message.method === 'log.entryAdded' && message.params.level === 'error')
			this.errors.push(message.params.text);
		else if (message.method === 'network.beforeRequestSent')
			this.requests.push(message.params.request.url);
	}

	send(id, method, params) {
		this.socket.send(JSON.stringify({ id, method, params }));
	}

	async start() {
		this.screen = spawn('Xvfb', ['-displayfd', '1', '-screen', '0', '1280x1024x24', '-nolisten', 'tcp'], { stdio: ['ignore', 'pipe', 'ignore'] });
		const display = await Firefox.print(this.screen, this.screen.stdout, /^(\d+)\n/);
		this.child = spawn(this.program, ['--no-remote', '--profile', this.folder, '--remote-debugging-port', '0', 'about:blank'],
			{ stdio: ['ignore', 'ignore', 'pipe'], env: { ...process.env, HOME: this.folder, DISPLAY: `:${display}`, MOZ_CRASHREPORTER_DISABLE: '1' } });
		this.child.on('exit', () => this.forget());
		const port = await Firefox.print(this.child, this.child.stderr, /WebDriver BiDi listening on ws:\/\/127\.0\.0\.1:(\d+)/);
		this.socket = new Socket(port, '/session', (text) => this.take(text), () => this.forget());
		await within(this.socket.open, 'the WebSocket of Firefox');
		await this.call('session.new', { capabilities: {} });
		await this.call('session.subscribe', { events: ['log.entryAdded', 'network.beforeRequestSent'] });
		this.context = await until(async () => (await this.call('browsingContext.getTree')).contexts[0]?.context, 'the first page');
	}

	/** `dark` is not asked for: Firefox takes it at its start alone. */
	async open(url, { phone = false } = {}) {
		if (!this.context)
			await this.start();
		const { width, height } = phone ? { width: 390, height: 780 } : this.size;
		await this.call('browsingContext.setViewport', { context: this.context, viewport: { width, height }, devicePixelRatio: phone ? 2 : 1 });
		this.errors = [];
		this.requests = [];
		await this.call('browsingContext.navigate', { context: this.context, url, wait: 'none' });
	}

	async evaluate(expression) {
		const found = await this.call('script.evaluate', { expression, target: { context: this.context }, awaitPromise: true });
		if (found.type === 'exception')
			throw new Error(found.exceptionDetails.text);
		return valueOf(found.result);
	}

	async act(source) {
		await this.call('input.performActions', { context: this.context, actions: [source] });
	}

	async key(key) {
		const value = KEYS[key] || key;
		await this.act({ type: 'key', id: 'keys', actions: [{ type: 'keyDown', value }, { type: 'keyUp', value }] });
	}

	async mouse(type, x, y) {
		const actions = [{ type: 'pointerMove', x: Math.round(x), y: Math.round(y) }];
		if (type !== 'mouseMoved')
			actions.push({ type: type === 'mousePressed' ? 'pointerDown' : 'pointerUp', button: 0 });
		await this.act({ type: 'pointer', id: 'mouse', actions });
	}

	async screenshot() {
		return Buffer.from((await this.call('browsingContext.captureScreenshot', { context: this.context })).data, 'base64');
	}

	async close() {
		await super.close();
		if (this.screen?.pid && this.screen.exitCode === null) {
			this.screen.kill();
			await ended(this.screen);
		}
	}

	leave() {
		if (!this.context)
			return false;
		this.call('browser.close').catch(() => {});
		return true;
	}
}
