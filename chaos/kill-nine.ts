/**
 * Kills one node with SIGKILL under load, again and again. After every restart it checks that no acknowledged
 * transaction is lost or stored twice, that the chain of hashes is unbroken, that databases are created and deleted as
 * acknowledged, and that a subscriber got every event once. Each kill waits until the node has acknowledged something
 * new since its start, otherwise it would prove nothing. The node archives its databases, and every second kill comes
 * while it does. At the end the archive is restored, and the restored node passes the same check of its transactions.
 * The parts are in chaos/support.
 *
 *   npm run chaos -- --kills 200 [--writers 16] [--seed 1]
 */
import type { ChildProcess } from 'node:child_process';
import { mkdirSync, mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { archiveChange, archivedUpTo, restoreArchive } from './support/archived.ts';
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
/** One of so many kills comes in a round of the archiver. */
const ARCHIVING_EVERY = 2;
/** A round takes about as long. */
const ROUND_MS = 20;
const PROGRESS_MS_MAX = 30_000;

export interface KillReport extends ProofSummary, ChurnSummary {
  readonly kills: number;
  /** Number of events that the subscriber received. */
  readonly delivered: number;
  /** Number of transactions on the node that was restored from the archive. */
  readonly restored: number;
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
  const archive = join(dir, 'archive');
  mkdirSync(archive);
  const start = (name = 'node'): Promise<NodeProcess> =>
    startNode({ dataDir: join(dir, name), settings: [`--archive=file://${archive}`], onSpawn: plan.onSpawn });
  let node = await start();
  const database = await createDatabase(node);
  const proof = new Proof(database, ledger);
  const world: World = { ledger, proof, churn: new CatalogChurn(), follower: new Follower(DATABASE) };
  try {
    for (let kill = 1; kill <= plan.kills; kill++) {
      const before = proof.revision;
      const until = (): Promise<unknown> => loadBefore(kill, plan, archive);
      await loadAndKill(node, world, { kill, writers: plan.writers, until });
      node = await start();
      world.follower.check(await proof.check(node.grpc));
      await world.churn.check(node.grpc);
      plan.report?.(`kill ${kill}: ${proof.revision} revisions, ${proof.revision - before} of them new, nothing lost`);
    }
    await catchUp(node, world);
    await archivedUpTo(archive, database.databaseId, proof.revision);
    node.kill('SIGKILL');
    await node.ended;
    restoreArchive(archive, join(dir, 'restored'));
    node = await start('restored');
    const restored = new Proof(database, ledger);
    await restored.check(node.grpc);
    const counts = { delivered: world.follower.count, restored: restored.revision };
    return { kills: plan.kills, ...proof.summary(), ...world.churn.summary, ...counts };
  } finally {
    node.kill('SIGKILL');
    await node.ended;
  }
}

async function loadAndKill(
  node: NodeProcess,
  { ledger, churn, follower }: World,
  load: { readonly kill: number; readonly writers: number; readonly until: () => Promise<unknown> },
): Promise<void> {
  const writers = new Writers({ address: node.grpc, database: DATABASE }, ledger);
  follower.start(node.grpc);
  churn.start(node.grpc);
  writers.start(load.writers);
  const stall = await writers.stall(PROGRESS_MS_MAX);
  if (stall === undefined) await load.until();
  node.kill('SIGKILL');
  await node.ended;
  await Promise.all([writers.stop(), churn.stop(), follower.stop()]);
  const [refusal] = [...writers.refused, ...churn.refusals];
  if (refusal !== undefined) throw new Error(`a writer was refused: ${refusal.message}`);
  if (stall !== undefined) throw new Error(`kill ${load.kill} would prove nothing: ${stall}`);
}

/** The load between the first new acknowledgement and the kill. */
async function loadBefore(kill: number, plan: KillPlan, archive: string): Promise<void> {
  const isArchiving = kill % ARCHIVING_EVERY === 1;
  if (isArchiving) await archiveChange(archive);
  if (kill % EARLY_EVERY !== 0) await delay(plan.loadMs(kill) % (isArchiving ? ROUND_MS : Number.POSITIVE_INFINITY));
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
