/**
 * Kills one node with SIGKILL under load, again and again. After every restart it checks that no acknowledged
 * transaction is lost or stored twice, that the chain of hashes is unbroken, that databases are created and deleted as
 * acknowledged, and that a subscriber got every event once. Each kill waits until the node has acknowledged something
 * new since its start, otherwise it would prove nothing. The parts are in chaos/support.
 *
 *   npm run chaos -- --kills 200 [--writers 16] [--seed 1]
 */
import type { ChildProcess } from 'node:child_process';
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { CatalogChurn, type ChurnSummary } from './support/catalog-churn.ts';
import { Follower } from './support/follower.ts';
import { type NodeOptions, type NodeProcess, startNode } from './support/node-process.ts';
import { Proof, type ProofSummary } from './support/proof.ts';
import { removeDirectory } from './support/remove-directory.ts';
import { StoreClient } from './support/store-client.ts';
import { type Ledger, Writers } from './support/writers.ts';

const DATABASE = 'chaos';
const CATCH_UP_MS = 20_000;
const EARLY_EVERY = 4;
const PROGRESS_MS_MAX = 30_000;

export interface KillReport extends ProofSummary, ChurnSummary {
  readonly kills: number;
  /** Number of events that the subscriber received. */
  readonly delivered: number;
}

export interface KillPlan {
  readonly kills: number;
  readonly writers: number;
  /**
   * Milliseconds of load before the kill number `kill`, after the first new acknowledgement. One of `EARLY_EVERY` kills
   * has no such delay.
   */
  loadMs(kill: number): number;
  report?(line: string): void;
  /** Called with each process of the node as it starts. */
  readonly onSpawn?: NodeOptions['onSpawn'];
}

/** The load, and its expected effects. */
interface World {
  readonly ledger: Ledger;
  readonly proof: Proof;
  readonly churn: CatalogChurn;
  readonly follower: Follower;
}

/** Runs the plan in `dir`. @throws Error at the first fault. */
export async function killNine(dir: string, plan: KillPlan): Promise<KillReport> {
  const ledger: Ledger = new Map();
  const start = (): Promise<NodeProcess> => startNode({ dataDir: dir, onSpawn: plan.onSpawn });
  let node = await start();
  const proof = new Proof(await createDatabase(node), ledger);
  const world: World = { ledger, proof, churn: new CatalogChurn(), follower: new Follower(DATABASE) };
  try {
    for (let kill = 1; kill <= plan.kills; kill++) {
      const isEarly = kill % EARLY_EVERY === 0;
      const before = proof.revision;
      await loadAndKill(node, world, { kill, writers: plan.writers, loadMs: isEarly ? 0 : plan.loadMs(kill) });
      node = await start();
      world.follower.check(await proof.check(node.grpc));
      await world.churn.check(node.grpc);
      plan.report?.(`kill ${kill}: ${proof.revision} revisions, ${proof.revision - before} of them new, nothing lost`);
    }
    await catchUp(node, world);
    return { kills: plan.kills, ...proof.summary(), ...world.churn.summary, delivered: world.follower.count };
  } finally {
    node.kill('SIGKILL');
    await node.ended;
  }
}

async function loadAndKill(
  node: NodeProcess,
  { ledger, churn, follower }: World,
  load: { readonly kill: number; readonly writers: number; readonly loadMs: number },
): Promise<void> {
  const writers = new Writers({ address: node.grpc, database: DATABASE }, ledger);
  follower.start(node.grpc);
  churn.start(node.grpc);
  writers.start(load.writers);
  const stall = await writers.stall(PROGRESS_MS_MAX);
  if (stall === undefined) await delay(load.loadMs);
  node.kill('SIGKILL');
  await node.ended;
  await Promise.all([writers.stop(), churn.stop(), follower.stop()]);
  const [refusal] = [...writers.refused, ...churn.refusals];
  if (refusal !== undefined) throw new Error(`a writer was refused: ${refusal.message}`);
  if (stall !== undefined) throw new Error(`kill ${load.kill} would prove nothing: ${stall}`);
}

/** Checks that the subscriber finally receives everything that is stored. */
async function catchUp(node: NodeProcess, { follower, proof }: World): Promise<void> {
  const { events } = proof.summary();
  const deadline = performance.now() + CATCH_UP_MS;
  follower.start(node.grpc);
  while (follower.count < events && performance.now() < deadline) await delay(20);
  await follower.stop();
  follower.check([]);
  if (follower.count !== events) throw new Error(`the subscriber got ${follower.count} of ${events} events`);
}

async function createDatabase(node: NodeProcess): Promise<{ readonly name: string; readonly databaseId: string }> {
  using client = new StoreClient(node.grpc);
  return await client.createDatabase(DATABASE);
}

/** Small seeded generator (mulberry32), so that a run can be repeated. */
function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/**
 * The command: kills one node `kills` times in a temporary directory and prints the result. The node and the directory
 * are removed when this process exits.
 */
export async function killAgainAndAgain({
  kills,
  writers,
  seed,
}: Pick<KillPlan, 'kills' | 'writers'> & { readonly seed: number }): Promise<void> {
  const random = seeded(seed);
  const dir = mkdtempSync(join(tmpdir(), 'cairn-chaos-'));
  let running: ChildProcess | undefined;
  process.once('exit', () => {
    running?.kill('SIGKILL');
    removeDirectory(dir);
  });
  const report = await killNine(dir, {
    kills,
    writers,
    loadMs: () => 20 + random() * 400,
    report: (line) => process.stderr.write(`${line}\n`),
    onSpawn: (child) => (running = child),
  });
  process.stdout.write(`${JSON.stringify(report)}\n`);
}
