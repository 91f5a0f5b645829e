// Archivers and retention over one simulated store. Every manifest is checked when it is created, every removal when it
// happens, and every round that says that it has archived everything.
import { ArchiveFault, Archiver, pruneArchive } from '#archive';
import { ArchivedHistory, ArchivingNode, DATABASE, newHash, type RecordToAppend } from './archived-history.ts';
import { manifestIn, recordsOf, restored, tailName, type WrittenManifest } from './restored.ts';
import { SimulatedStore, StoreFailure } from './simulated-store.ts';

/** `many`: so many rounds that the first manifests are not needed any more. */
export type Step =
  | { readonly kind: 'append'; readonly record: RecordToAppend }
  | { readonly kind: 'apply' | 'checkpoint' | 'round' | 'restart' | 'leave' | 'sleep' | 'prune' | 'many' };

const SEGMENT_BYTES = 400;
const MANY = 70;
const SMALL: RecordToAppend = { bytes: 7, isTransaction: true, afterMs: 1 };

export class ArchiveWorld {
  readonly store: SimulatedStore = new SimulatedStore();
  readonly history: ArchivedHistory;
  nowMs = 0;
  /** Number of the newest manifest. */
  newest = 0;
  ttlMs: number = 2 * 3_600_000;
  readonly #manifests = new Map<number, WrittenManifest>();

  constructor(segmentBytes: number = SEGMENT_BYTES) {
    this.history = new ArchivedHistory(segmentBytes);
    this.store.onCreated = (name) => this.#checkCreated(name);
    this.store.onRemoved = (name) => this.#checkRemoved(name);
  }

  archiver(node: ArchivingNode, writer: string): Archiver {
    return new Archiver({ store: this.store, newHash, source: node, clock: { nowMs: () => this.nowMs }, writer });
  }

  /** One node follows its script. Rounds that it leaves running are in `left`. */
  async run(script: readonly Step[], writer: string, left: Promise<unknown>[]): Promise<void> {
    const node = new ArchivingNode(this.history);
    node.checkpoint = 0;
    let archiver = this.archiver(node, writer);
    for (const step of script) {
      switch (step.kind) {
        case 'append':
          this.history.append(step.record);
          break;
        case 'apply':
          node.applied = this.history.count;
          break;
        case 'checkpoint':
          node.checkpoint = node.applied;
          break;
        case 'round':
          await this.round(archiver, node);
          break;
        case 'restart':
          archiver = this.archiver(node, writer);
          break;
        case 'leave':
          left.push(this.round(archiver, node).then(() => this.round(archiver, node)));
          archiver = this.archiver(node, writer);
          break;
        case 'sleep':
          this.nowMs += 3_600_000;
          break;
        case 'prune':
          await this.prune();
          break;
        case 'many':
          await this.manyRounds(archiver, node);
          break;
      }
    }
  }

  async manyRounds(archiver: Archiver, node: ArchivingNode): Promise<void> {
    for (let count = 0; count < MANY; count++) {
      this.history.append(SMALL);
      node.applied = this.history.count;
      node.checkpoint = node.applied;
      this.nowMs += 5_000;
      await this.round(archiver, node);
    }
  }

  /** @throws Error when it says that everything is archived, and it is not */
  async round(archiver: Archiver, node: ArchivingNode): Promise<string> {
    const { position } = await node.state();
    const result = await archiver.round().catch(unlessStoreFailed);
    const end = this.#end();
    if ((result === 'archived' || result === 'current') && end < position) {
      throw new Error(`a round was "${result}" at ${position}, and the newest manifest ends at ${end}`);
    }
    return result ?? 'failed';
  }

  async prune(): Promise<void> {
    const { newest } = this;
    if (newest === 0) return;
    await pruneArchive({ store: this.store, newHash }, DATABASE.id, this.nowMs - this.ttlMs).catch(
      (failure: unknown) => {
        // It has slept, and another one has removed objects of the manifest that was the newest.
        if (failure instanceof ArchiveFault && this.newest >= newest + 64) return;
        unlessStoreFailed(failure);
      },
    );
  }

  /** Archives the rest. Returns whether that takes few rounds, and the archive has the whole history then. */
  async isWhole(): Promise<boolean> {
    const last = new ArchivingNode(this.history);
    last.applied = this.history.count;
    const archiver = this.archiver(last, 'last');
    const outcomes: string[] = [];
    while (outcomes.at(-1) !== 'current') outcomes.push(await this.round(archiver, last));
    const end = await restored(this.store, {});
    return outcomes.length < 10 && Buffer.compare(end, this.history.bytes) === 0;
  }

  /** @throws Error when a manifest is wrong */
  #checkCreated(name: string): void {
    const manifest = manifestIn(this.store, name);
    const { basis, number, tails } = manifest;
    // Its writer has slept, and its number was removed meanwhile.
    if (number < this.newest && !this.#isNeeded(number)) return;
    const records = recordsOf(this.store, manifest);
    const faults = [
      Buffer.compare(records, this.history.bytes.subarray(0, records.length)) !== 0 && 'has other records',
      !this.history.states.some(({ position }) => position === records.length) && 'ends inside a record',
      number !== this.newest + 1 && `follows ${this.newest}`,
      (basis?.number ?? 0) !== number - 1 && `continues ${basis?.number}`,
      records.length < this.#end() && 'ends before its basis',
      tails.length > 12 && `has ${tails.length} tails`,
    ].filter((fault) => fault !== false);
    if (faults.length > 0) throw new Error(`manifest ${number} ${faults.join(', ')}`);
    this.newest = number;
    this.#manifests.set(number, manifest);
  }

  /** @throws Error when the object was needed */
  #checkRemoved(name: string): void {
    if (name.includes('/segments/')) throw new Error(`segment ${name} was removed`);
    if (name.includes('/manifests/')) {
      const number = Number(name.slice(-12));
      if (this.#isNeeded(number)) throw new Error(`manifest ${number} of ${this.newest} was removed`);
      return;
    }
    for (let number = 1; number <= this.newest; number++) {
      if (!this.#isNeeded(number)) continue;
      const { tails = [], writtenAtMs = 0 } = this.#manifests.get(number) ?? {};
      const isRecent = number > this.newest - 64 || writtenAtMs >= this.nowMs - this.ttlMs;
      if (isRecent && tails.some((tail) => tailName(tail) === name)) {
        throw new Error(`${name} was removed, which manifest ${number} of ${this.newest} names`);
      }
    }
  }

  /** Returns whether it is one of the last 64 manifests, or the search for the newest needs it. */
  #isNeeded(number: number): boolean {
    const above = [32, 1_024, 32_768].find((step) => number % step !== 0);
    return above === undefined || this.newest - number < 2 * above;
  }

  /** Where the newest manifest ends; -1 while there is none. */
  #end(): number {
    const manifest = this.#manifests.get(this.newest);
    return manifest === undefined ? -1 : ([...manifest.segments, ...manifest.tails].at(-1)?.end ?? 0);
  }
}

function unlessStoreFailed(failure: unknown): undefined {
  if (failure instanceof StoreFailure) return undefined;
  throw failure;
}
