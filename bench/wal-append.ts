/**
 * Measures durable appends to the write-ahead log: records per second and the duration of an append, by records per
 * sync.
 *
 *   node --conditions=source bench/wal-append.ts [--seconds 2] [--payload 256] [--groups 1] [--dir path]
 *
 * The log runs on this thread without its worker, so that messages between threads are not part of the result. Records
 * are encoded before the measurement, and cleanup happens after it. `baseline` writes the same number of bytes with
 * plain write and fdatasync calls into a zero-filled file, alternating with the log, so that a busy disk affects both.
 */
import { closeSync, fdatasyncSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs';
import { loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { toGroupId, toLogIndex, toRevision, toTerm } from '#base';
import { NO_CHECKPOINT, RecordWriter, Wal } from '#storage';

const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '2' },
    payload: { type: 'string', default: '256' },
    groups: { type: 'string', default: '1' },
    dir: { type: 'string', default: tmpdir() },
  },
});
const seconds = Number(values.seconds);
const payloadBytes = Number(values.payload);
const groupCount = Number(values.groups);
const TURNS = 4;
const BASELINE_BYTES = 256 * 1024 * 1024;
const RECORD_HEADER_BYTES = 36;

const root = mkdtempSync(join(values.dir, 'cairn-bench-'));
try {
  console.log(
    `payload ${payloadBytes} B, ${groupCount} group(s), fdatasync per batch, load ${loadavg()[0]?.toFixed(2)}`,
  );
  for (const perSync of [1, 10, 100, 1000]) await compare(perSync);
} finally {
  rmSync(root, { recursive: true });
}

interface Candidate {
  /** Prepares the next batch; not measured. */
  prepare(): void;
  append(): void;
  /** Work after the append was answered; not measured. */
  settle(): void;
  close(): Promise<void>;
}

async function compare(perSync: number): Promise<void> {
  const wal = openWal(perSync);
  const baseline = openBaseline(perSync);
  const walMs: number[] = [];
  const baselineMs: number[] = [];
  for (let turn = 0; turn < TURNS; turn++) {
    await measure(wal, walMs);
    await measure(baseline, baselineMs);
  }
  report('wal', perSync, walMs);
  report('baseline', perSync, baselineMs);
  await baseline.close();
  await wal.close();
}

async function measure(candidate: Candidate, into: number[]): Promise<void> {
  const until = performance.now() + (1000 * seconds) / (2 * TURNS);
  while (performance.now() < until) {
    candidate.prepare();
    const startedMs = performance.now();
    candidate.append();
    into.push(performance.now() - startedMs);
    candidate.settle();
    // Lets the background work of the log run, as on a thread that waits for messages.
    await new Promise(setImmediate);
  }
}

function report(name: string, perSync: number, elapsed: readonly number[]): void {
  const sorted = elapsed.toSorted((a, b) => a - b);
  const at = (share: number): string =>
    ((sorted[Math.floor(sorted.length * share)] ?? 0) * 1000).toFixed(0).padStart(6);
  const totalMs = elapsed.reduce((sum, ms) => sum + ms, 0);
  const rate = String(Math.round((1000 * perSync * elapsed.length) / totalMs)).padStart(9);
  const size = String(perSync).padStart(5);
  console.log(`${name.padEnd(8)} ${size}/sync ${rate}/s  p50 ${at(0.5)} p99 ${at(0.99)} p99.9 ${at(0.999)} µs`);
}

function openWal(perSync: number): Candidate {
  const directory = join(root, `wal-${perSync}`);
  const identity = { clusterId: new Uint8Array(16).fill(1), storeId: new Uint8Array(16).fill(2) };
  const { wal } = Wal.open(directory, { identity });
  const writer = new RecordWriter();
  const payload = randomBytes(payloadBytes);
  const term = toTerm(1);
  const indexes = Array.from({ length: groupCount }, () => 0);
  for (const group of indexes.keys()) writer.hardState(toGroupId(group), { term, vote: 1 });
  wal.append([writer.take()]);
  let batch = writer.take();
  let written = 0;
  return {
    prepare: (): void => {
      for (let count = 0; count < perSync; count++, written++) {
        const place = written % groupCount;
        indexes[place] = (indexes[place] ?? 0) + 1;
        writer.entry(toGroupId(place), { term, index: toLogIndex(indexes[place]), payload });
      }
      // A checkpoint per batch releases old segments, as in a node whose store keeps up.
      const place = written % groupCount;
      const index = toLogIndex(indexes[place] ?? 0);
      writer.checkpoint(toGroupId(place), { ...NO_CHECKPOINT, index, term, revision: toRevision(index) });
      batch = writer.take();
    },
    append: () => wal.append([batch]),
    settle: () => wal.tidy(),
    close: async (): Promise<void> => {
      await wal.close();
      rmSync(directory, { recursive: true });
    },
  };
}

function openBaseline(perSync: number): Candidate {
  const path = join(root, `baseline-${perSync}`);
  const descriptor = openSync(path, 'w');
  const zeros = new Uint8Array(1024 * 1024);
  for (let at = 0; at < BASELINE_BYTES; at += zeros.length) writeSync(descriptor, zeros, 0, zeros.length, at);
  fdatasyncSync(descriptor);
  const batch = randomBytes(perSync * (payloadBytes + RECORD_HEADER_BYTES));
  let at = 0;
  return {
    prepare: (): void => {
      if (at + batch.length > BASELINE_BYTES) at = 0;
    },
    append: (): void => {
      writeSync(descriptor, batch, 0, batch.length, at);
      fdatasyncSync(descriptor);
    },
    settle: (): void => {
      at += batch.length;
    },
    close: async (): Promise<void> => {
      closeSync(descriptor);
      rmSync(path);
    },
  };
}

function randomBytes(count: number): Uint8Array {
  const bytes = new Uint8Array(count);
  for (let at = 0; at < count; at++) bytes[at] = Math.random() * 256;
  return bytes;
}
