/**
 * A node without servers, as a process of its own: opens the data directory that it is given, writes numbered
 * transactions to one database as fast as they are answered, and prints a line for each answer.
 *
 *   node --conditions=source bare-node.ts <directory> <from> [<count>]
 *
 * Lines on stdout: `ready <revision>`, then `ok <text> <revision>`; `drained` at the end. SIGTERM ends it early.
 */
import { DatabaseError, type GroupId } from '#base';
import { type Node, startNode, stopProcess } from '#cluster';
import { createLogger, createMetrics } from '#observability';
import { CORE_WORKER } from '../../../src/main/core-worker-url.ts';
import { databaseKit } from './machine-kit.ts';

const [directory = '', from = '0', count = 'Infinity'] = process.argv.slice(2);
const WRITERS = 8;
const EXIT_REFUSED = 2;

const logger = createLogger({ level: 'info' });
process.on('uncaughtException', (failure) => stopProcess({ logger, dataDirectory: directory }, 'front', failure));
const node = await start();
const group = await databaseOf(node);
let next = Number(from);
const end = next + Number(count);
const ending = new AbortController();
process.on('SIGTERM', () => ending.abort());
say(`ready ${await node.latest(group)}`);
await Promise.all(Array.from({ length: WRITERS }, write));
await node.drain();
say('drained');

async function start(): Promise<Node> {
  const metrics = createMetrics({ runtime: false });
  try {
    return await startNode({
      coreWorker: CORE_WORKER,
      dataDirectory: directory,
      name: 'bare',
      logger,
      metrics,
      disk: { ballastBytes: 0 },
    });
  } catch (failure) {
    say(`refused ${failure instanceof DatabaseError ? failure.details.reason : String(failure)}`);
    process.exit(EXIT_REFUSED);
  }
}

async function databaseOf(opened: Node): Promise<GroupId> {
  const bound = opened.catalog.lookup('shop');
  if (bound !== undefined) return bound.group;
  const { binding } = await opened.createDatabase('shop');
  return binding.group;
}

async function write(): Promise<void> {
  while (!ending.signal.aborted && next < end) {
    const text = `text-${next}`;
    next += 1;
    const outcome = await node.transact(group, databaseKit.payload(text));
    say(`ok ${text} ${outcome.revision}`);
  }
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}
