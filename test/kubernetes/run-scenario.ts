// Runs a scenario in a cluster of its own, as `npm run kube` does; the world ends with the test.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { basename, dirname, join, resolve } from 'node:path';
import { text } from 'node:stream/consumers';
import { PRODUCT_VARIABLE } from '../../chaos/support/product.ts';
import { writeArchive } from '../../scripts/image/archive.ts';
import { imageOf } from '../../scripts/image/image.ts';
import type { Entry } from '../../scripts/image/tar.ts';
import { endWithTest, testDir } from '../support/test-scope.ts';
import type { KubeletFacts } from './scenarios/kubelet.ts';
import type { Figures, ScenarioName } from './scenarios/scenarios.ts';

const ROOT = resolve(import.meta.dirname, '../..');
const NODE = ['--conditions=source'];
const DIST = dirname(process.env[PRODUCT_VARIABLE] ?? join(ROOT, 'dist/main.js'));
/** Hardly any, which would take most of the time. */
const COMPRESSION = 1;

/** What came of it, which is also printed. @throws Error with the logs when it did not come to its end. */
export async function runScenario(name: 'kubelet'): Promise<KubeletFacts>;
export async function runScenario(
  name: ScenarioName,
  world?: readonly string[],
  values?: readonly string[],
): Promise<Figures>;
export async function runScenario(
  name: string,
  world: readonly string[] = [],
  values: readonly string[] = [],
): Promise<unknown> {
  return runInCluster(join(import.meta.dirname, 'scenarios/main.ts'), { args: [name, ...values], world });
}

interface Run {
  /** Arguments of the program. */
  readonly args?: readonly string[];
  /** Options of `npm run kube`, beside the image. */
  readonly world?: readonly string[];
}

/** Last line of what a program in a cluster prints, as JSON. All lines are printed. @throws Error with its log. */
export async function runInCluster<Result>(program: string, { args = [], world: own = [] }: Run = {}): Promise<Result> {
  const command = [process.execPath, ...NODE, program, ...args];
  const world = [join(import.meta.dirname, 'main.ts'), '--image', await imageArchive(), ...own, ...command];
  const child = spawn(process.execPath, [...NODE, ...world], { cwd: ROOT, stdio: ['ignore', 'pipe', 'pipe'] });
  endWithTest(child);
  const [output, log, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')]);
  const what = [basename(program), ...args].join(' ');
  if (code !== 0) throw new Error(`${what} ended with ${code}:\n${log}`);
  const line = output.trim().split('\n').at(-1) ?? '';
  process.stderr.write(`${what}: ${output.trim()}\n`);
  const result: Result = JSON.parse(line);
  return result;
}

/**
 * Writes the image of a bundle, that of the tests unless given, as an archive of the test; its path. Its nodes report
 * `release`, that of the product unless given.
 */
export async function imageArchive(dist: string = DIST, tag?: string, release?: string): Promise<string> {
  const archive = join(testDir(), 'cairn.tar');
  const { layers, config } = imageOf(ROOT, { dist });
  const changed = layers.map(({ name, entries }) => ({
    name,
    entries: entries.map((entry) => released(entry, release)),
  }));
  await writeArchive(archive, changed, { ...config, version: tag ?? config.version }, COMPRESSION);
  return archive;
}

/** The manifest of the product with another release; any other file as it is. */
function released(entry: Entry, release: string | undefined): Entry {
  if (release === undefined || entry.kind !== 'file' || entry.path !== 'opt/cairn/package.json') return entry;
  const manifest: object = JSON.parse(Buffer.from(entry.bytes).toString());
  return { ...entry, bytes: Buffer.from(JSON.stringify({ ...manifest, version: release })) };
}
