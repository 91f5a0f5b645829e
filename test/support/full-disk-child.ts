/**
 * A process on a small disk of its own, which it fills: first with a log, then with anything, to see what the guard of
 * free space does. Prints what happened as one line of JSON. Started by disk-full.test.ts inside a mount namespace.
 *
 *   node --conditions=source test/support/full-disk-child.ts <directory>
 */
import { closeSync, openSync, rmSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { toGroupId, toLogIndex, toTerm } from '#base';
import { DiskGuard, RecordWriter, StorageFailure, Wal } from '#storage';

const MIB = 1024 * 1024;
const SEGMENT_BYTES = MIB;
const IDENTITY = { clusterId: new Uint8Array(16).fill(1), storeId: new Uint8Array(16).fill(2) };
const GROUP = toGroupId(1);
const TERM = toTerm(1);

const [directory = ''] = process.argv.slice(2);
writeSync(1, `${JSON.stringify({ log: fillWithLog(), guard: await watchFilling() })}\n`);

/** Appends until no segment can be made any more, opens the log again, and says what it holds. */
function fillWithLog(): unknown {
  const path = join(directory, 'wal');
  const { wal } = Wal.open(path, { identity: IDENTITY, segmentBytes: SEGMENT_BYTES });
  const writer = new RecordWriter();
  writer.hardState(GROUP, { term: TERM, vote: 1 });
  wal.append([writer.take()]);
  let acknowledged = 0;
  let failure: unknown;
  while (failure === undefined && acknowledged < 1000) {
    writer.entry(GROUP, { term: TERM, index: toLogIndex(acknowledged + 1), payload: new Uint8Array(50_000).fill(7) });
    try {
      wal.append([writer.take()]);
      acknowledged += 1;
    } catch (error) {
      failure = error;
    }
  }
  const { recovered } = Wal.open(path, { identity: IDENTITY, segmentBytes: SEGMENT_BYTES });
  const held = recovered.groups.get(GROUP)?.entries.length;
  rmSync(path, { recursive: true });
  return { acknowledged, held, kind: failure instanceof StorageFailure ? failure.kind : String(failure) };
}

/** The levels, and the ballast in MiB, while the disk is filled, filled more and emptied. */
async function watchFilling(): Promise<unknown> {
  const thresholds = { softBytes: 3 * MIB, hardBytes: 2 * MIB, ballastBytes: MIB };
  const guard = DiskGuard.open(directory, { thresholds });
  const junk = join(directory, 'junk');
  const levels: string[] = [];
  const note = async (): Promise<void> => {
    // While everything is open the ballast is made, off this thread, some of it at each check.
    do {
      guard.check();
      await new Promise(setImmediate);
    } while (guard.level === 'open' && guard.report.ballastHeldBytes < MIB);
    const { level, ballastHeldBytes } = guard.check();
    levels.push(`${level} ${ballastHeldBytes / MIB}`);
  };
  await note();
  for (const left of [2.5, 1.5, 0.5]) {
    fill(junk, guard.check().availableBytes - left * MIB);
    await note();
  }
  rmSync(junk);
  await note();
  await guard.close();
  return levels;
}

function fill(path: string, bytes: number): void {
  const descriptor = openSync(path, 'a');
  const noise = new Uint8Array(64 * 1024).fill(1);
  for (let left = bytes; left > 0; left -= noise.length) writeSync(descriptor, noise, 0, Math.min(left, noise.length));
  closeSync(descriptor);
}
