/**
 * Measures the memory of a node and of its publishing process while large components are published at once, and the
 * node's memory afterwards.
 *
 *   npm run build && node --conditions=source bench/publish-memory.ts
 *     [--mib 62] [--publishes 2] [--over http|grpc] [--turns 1] [--rest 10] [--trim yes]
 *
 * One node runs in another process, with a request budget of twice the concurrently sent bytes. The components are
 * State Views with a core module of random bytes, which is not executed but is part of the artifact; each turn
 * publishes other components. Memory is sampled every 20 ms and read from the kernel's peak values. It prints MiB of
 * the node when idle, at its peak and after a rest, and of the publishing processes at their peak. With --trim, it
 * finally makes V8 collect garbage and malloc return free memory (with gdb); the rest is in use.
 */
import { randomFillSync } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { PublishStateViewRequest } from '../proto/gen/cairn/v1/component.ts';
import { readNumber, readOptions, refuse } from '../scripts/support/command-line.ts';
import { hashingView } from '../test/support/components/views.ts';
import { TestClient } from '../test/support/grpc-client.ts';
import { filled } from '../test/support/published.ts';
import { type CairnNode, createDatabase, startCairn, THIS_BUILD } from './peers/cairn.ts';
import { collectGarbage, trimMalloc } from './support/give-back.ts';
import { processTree, residentMemory } from './support/process-cpu.ts';

const DATABASE = 'shop';
const MIB = 2 ** 20;
const LOOK_MS = 20;
const SETTLE_MS = 3_000;
const DEADLINE_MS = 120_000;

const values = readOptions({ mib: '62', publishes: '2', over: 'http', turns: '1', rest: '10', trim: 'no', root: '' });
const componentBytes = readNumber('mib', values.mib, { min: 1, isWhole: true }) * MIB;
const publishes = readNumber('publishes', values.publishes, { min: 1, isWhole: true });
const turns = readNumber('turns', values.turns, { min: 1, isWhole: true });
const restMs = readNumber('rest', values.rest, { min: 1, isWhole: false }) * 1_000;
const { over } = values;
if (over !== 'http' && over !== 'grpc') refuse('--over takes http, grpc');
if (values.trim !== 'yes' && values.trim !== 'no') refuse('--trim takes yes, no');

/** Observed memory of processes, in bytes. */
class Watch {
  readonly #pid: number;
  readonly #timer: NodeJS.Timeout;
  publisherBytes = 0;

  constructor(pid: number) {
    this.#pid = pid;
    this.#timer = setInterval(() => this.#look(), LOOK_MS);
  }

  /** Peak memory of the node since its start. */
  get nodeBytes(): number {
    return markOf(this.#pid);
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  #look(): void {
    const marks = processTree(this.#pid).map((pid) => (pid === this.#pid ? 0 : markOf(pid)));
    this.publisherBytes = Math.max(this.publisherBytes, ...marks);
  }
}

const dir = mkdtempSync(join(tmpdir(), 'cairn-publish-'));
const budget = `--request-memory-bytes=${Math.ceil((2 * publishes * (componentBytes + MIB)) / MIB)}MiB`;
const build = values.root === '' || values.root === undefined ? THIS_BUILD : { ...THIS_BUILD, root: values.root };
const node = await startCairn(dir, build, [budget]);
try {
  await run();
} finally {
  await node.stop();
  rmSync(dir, { recursive: true, force: true });
}

async function run(): Promise<void> {
  await createDatabase(node, DATABASE);
  // The first publication creates folders and compiles code.
  await publish(node, 0, MIB);
  await delay(SETTLE_MS);
  const idle = residentMemory(node.pid);
  const head = `${publishes} × ${componentBytes / MIB} MiB over ${over}, load ${loadavg()[0]?.toFixed(1)}`;
  console.log(`${head}\nidle ${shown(idle.total)}, anonymous ${shown(idle.anonymous)}`);
  const watch = new Watch(node.pid);
  for (let turn = 1; turn <= turns; turn++) {
    const began = performance.now();
    await Promise.all(Array.from({ length: publishes }, (_, n) => publish(node, turn * publishes + n, componentBytes)));
    const seconds = (performance.now() - began) / 1_000;
    const { nodeBytes, publisherBytes } = watch;
    const perPublish = (nodeBytes - idle.total) / (publishes * componentBytes);
    console.log(`${seconds.toFixed(1)} s; node at most ${shown(nodeBytes)}, idle + ${perPublish.toFixed(2)} × body`);
    console.log(`publishing process at most ${shown(publisherBytes)}`);
    await delay(restMs);
    const rest = residentMemory(node.pid);
    console.log(`after ${restMs / 1_000} s ${shown(rest.total)}, anonymous ${shown(rest.anonymous)}`);
  }
  watch.stop();
  if (values.trim === 'no') return;
  await collectGarbage(node.pid);
  console.log(`V8 has collected: ${shown(residentMemory(node.pid).total)}`);
  trimMalloc(node.pid);
  const { total, anonymous } = residentMemory(node.pid);
  console.log(`malloc has given back: ${shown(total)}, anonymous ${shown(anonymous)}`);
}

async function publish(to: CairnNode, number: number, bytes: number): Promise<void> {
  const view = await hashingView({ hasBatch: true, hasQuery: false });
  const filling = randomFillSync(new Uint8Array(bytes));
  const component = filled(await view.bytes(), filling);
  const name = `view-${number}`;
  if (over === 'grpc') return publishOverGrpc(to, name, component);
  const form = new FormData();
  const metadata = { state_view_name: name, events: ['t'], content_type: 'text/plain', query_temporality: 'revision' };
  form.append('metadata', JSON.stringify(metadata));
  form.append('wasm', new Blob([component]));
  const signal = AbortSignal.timeout(DEADLINE_MS);
  const path = `${to.http}/api/v1/db/${DATABASE}/state-views`;
  const answer = await fetch(path, { method: 'POST', body: form, signal });
  const said = await answer.text();
  if (answer.status !== 201) throw new Error(`${name} is answered ${answer.status}: ${said}`);
}

async function publishOverGrpc(to: CairnNode, name: string, component: Uint8Array): Promise<void> {
  const { host, port } = to.address;
  await using client = new TestClient(`${host}:${port}`, { 'grpc.max_send_message_length': -1 });
  const request = {
    databaseName: DATABASE,
    stateViewName: name,
    contentType: 'text/plain',
    eventTypes: ['t'],
    wasmBytes: Buffer.from(component.buffer, component.byteOffset, component.length),
  };
  await client.send('publishStateView', PublishStateViewRequest.fromPartial(request), { deadlineMs: DEADLINE_MS });
}

/** Peak resident memory as recorded by the kernel; 0 when the process has ended. */
function markOf(pid: number): number {
  try {
    return Number(/^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0) * 1024;
  } catch (error) {
    if (error instanceof Error && 'code' in error) return 0;
    throw error;
  }
}

function shown(bytes: number): string {
  return `${(bytes / MIB).toFixed(0)} MiB`;
}
