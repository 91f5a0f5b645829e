/** The thread that archives databases of a running node. archive-thread.ts is the other side. */
import { setTimeout as delay } from 'node:timers/promises';
import { type MessagePort, parentPort } from 'node:worker_threads';
import { ArchiveDriver, Archiver, CatalogArchiver } from '#archive';
import { assert, CATALOG_GROUP, messageOf } from '#base';
import { wallClock } from '#cluster';
import { historiesIn, openLevelStore } from '#storage';
import { archiveAt } from './archive-place.ts';
import type { FromArchive, ToArchive } from './archive-thread.ts';
import { type HeldDatabase, historySource } from './history-source.ts';

const TICK_MS = 1_000;
const REPORT_MS = 2_000;
/** Bound of the label `database`. */
const SHOWN_MAX = 100;
/** Time for rounds that end anyway. The others leave objects that no manifest names. */
const CLOSING_MS = 2_000;

assert(parentPort !== null, 'The archive worker is started as a thread');
const port: MessagePort = parentPort;
const [storeDirectory = '', place = '', writer = '', node = ''] = process.argv.slice(2);
const kv = await openLevelStore(storeDirectory);
const archive = await archiveAt(place);
let [storedBytes, failures] = [0, 0];
let catalog: Uint8Array | undefined;

const driver = new ArchiveDriver<HeldDatabase>({
  open: (database) => {
    const onStored = (bytes: number): void => void (storedBytes += bytes);
    if (database.group === CATALOG_GROUP) {
      return new CatalogArchiver({
        ...archive,
        cluster: database.id,
        node: Number(node),
        catalog: () => catalog,
        onStored,
      });
    }
    const source = historySource(kv, historiesIn(storeDirectory), database);
    return new Archiver({ ...archive, source, clock: wallClock, writer, onStored });
  },
  monotonicMs: () => performance.now(),
  clock: wallClock,
  onFailure: ({ name }, failure, isFirst) => {
    failures += 1;
    const message = messageOf(failure);
    if (isFirst) post({ kind: 'failing', database: name, message });
  },
  onRecovered: ({ name }) => post({ kind: 'recovered', database: name }),
});
const timers = [setInterval(() => driver.tick(), TICK_MS), setInterval(report, REPORT_MS)];
port.on('message', (message: ToArchive) => {
  if (message === 'close') void close();
  else if (message instanceof Uint8Array) catalog = message;
  else driver.follow(message);
});

function report(): void {
  post({ kind: 'progress', progress: driver.progress(SHOWN_MAX), storedBytes, failures });
  [storedBytes, failures] = [0, 0];
}

async function close(): Promise<void> {
  for (const timer of timers) clearInterval(timer);
  await Promise.race([driver.stop(), delay(CLOSING_MS)]);
  await kv.close();
  process.exit();
}

function post(message: FromArchive): void {
  port.postMessage(message, []);
}
