// An object store in memory whose calls fail, take long and overtake one another, and whose listings are stale, as a
// test decides. Without `disturb` it does what it is asked at once.
import { bytesOf, contentOf, type ObjectContent, type ObjectStore } from '#archive';

/**
 * `refused`: nothing is done, and the call fails. `lost`: it is done, and the call fails. `half`: a new object is there
 * in part, and the call fails.
 */
export type CallFault = 'none' | 'refused' | 'lost' | 'half';

export interface Disturbance {
  readonly fault: () => CallFault;
  /** Resolves when a request has arrived, and again when its answer has. */
  readonly delay: (call: string) => Promise<void>;
  /** A number from 0 to `count` - 1: how old a listing is. */
  readonly age: (count: number) => number;
}

export class StoreFailure extends Error {}

export class SimulatedStore implements ObjectStore {
  readonly objects: Map<string, Uint8Array> = new Map();
  /** Called after an object was created. */
  onCreated: ((name: string) => void) | undefined;
  /** Called after an object was removed. */
  onRemoved: ((name: string) => void) | undefined;
  disturbance: Disturbance | undefined;
  /** All names, after each change. */
  readonly #listings: (readonly string[])[] = [[]];

  get(name: string): Promise<ObjectContent | undefined> {
    return this.#call(`get ${name}`, () => {
      const bytes = this.objects.get(name);
      return bytes && contentOf(bytes);
    });
  }

  size(name: string): Promise<number | undefined> {
    return this.#call(`size ${name}`, () => this.objects.get(name)?.length);
  }

  async put(name: string, content: ObjectContent): Promise<void> {
    const bytes = await bytesOf(content);
    await this.#call(`put ${name}`, (isHalf) => {
      if (!isHalf) this.#change(name, bytes);
      else if (!this.objects.has(name)) this.#change(name, bytes.subarray(0, bytes.length >> 1));
    });
  }

  async create(name: string, content: ObjectContent): Promise<boolean> {
    const bytes = await bytesOf(content);
    return this.#call(`create ${name}`, () => {
      if (this.objects.has(name)) return false;
      this.#change(name, bytes);
      this.onCreated?.(name);
      return true;
    });
  }

  list(prefix: string): Promise<readonly string[]> {
    return this.#call(`list ${prefix}`, () => {
      const age = this.disturbance?.age(this.#listings.length) ?? 0;
      return (this.#listings.at(-1 - age) ?? []).filter((name) => name.startsWith(prefix));
    });
  }

  remove(name: string): Promise<void> {
    return this.#call(`remove ${name}`, () => {
      this.#change(name, undefined);
      this.onRemoved?.(name);
    });
  }

  #change(name: string, bytes: Uint8Array | undefined): void {
    if (bytes === undefined) this.objects.delete(name);
    else this.objects.set(name, bytes);
    this.#listings.push([...this.objects.keys()].toSorted());
  }

  /** `act` receives true when it is to do a part. */
  async #call<Result>(call: string, act: (isHalf: boolean) => Result): Promise<Result> {
    const { disturbance } = this;
    if (disturbance === undefined) return act(false);
    const fault = disturbance.fault();
    await disturbance.delay(`${fault} ${call}`);
    if (fault === 'refused') throw new StoreFailure(call);
    const isHalf = fault === 'half' && call.startsWith('put ');
    const result = act(isHalf);
    await disturbance.delay(`answer to ${call}`);
    if (fault === 'lost' || isHalf) throw new StoreFailure(call);
    return result;
  }
}
