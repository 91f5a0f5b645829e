/**
 * Measures the cost of inspecting, capping and metering a component, in CPU milliseconds per megabyte, and the run-time
 * cost of metering.
 *
 *   node --conditions=source bench/publish-checks.ts [--turns 9]
 *
 * The core modules are those of wasm-tools and of the transpiler, both compiled from Rust. For the inspection, each is
 * put into a component with the smallest State View. It prints medians of `--turns` turns; then the time in which
 * wasm-tools parses a text of 5,000 functions, unmetered and metered, with the fuel that it uses; and finally the wall
 * time of publishing, in another process that runs the sources.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { ByteWriter } from '#base';
import { cap, DEFAULT_LIMITS, inspect, meter, Publisher } from '#wasm';
import { valueOf } from '../test/support/wasm/rewritten.ts';
import { viewText, wat } from '../test/support/wasm/wat.ts';
import { largeModules, loadTools } from './support/own-tools.ts';

const { values } = parseArgs({ options: { turns: { type: 'string', default: '9' } } });
const TURNS = Number(values.turns);
const PUBLISHED = 5;
const GROWTH = { memoryPages: 1024, tableElements: 100_000 };
const MUCH = 2n ** 62n;
const TEXT = `(module ${'(func (param i32) (result i32) local.get 0 i32.const 1 i32.add)'.repeat(5000)})`;

console.log(`load ${loadavg()[0]?.toFixed(2)}`);
for (const [name, module] of largeModules()) await measureChecks(name, module);
await measureRun();
for (const [name, module] of largeModules()) await measurePublish(name, await componentWith(module));
await measurePublish('the smallest State View', await wat(viewText()));

async function measureChecks(name: string, module: Uint8Array): Promise<void> {
  const component = await componentWith(module);
  const megabytes = module.length / 1e6;
  const perMegabyte = (work: () => unknown): string =>
    (median(Array.from({ length: TURNS }, () => timed(work))) / megabytes).toFixed(1);
  const inspected = perMegabyte(() => valueOf(inspect(component, { kind: 'state-view', limits: DEFAULT_LIMITS })));
  const capped = perMegabyte(() => valueOf(cap(module, GROWTH)));
  const metered = perMegabyte(() => valueOf(meter(module)));
  const growth = (valueOf(meter(module)).length / module.length - 1) * 100;
  console.log(
    `${name}, ${megabytes.toFixed(1)} MB: inspect ${inspected}, cap ${capped}, meter ${metered} ms/MB; ` +
      `metered +${growth.toFixed(1)} %`,
  );
}

/** Wall time from the bytes to the artifact, including the start of the publishing process. */
async function measurePublish(name: string, component: Uint8Array): Promise<void> {
  await using publisher = new Publisher();
  const limits = { fuel: 1e9, outputBytesMax: 1e6, hostCallsMax: 0 };
  const smoke = { limits, wasi: { timeNs: 0n, seed: 0n } };
  const times: number[] = [];
  for (let turn = 0; turn < PUBLISHED; turn++) {
    const before = performance.now();
    valueOf(await publisher.publish(component, { kind: 'state-view', limits: DEFAULT_LIMITS, smoke }));
    times.push(performance.now() - before);
  }
  console.log(`${name}, ${(component.length / 1e6).toFixed(1)} MB: published in ${median(times).toFixed(0)} ms`);
}

/** The smallest State View with an additional core module. */
async function componentWith(module: Uint8Array): Promise<Uint8Array> {
  const writer = new ByteWriter();
  writer.bytes(await wat(viewText()));
  writer.u8(0x01);
  writer.varint(module.length);
  writer.bytes(module);
  return writer.take();
}

async function measureRun(): Promise<void> {
  const root = mkdtempSync(join(tmpdir(), 'cairn-bench-'));
  try {
    const plain = await loadTools(join(root, 'plain'), (module) => module);
    const metered = await loadTools(join(root, 'metered'), (module) => valueOf(meter(module)));
    const { fuel = { value: 0n } } = metered;
    fuel.value = MUCH;
    metered.parse(TEXT);
    const taken = MUCH - fuel.value;
    const times = Array.from({ length: TURNS }, () => ({
      plain: timed(() => plain.parse(TEXT)),
      metered: timed(() => metered.parse(TEXT)),
    }));
    const [before, after] = [median(times.map((turn) => turn.plain)), median(times.map((turn) => turn.metered))];
    console.log(`wasm-tools parse: ${before.toFixed(1)} ms, metered ${after.toFixed(1)} ms, ${taken} units of fuel`);
  } finally {
    rmSync(root, { recursive: true });
  }
}

function median(times: readonly number[]): number {
  return times.toSorted((a, b) => a - b)[times.length >> 1] ?? 0;
}

/** CPU milliseconds of all threads, because other processes compete for the processors. */
function timed(work: () => unknown): number {
  const before = process.cpuUsage();
  work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
}
