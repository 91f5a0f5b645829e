/**
 * A process that appends a number of entries to a log, or as many as it can until the log fails. Started by tests
 * that make its system calls fail, or kill it.
 *
 *   node --conditions=source test/support/log-child.ts <directory> <entries> <payload bytes>
 *
 * Each line on stdout is the index up to which entries were acknowledged; it is written before anything else happens.
 * Exit code 0 when all are written, 70 when the log failed, which is what a node does.
 */
import { writeSync } from 'node:fs';
import { toGroupId, toLogIndex, toRevision, toTerm } from '#base';
import { type BatchId, LogThread, RecordWriter } from '#storage';

const FATAL_EXIT_CODE = 70;
/** Entries that may wait for the disk at a time: enough for batches of several, few enough for many batches. */
const IN_FLIGHT_MAX = 8;
const CHECKPOINT_EVERY = 50;

const [directory = '', count = '0', payloadBytes = '0'] = process.argv.slice(2);
const identity = { clusterId: new Uint8Array(16).fill(1), storeId: new Uint8Array(16).fill(2) };
const group = toGroupId(1);

await main().catch(die);

async function main(): Promise<void> {
  const log = LogThread.start();
  const recovered = await log.open(directory, { identity, segmentBytes: 64 * 1024 });
  log.onFatal(die);
  const held = recovered.groups.get(group);
  const first = (held?.entries.at(-1)?.index ?? held?.checkpoint.index ?? 0) + 1;
  const term = toTerm((held?.hardState.term ?? 0) + 1);
  const writer = new RecordWriter();
  const indexes = new Map<BatchId, number>();
  let next = first;
  const appendSome = (acknowledged: number): void => {
    for (; next < first + Number(count) && next <= acknowledged + IN_FLIGHT_MAX; next++) {
      const payload = new Uint8Array(Number(payloadBytes)).fill(next % 251);
      writer.entry(group, { term, index: toLogIndex(next), payload });
      if (next % CHECKPOINT_EVERY === 0) checkpointBefore(writer, next, first);
      indexes.set(log.append(writer.take()), next);
    }
  };
  writer.hardState(group, { term, vote: 1 });
  const last = first + Number(count) - 1;
  await new Promise<void>((resolve) => {
    log.onPersisted((through) => {
      const acknowledged = indexes.get(through) ?? 0;
      writeSync(1, `${acknowledged}\n`);
      if (acknowledged === last) resolve();
      else appendSome(acknowledged);
    });
    appendSome(first - 1);
  });
  await log.close();
}

/** Lets old segments go, some way behind the end of the log. */
function checkpointBefore(writer: RecordWriter, index: number, first: number): void {
  const at = index - CHECKPOINT_EVERY;
  // The term of an entry of an earlier process is not known here.
  if (at < first) return;
  const term = toTerm(0);
  writer.checkpoint(group, { index: toLogIndex(at), term, revision: toRevision(at) });
}

function die(failure: unknown): never {
  writeSync(2, `${String(failure)}\n`);
  process.exit(FATAL_EXIT_CODE);
}
