// Goal: both log writers keep order, sync waiting batches once, and do nothing after a failure (W14). Method: the
// direct log with counted flushes; the thread with real files.
import { expect, it } from 'vitest';
import { toGroupId, toLogIndex, toTerm } from '#base';
import { DirectLog, type EncodedRecords, LogThread, type LogWriter, type RecoveredLog, StorageFailure } from '#storage';
import { fileError } from '../../support/file-names.ts';
import { encode, stateOf } from '../../support/log-model.ts';
import { MemoryDisk } from '../../support/memory-disk.ts';
import { tempDir } from '../../support/temp-dir.ts';

const GROUP = toGroupId(1);
const TERM = toTerm(1);
const OPTIONS = {
  identity: { clusterId: new Uint8Array(16).fill(1), storeId: new Uint8Array(16).fill(2) },
  segmentBytes: 256 * 1024,
};

it('the log on the thread of its caller writes all waiting batches by one write and one sync (W14)', () => {
  const { disk, log, flush } = openDirect();
  const reported: number[] = [];
  log.onPersisted((through) => reported.push(through));
  expect(log.append(vote())).toBe(1);
  for (let index = 1; index <= 30; index++) expect(log.append(entry(index))).toBe(index + 1);
  const steps = countSteps(disk);
  expect(reported).toEqual([]);
  flush();
  expect(reported).toEqual([31]);
  expect(steps('write', 'wal/000000000001.wal')).toBe(1);
  expect(steps('sync', 'wal/000000000001.wal')).toBe(1);
  log.append(entry(31));
  flush();
  expect(reported).toEqual([31, 32]);
});

it('the log on the thread of its caller reports a failure once, and nothing as persisted afterwards (W14)', () => {
  const { disk, log, flush } = openDirect();
  const failures: Error[] = [];
  const reported: number[] = [];
  log.onPersisted((through) => reported.push(through));
  log.onFatal((failure) => failures.push(failure));
  log.append(vote());
  disk.onStep = (step): void => {
    throw fileError('EIO', step.path);
  };
  flush();
  disk.onStep = undefined;
  expect(() => log.append(entry(1))).toThrow('EIO');
  flush();
  expect(reported).toEqual([]);
  expect(failures).toHaveLength(1);
  expect(failures[0]).toBeInstanceOf(StorageFailure);
  log.onFatal((failure) => failures.push(failure));
  expect(failures).toHaveLength(2);
});

it('the log on the thread of its caller reports what could not be written before it closed', async () => {
  const { disk, log } = openDirect();
  log.append(vote());
  disk.onStep = (step): void => {
    if (step.kind === 'write') throw fileError('EIO', step.path);
  };
  await expect(log.close()).rejects.toThrow('EIO');
});

it('the log on the thread of its caller writes queued batches before it closes', async () => {
  const { disk, log } = openDirect();
  log.append(vote());
  log.append(entry(1));
  await log.close();
  expect(() => log.append(entry(2))).toThrow('closing');
  const { recovered } = DirectLog.open('wal', { ...OPTIONS, disk });
  expect(recovered.groups.get(GROUP)?.entries).toHaveLength(1);
});

async function openThread(
  directory: string,
  options: typeof OPTIONS,
): Promise<{ readonly log: LogThread; readonly recovered: RecoveredLog }> {
  const log = LogThread.start();
  return { log, recovered: await log.open(directory, options) };
}

it('the log on its own thread makes batches durable in order, several by one sync, and recovers them all (W14)', async () => {
  using directory = tempDir();
  const { log, recovered } = await openThread(`${directory.path}/wal`, OPTIONS);
  expect(stateOf(recovered)).toEqual({ groups: {}, tombstones: [] });
  const reported: number[] = [];
  const done = persisted(log, 501, reported);
  expect(log.append(vote())).toBe(1);
  for (let index = 1; index <= 500; index++) log.append(entry(index));
  await done;
  expect(reported).toEqual(reported.toSorted((a, b) => a - b));
  expect(reported.length).toBeLessThan(400);
  await log.close();
  const again = await openThread(`${directory.path}/wal`, OPTIONS);
  const entries = again.recovered.groups.get(GROUP)?.entries ?? [];
  expect(entries.map(({ index, payload }) => [index, payload[0], payload.length])).toEqual(
    Array.from({ length: 500 }, (_, place) => [place + 1, (place + 1) % 251, 300]),
  );
  await again.log.close();
});

it('the log on its own thread writes queued batches before it closes', async () => {
  using directory = tempDir();
  const { log } = await openThread(`${directory.path}/wal`, OPTIONS);
  log.append(vote());
  for (let index = 1; index <= 50; index++) log.append(entry(index));
  await log.close();
  expect(() => log.append(entry(51))).toThrow('closing');
  const again = await openThread(`${directory.path}/wal`, OPTIONS);
  expect(again.recovered.groups.get(GROUP)?.entries).toHaveLength(50);
  await again.log.close();
});

it('the log on its own thread reports a record that violates the rules of its group as fatal (W14)', async () => {
  using directory = tempDir();
  const { log } = await openThread(`${directory.path}/wal`, OPTIONS);
  const failure = new Promise<Error>((resolve) => log.onFatal(resolve));
  log.append(entry(5));
  expect((await failure).message).toContain('entry 5 of group 1, whose last entry is 0');
  expect(() => log.append(vote())).toThrow('entry 5');
  await expect(log.close()).rejects.toThrow('entry 5');
});

interface DirectSetup {
  readonly disk: MemoryDisk;
  readonly log: DirectLog;
  /** Runs the last scheduled flush. */
  readonly flush: () => void;
}

function openDirect(): DirectSetup {
  const disk = new MemoryDisk();
  const scheduled: (() => void)[] = [];
  const { log } = DirectLog.open('wal', { ...OPTIONS, disk }, { schedule: (flush) => scheduled.push(flush) });
  return { disk, log, flush: () => scheduled.pop()?.() };
}

function countSteps(disk: MemoryDisk): (kind: string, path: string) => number {
  const seen: string[] = [];
  disk.onStep = (step): void => {
    seen.push(`${step.kind} ${step.path}`);
  };
  return (kind, path) => seen.filter((step) => step === `${kind} ${path}`).length;
}

async function persisted(log: LogWriter, through: number, reported: number[]): Promise<void> {
  return new Promise((resolve, reject) => {
    log.onFatal(reject);
    log.onPersisted((reached, { bytes, elapsedMs }) => {
      reported.push(reached);
      if (bytes < 512 || elapsedMs < 0) reject(new Error(`${bytes} bytes in ${elapsedMs} ms`));
      if (reached === through) resolve();
    });
  });
}

function vote(): EncodedRecords {
  return encode([{ kind: 'hard-state', group: GROUP, hardState: { term: TERM, vote: 1 } }]);
}

function entry(index: number): EncodedRecords {
  const payload = new Uint8Array(300).fill(index % 251);
  return encode([{ kind: 'entry', group: GROUP, level: 1, term: TERM, index: toLogIndex(index), payload }]);
}
