// Goal: a process that runs guests can read its own program and do nothing else, even if it executed JavaScript of a
// guest. Method: Node with the flags of such a process, and a program that tries.
import { spawnSync } from 'node:child_process';
import { resolve } from 'node:path';
import { expect, it } from 'vitest';
import { flagsOf } from '../../../../src/wasm/executors/executor-flags.ts';

const ROOT = resolve(import.meta.dirname, '../../../..');
const TRIES = `
  const tried = (work) => { try { work(); return 'done'; } catch (error) { return error.code ?? error.name; } };
  const { readFileSync, readdirSync, writeFileSync } = require('node:fs');
  console.log(JSON.stringify({
    own: tried(() => readFileSync('${ROOT}/src/wasm/executors/executor-worker.ts')),
    read: tried(() => readFileSync('/etc/hostname')),
    list: tried(() => readdirSync('${ROOT}/test')),
    write: tried(() => writeFileSync('${ROOT}/src/wasm/executors/executor-worker.ts', '')),
    start: tried(() => require('node:child_process').spawnSync('true')),
    thread: tried(() => new (require('node:worker_threads').Worker)('1', { eval: true })),
    machineCode: tried(() => process.dlopen({ exports: {} }, '/lib/any.node')),
    code: tried(() => new Function('return 1')),
    environment: Object.keys(process.env).length,
  }));
`;

it('a process of guests can read its own program and nothing else', () => {
  const flags = flagsOf(2 ** 27);
  const { stdout, stderr } = spawnSync(process.execPath, [...flags, '--eval', TRIES], { env: {}, cwd: '/' });
  expect(stderr.toString()).toBe('');
  expect(JSON.parse(stdout.toString())).toEqual({
    own: 'done',
    read: 'ERR_ACCESS_DENIED',
    list: 'ERR_ACCESS_DENIED',
    write: 'ERR_ACCESS_DENIED',
    start: 'ERR_ACCESS_DENIED',
    thread: 'ERR_ACCESS_DENIED',
    machineCode: 'ERR_DLOPEN_DISABLED',
    code: 'EvalError',
    environment: 0,
  });
});
