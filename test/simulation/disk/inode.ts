/**
 * A file of the simulated disk: what a reader sees, what would survive a power failure, and, once the disk has lied,
 * what both would be had it not. Sectors of 512 bytes are whole or not there (what disk.ts says that the log relies on).
 */

export const SECTOR_BYTES = 512;

interface Content {
  live: Uint8Array;
  durable: Uint8Array;
}

export class Inode {
  #found: Content = { live: new Uint8Array(0), durable: new Uint8Array(0) };
  /** As it was written; apart from what is found only after a silent fault. */
  #truth: Content = this.#found;
  #dirty = new Set<number>();

  get size(): number {
    return this.#found.live.length;
  }

  get bytes(): Uint8Array {
    return this.#found.live;
  }

  /** Whether the disk has something else than what was written. */
  get isDamaged(): boolean {
    return this.#truth !== this.#found;
  }

  write(bytes: Uint8Array, at: number): void {
    put(this.#found, bytes, at);
    if (this.isDamaged) put(this.#truth, bytes, at);
    this.#touch(at, bytes.length);
  }

  /** The disk puts the bytes somewhere else and says that all is well. */
  misdirect(bytes: Uint8Array, at: number, to: number): void {
    this.#damage();
    put(this.#found, bytes, to);
    put(this.#truth, bytes, at);
    this.#touch(at, bytes.length);
    this.#touch(to, bytes.length);
  }

  /** The disk says that the bytes are there, and they are not. */
  lose(bytes: Uint8Array, at: number): void {
    this.#damage();
    put(this.#truth, bytes, at);
    this.#touch(at, bytes.length);
  }

  /** The disk loses bits that it had. */
  flip(at: number, mask: number): void {
    this.#damage();
    for (const bytes of [this.#found.live, this.#found.durable])
      if (at < bytes.length) bytes[at] = (bytes[at] ?? 0) ^ mask;
  }

  sync(): void {
    this.#settle(() => true);
  }

  /** A sync that failed: some sectors reached the disk, and the system takes all of them for written. */
  failSync(survives: () => boolean): void {
    this.#settle(survives);
  }

  /** The power goes: what was not synced is there or not, sector by sector. */
  losePower(survives: () => boolean): void {
    this.#settle(survives);
    for (const content of this.#contents()) content.live = content.durable.slice();
  }

  /** The bytes as they were written, from a backup. */
  restore(): void {
    this.#found = this.#truth;
    if (this.#dirty.size === 0) this.#found.durable = this.#found.live.slice();
  }

  #contents(): readonly Content[] {
    return this.isDamaged ? [this.#found, this.#truth] : [this.#found];
  }

  #damage(): void {
    if (this.isDamaged) return;
    const { live, durable } = this.#found;
    this.#truth = { live: live.slice(), durable: durable.slice() };
  }

  #touch(at: number, length: number): void {
    for (let sector = at - (at % SECTOR_BYTES); sector < at + length; sector += SECTOR_BYTES) this.#dirty.add(sector);
  }

  #settle(survives: (sector: number) => boolean): void {
    const contents = this.#contents();
    for (const sector of this.#dirty) {
      if (!survives(sector)) continue;
      for (const content of contents) {
        const part = content.live.subarray(sector, sector + SECTOR_BYTES);
        content.durable = grown(content.durable, sector + part.length);
        content.durable.set(part, sector);
      }
    }
    this.#dirty.clear();
  }
}

function put(content: Content, bytes: Uint8Array, at: number): void {
  content.live = grown(content.live, at + bytes.length);
  content.live.set(bytes, at);
}

function grown(bytes: Uint8Array, length: number): Uint8Array {
  if (length <= bytes.length) return bytes;
  const more = new Uint8Array(length);
  more.set(bytes);
  return more;
}
