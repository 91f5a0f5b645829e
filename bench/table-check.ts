/**
 * Measures the verification of a LevelDB store at three extents: footers, indexes and filters of all tables plus the
 * rows of levels 0 and 1; additionally the rows that a start verifies by default; and all rows.
 *
 *   node --conditions=source bench/table-check.ts [--rows 1000000] [--value 330] [--dir path] [--store path]
 *
 * It builds a store with `--rows` rows in a temporary folder, with keys and values of typical length, or reads the
 * store in `--store`. It prints CPU and wall seconds; the files are in the page cache, so the disk does not matter.
 */
import { randomFillSync } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { openLevelStore, ROW_BYTES_DEFAULT, verifyStore } from '#storage';

const { values } = parseArgs({
  options: {
    rows: { type: 'string', default: '1000000' },
    value: { type: 'string', default: '330' },
    dir: { type: 'string', default: tmpdir() },
    store: { type: 'string' },
  },
});
const BATCH_ROWS = 1000;
const KEY_BYTES = 25;
const TURNS = 3;

const root = mkdtempSync(join(values.dir, 'cairn-bench-'));
try {
  const store = values.store ?? root;
  if (values.store === undefined) await build(root);
  for (let turn = 0; turn < TURNS; turn++) {
    console.log(`load ${loadavg()[0]?.toFixed(2)}`);
    await measure('what leads to rows', async () => verifyStore(store, 0));
    await measure('before a start', async () => verifyStore(store, ROW_BYTES_DEFAULT));
    await measure('all rows', async () => verifyStore(store, Number.POSITIVE_INFINITY));
  }
} finally {
  rmSync(root, { recursive: true });
}

async function build(directory: string): Promise<void> {
  const store = await openLevelStore(directory);
  const noise = randomFillSync(new Uint8Array(2 ** 20));
  const rows = Number(values.rows);
  for (let from = 0; from < rows; from += BATCH_ROWS) {
    const batch = store.batch();
    for (let i = from; i < Math.min(from + BATCH_ROWS, rows); i++) {
      const at = (i * 4099) % (noise.length - Number(values.value));
      const key = Buffer.alloc(KEY_BYTES);
      key.writeUInt32BE(i, KEY_BYTES - 4);
      batch.put(new Uint8Array(key), noise.slice(at, at + Number(values.value)));
    }
    await store.write(batch);
  }
  const bytes = await store.approximateSize(new Uint8Array(0), Uint8Array.of(0xff));
  console.log(`${rows} rows, ${(bytes / 2 ** 20).toFixed(0)} MiB of tables`);
  await store.close();
}

async function measure(what: string, work: () => Promise<unknown>): Promise<void> {
  const cpu = process.cpuUsage();
  const startMs = performance.now();
  await work();
  const wall = (performance.now() - startMs) / 1000;
  const { user, system } = process.cpuUsage(cpu);
  console.log(`${what}: ${((user + system) / 1e6).toFixed(3)} s of processor, ${wall.toFixed(3)} s`);
}
