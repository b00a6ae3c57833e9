// Runs a program of WASI under Node. Usage: node --no-warnings run_wasm.mjs PROGRAM [ARGUMENT...]
import { readFile } from 'node:fs/promises';
import { argv, env, exit } from 'node:process';
import { WASI } from 'node:wasi';

const wasi = new WASI({ version: 'preview1', args: argv.slice(2), env, preopens: { '/': '/' }, returnOnExit: true });
const program = await WebAssembly.compile(await readFile(argv[2]));
exit(wasi.start(await WebAssembly.instantiate(program, { wasi_snapshot_preview1: wasi.wasiImport })));
