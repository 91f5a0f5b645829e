/**
 * Kills a node with SIGKILL under load, again and again, and checks after every restart that nothing that was
 * acknowledged is lost, nothing is there twice, and the history is an unbroken chain.
 *
 *   npm run chaos -- [--kills 200] [--writers 16] [--seed 1]
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { credentials } from '@grpc/grpc-js';
import { type Database } from '../src/transport/grpc/gen/cairn/v1/database.ts';
import { EventStoreClient } from '../src/transport/grpc/gen/cairn/v1/event_store.ts';
import { brokenLink, firstHash, type LoggedTransaction, readLog, textField } from './support/log-reader.ts';
import { type NodeProcess, startNode } from './support/node-process.ts';
import { type Ledger, Writers } from './support/writers.ts';

const DATABASE = 'chaos';

export interface KillReport {
  readonly kills: number;
  readonly acknowledged: number;
  readonly unknownButStored: number;
  readonly unknownAndAbsent: number;
  readonly revision: number;
}

export interface KillPlan {
  readonly kills: number;
  readonly writers: number;
  /** Milliseconds of load before the kill number `kill`. */
  loadMs(kill: number): number;
  report?(line: string): void;
}

/** Everything that was proven so far, so that each restart only checks what is new. */
interface Proven {
  revision: number;
  hash: Buffer;
  readonly revisionOf: Map<string, number>;
}

/** Runs the plan in `dir`; throws with what is wrong at the first fault. */
export async function killNine(dir: string, plan: KillPlan): Promise<KillReport> {
  const ledger: Ledger = new Map();
  let node = await startNode({ dataDir: dir });
  const { databaseId } = await createDatabase(node);
  const proven: Proven = { revision: 0, hash: firstHash(databaseId), revisionOf: new Map() };
  try {
    for (let kill = 1; kill <= plan.kills; kill++) {
      const writers = new Writers({ address: node.grpc, database: DATABASE }, ledger);
      writers.start(plan.writers);
      await delay(plan.loadMs(kill));
      node.kill('SIGKILL');
      await node.ended;
      await writers.stop();
      const [refusal] = writers.refused;
      if (refusal !== undefined) throw new Error(`kill ${kill}: a writer was refused: ${refusal.message}`);
      node = await startNode({ dataDir: dir });
      prove(proven, await readLog(node.grpc, DATABASE, proven.revision + 1), ledger);
      plan.report?.(`kill ${kill}: ${proven.revision} revisions, nothing lost`);
    }
    return summary(plan, proven, ledger);
  } finally {
    node.kill('SIGKILL');
    await node.ended;
  }
}

function prove(proven: Proven, log: readonly LoggedTransaction[], ledger: Ledger): void {
  const broken = brokenLink(proven, log);
  if (broken !== undefined) throw new Error(broken);
  for (const transaction of log) proveTransaction(transaction, proven, ledger);
  const last = log.at(-1);
  if (last !== undefined) Object.assign(proven, { revision: last.revision, hash: last.chainHash });
  for (const { transactionId, outcome } of ledger.values()) {
    if (outcome.kind !== 'acknowledged') continue;
    const stored = proven.revisionOf.get(transactionId);
    if (stored !== outcome.revision) {
      throw new Error(
        `${transactionId} was acknowledged at revision ${outcome.revision} and is stored at ${stored ?? 'none'}`,
      );
    }
  }
}

function proveTransaction(transaction: LoggedTransaction, proven: Proven, ledger: Ledger): void {
  const { transactionId, revision } = transaction;
  const attempt = ledger.get(transactionId);
  if (attempt === undefined) throw new Error(`revision ${revision} holds ${transactionId}, which nobody wrote`);
  const twice = proven.revisionOf.get(transactionId);
  if (twice !== undefined) throw new Error(`${transactionId} is stored at revision ${twice} and again at ${revision}`);
  const ids = transaction.events.map((event) => textField(event, 1));
  if (ids.join() !== attempt.eventIds.join()) throw new Error(`revision ${revision} holds the events ${ids.join()}`);
  proven.revisionOf.set(transactionId, revision);
}

function summary(plan: KillPlan, proven: Proven, ledger: Ledger): KillReport {
  const attempts = Array.from(ledger.values());
  const unknown = attempts.filter((attempt) => attempt.outcome.kind === 'unknown');
  const stored = unknown.filter((attempt) => proven.revisionOf.has(attempt.transactionId));
  return {
    kills: plan.kills,
    acknowledged: attempts.filter((attempt) => attempt.outcome.kind === 'acknowledged').length,
    unknownButStored: stored.length,
    unknownAndAbsent: unknown.length - stored.length,
    revision: proven.revision,
  };
}

function createDatabase(node: NodeProcess): Promise<Database> {
  const client = new EventStoreClient(node.grpc, credentials.createInsecure());
  return new Promise((resolve, reject) => {
    client.createDatabase({ databaseName: DATABASE }, (error, reply) => {
      client.close();
      if (reply?.database !== undefined) resolve(reply.database);
      else reject(error ?? new Error('a created database is described'));
    });
  });
}

/** A small generator, so that a run can be repeated: mulberry32. */
function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

if (import.meta.main) {
  const { values } = parseArgs({
    options: {
      kills: { type: 'string', default: '200' },
      writers: { type: 'string', default: '16' },
      seed: { type: 'string', default: '1' },
    },
  });
  const random = seeded(Number(values.seed));
  const dir = mkdtempSync(join(tmpdir(), 'cairn-chaos-'));
  try {
    const report = await killNine(dir, {
      kills: Number(values.kills),
      writers: Number(values.writers),
      loadMs: () => 20 + random() * 400,
      report: (line) => process.stderr.write(`${line}\n`),
    });
    process.stdout.write(`${JSON.stringify(report)}\n`);
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}
