/**
 * The guard file: how far the log was synced, kept outside of the log.
 *
 * A log that lost its last batches whole looks exactly like a shorter log. The guard is what tells them apart: two
 * slots, written in turn, each with the number of a batch that is known to be on disk. It is written after each sync,
 * without a sync of its own, so after the death of the process alone it is exact. It is synced after every
 * GUARD_SYNC_BATCHES batches and whenever a term or a vote changed, so after a power loss it is hardly older than that.
 *
 *   slot (4096 bytes, two of them)
 *     0   8  magic "CAIRNGRD"
 *     8   4  crc of [12, 64)
 *    12   4  format version, 4
 *    16  16  cluster_id
 *    32  16  store_id
 *    48   8  generation: counts the writes; slot = generation mod 2, the higher one counts
 *    56   8  seq of a batch that is on disk, with all before it
 *    64   …  zero
 *
 *   W8  The guard never names a batch that was not synced, and no batch counts as written before the guard names it; if
 *       it changes a term or a vote, not before the guard itself is synced.
 */
import { dirname } from 'node:path';
import { assert, crc32 } from '#base';
import { readU64, viewOf, writeU64 } from './basis/little-endian.ts';
import { corruption, foreign, missing, orUnwritten } from './basis/storage-failure.ts';
import type { Disk, DiskFile } from './disk.ts';
import { FORMAT_VERSION, ID_BYTES, isSameIdentity, type WalIdentity } from './wal-format.ts';

const GUARD_SLOT_BYTES = 4096;
const GUARD_SYNC_BATCHES = 64;

const MAGIC = 'CAIRNGRD';
const SLOT = { crc: 8, version: 12, clusterId: 16, storeId: 32, generation: 48, syncedThrough: 56, end: 64 } as const;

interface Slot {
  readonly version: number;
  readonly identity: WalIdentity;
  readonly generation: number;
  readonly syncedThrough: number;
}

export class GuardFile {
  readonly #file: DiskFile;
  readonly #slot: Uint8Array;
  readonly #view: DataView;
  #generation: number;
  #syncedThrough: number;
  #unsyncedWrites = 0;

  private constructor(file: DiskFile, slot: Slot) {
    this.#file = file;
    this.#slot = encodeSlot(slot);
    this.#view = viewOf(this.#slot);
    this.#generation = slot.generation;
    this.#syncedThrough = slot.syncedThrough;
  }

  /** Makes the guard of a new log, durable when this returns: a segment never has a name before its guard has one. */
  static create(disk: Disk, path: string, identity: WalIdentity): GuardFile {
    const slot: Slot = { version: FORMAT_VERSION, identity, generation: 0, syncedThrough: 0 };
    const draft = `${path}.new`;
    const bytes = new Uint8Array(2 * GUARD_SLOT_BYTES);
    bytes.set(encodeSlot(slot), 0);
    bytes.set(encodeSlot({ ...slot, generation: 1 }), GUARD_SLOT_BYTES);
    orUnwritten(path, () => {
      const file = disk.open(draft, 'create');
      file.write(bytes, 0);
      file.sync();
      file.close();
      disk.rename(draft, path);
      disk.syncDirectory(dirname(path));
    });
    return GuardFile.open(disk, path, identity);
  }

  /** Opens the guard of a log, which must be whole in at least one slot and belong to the store. */
  static open(disk: Disk, path: string, identity: WalIdentity): GuardFile {
    const file = disk.open(path, 'existing');
    const bytes = new Uint8Array(2 * GUARD_SLOT_BYTES);
    const size = file.read(bytes, 0);
    if (size < bytes.length) throw missing(path, `${size} bytes instead of ${bytes.length}`);
    const slots = [decodeSlot(bytes, 0), decodeSlot(bytes, GUARD_SLOT_BYTES)].filter((slot) => slot !== undefined);
    const newest = slots.toSorted((a, b) => b.generation - a.generation)[0];
    if (newest === undefined) throw corruption(path, 0, 'two slots of which neither matches its checksum');
    if (newest.version !== FORMAT_VERSION) {
      throw foreign(path, `format version ${newest.version}; this release reads version ${FORMAT_VERSION}`);
    }
    if (!isSameIdentity(newest.identity, identity)) throw foreign(path, 'the ids of another cluster or store');
    return new GuardFile(file, newest);
  }

  /** Every batch up to this one was on disk when the guard was last written. */
  get syncedThrough(): number {
    return this.#syncedThrough;
  }

  /** Notes that the log is synced through batch `seq`. */
  advance(seq: number): void {
    assert(seq >= this.#syncedThrough, 'The log is never less synced than before', seq);
    this.#generation += 1;
    this.#syncedThrough = seq;
    writeU64(this.#view, SLOT.generation, this.#generation);
    writeU64(this.#view, SLOT.syncedThrough, seq);
    this.#view.setUint32(SLOT.crc, crc32(this.#slot, SLOT.version), true);
    this.#file.write(this.#slot, (this.#generation % 2) * GUARD_SLOT_BYTES);
    this.#unsyncedWrites += 1;
  }

  /** True when the note on disk may have become too old. */
  get isDue(): boolean {
    return this.#unsyncedWrites >= GUARD_SYNC_BATCHES;
  }

  /** Makes the last note durable. */
  sync(): void {
    this.#file.sync();
    this.#unsyncedWrites = 0;
  }

  close(): void {
    this.#file.close();
  }
}

/** The bytes of a slot that are not zero. */
function encodeSlot(slot: Slot): Uint8Array {
  const bytes = new Uint8Array(SLOT.end);
  const view = viewOf(bytes);
  for (let at = 0; at < MAGIC.length; at++) bytes[at] = MAGIC.charCodeAt(at);
  view.setUint32(SLOT.version, slot.version, true);
  bytes.set(slot.identity.clusterId, SLOT.clusterId);
  bytes.set(slot.identity.storeId, SLOT.storeId);
  writeU64(view, SLOT.generation, slot.generation);
  writeU64(view, SLOT.syncedThrough, slot.syncedThrough);
  view.setUint32(SLOT.crc, crc32(bytes, SLOT.version), true);
  return bytes;
}

function decodeSlot(bytes: Uint8Array, at: number): Slot | undefined {
  const view = viewOf(bytes);
  if (String.fromCharCode(...bytes.subarray(at, at + MAGIC.length)) !== MAGIC) return undefined;
  if (view.getUint32(at + SLOT.crc, true) !== crc32(bytes, at + SLOT.version, at + SLOT.end)) return undefined;
  return {
    version: view.getUint32(at + SLOT.version, true),
    identity: {
      clusterId: bytes.slice(at + SLOT.clusterId, at + SLOT.clusterId + ID_BYTES),
      storeId: bytes.slice(at + SLOT.storeId, at + SLOT.storeId + ID_BYTES),
    },
    generation: readU64(view, at + SLOT.generation),
    syncedThrough: readU64(view, at + SLOT.syncedThrough),
  };
}
