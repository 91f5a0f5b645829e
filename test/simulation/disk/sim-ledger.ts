// The store of a simulated node with its ledger: the production code, whose file is on the simulated disk beside the
// log. Its writes wait in the thread that has it open. The file is small, so it is often replaced.
import { type LedgerStore, ledgerStore } from '../../../src/cluster/store/ledger-store.ts';
import type { DiskFile } from '../../../src/storage/disk.ts';
import { Ledger, type LedgerDisk } from '../../../src/storage/ledger.ts';
import type { Isolate } from '../engine/isolate.ts';
import type { SimDisk } from './sim-disk.ts';
import type { SimStore } from './sim-store.ts';

const SPARE_BYTES = 4096;

/** Opens the store in one thread of a process. Only one thread at a time may write rows of the ledger. */
export async function openLedgerStore(
  directory: string,
  { disk, store }: { readonly disk: SimDisk; readonly store: SimStore },
  isolate: Isolate,
): Promise<LedgerStore> {
  const ledger = await Ledger.open(directory, { disk: diskIn(isolate, disk), spareBytes: SPARE_BYTES });
  return ledgerStore(store.openIn(isolate), ledger);
}

function diskIn(isolate: Isolate, disk: SimDisk): LedgerDisk {
  const wait = (): Promise<void> => isolate.sleep(disk.drawSyncUs(), 'ledger');
  const waiting = (file: DiskFile): DiskFile => ({
    path: file.path,
    size: () => file.size(),
    read: (into, at) => file.read(into, at),
    write: (bytes, at) => file.write(bytes, at),
    sync: () => file.sync(),
    writeThrough: async (bytes, at) => {
      await wait();
      file.write(bytes, at);
      await wait();
      file.sync();
      await wait();
    },
    close: () => file.close(),
  });
  return {
    list: (directory) => disk.list(directory),
    open: (path, mode) => waiting(disk.open(path, mode)),
    rename: (from, to) => disk.rename(from, to),
    remove: (path) => disk.remove(path),
    syncDirectory: async (path) => {
      await wait();
      disk.syncDirectory(path);
    },
  };
}
