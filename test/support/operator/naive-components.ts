// Components in the databases of a naive Cairn: versions, and nodes that compile them after a while or refuse them.
import { isDeepStrictEqual } from 'node:util';
import type {
  Calls,
  ComponentId,
  Components,
  ComponentVersion,
  Maintenance,
  Publication,
} from '../../../operator/src/client/index.ts';
import { digestOf } from '../../../operator/src/components/index.ts';
import type { ManualRuntime } from '../manual-runtime.ts';
import { callError, type NaiveCairn } from './naive-cairn.ts';
import type { OperatorProcess } from './process.ts';

interface Kept extends ComponentVersion {
  readonly publication: Publication;
}

interface Node {
  readonly compiled: Set<string>;
  readonly refused: Map<string, string>;
}

/** A component that one node cannot run. */
export const BAD: Buffer = Buffer.from('bad');
const COMPILE_MS_MAX = 20_000;

export class NaiveComponents {
  readonly versions: Map<string, readonly Kept[]> = new Map<string, readonly Kept[]>();
  readonly nodes: readonly Node[] = Array.from({ length: 3 }, () => ({ compiled: new Set(), refused: new Map() }));
  /** Activations of versions that a node cannot run. */
  readonly faults: string[] = [];
  /** True when nodes compile published components. */
  isCompiling = true;
  /** Databases that take no publication. */
  readonly refusing: Set<string> = new Set<string>();
  /** Calls by digest. */
  readonly calls: Map<string, Calls> = new Map<string, Calls>();
  /** Number of publications that were sent. */
  sent = 0;
  readonly #runtime: ManualRuntime;
  readonly #cairn: NaiveCairn;

  constructor(runtime: ManualRuntime, cairn: NaiveCairn) {
    this.#runtime = runtime;
    this.#cairn = cairn;
  }

  of(id: ComponentId): readonly Kept[] {
    return this.versions.get(keyOf(id)) ?? [];
  }

  set(id: ComponentId, version: number, change: Partial<Kept>): void {
    if (!this.of(id).some((kept) => kept.version === version)) throw callError('NOT_FOUND');
    const next = this.of(id).map((kept) => (kept.version === version ? { ...kept, ...change } : kept));
    this.versions.set(keyOf(id), next);
  }

  componentsFor(process: OperatorProcess): Components {
    const call = <Answer>(execute: () => Answer): Promise<Answer> => this.#cairn.call(execute);
    const write = <Answer>(execute: () => Answer): Promise<Answer> => process.step(() => call(execute));
    return {
      list: (id) => call(() => this.of(id)),
      holders: () => call(() => new Map([...this.#cairn.databases.keys()].map((name) => [name, this.nodes]))),
      publish: (id, publication, wasm) => write(() => this.#publish(id, publication, wasm)),
      activate: (id, version, maintenance) => write(() => this.#activate(id, version, maintenance)),
      deactivate: (id, version) => write(() => this.set(id, version, { isActive: false })),
      delete: (id, version) =>
        write(() => {
          const kept = version === undefined ? [] : this.of(id).filter((one) => one.version !== version);
          const isActive = this.of(id).some((one) => one.version === version && one.isActive);
          if (isActive) throw callError('FAILED_PRECONDITION');
          this.versions.set(keyOf(id), kept);
        }),
    };
  }

  #publish(id: ComponentId, publication: Publication, wasm: Buffer): number {
    this.sent += 1;
    if (this.refusing.has(id.database)) throw callError('RESOURCE_EXHAUSTED');
    const digest = digestOf(wasm);
    const kept = this.of(id);
    const same = kept.find((one) => one.digest === digest && isDeepStrictEqual(one.publication, publication));
    if (same !== undefined) return same.version;
    const version = (kept.at(-1)?.version ?? 0) + 1;
    this.versions.set(keyOf(id), [...kept, { version, digest, publication, isActive: false, maintenance: 'Lazy' }]);
    this.compile(digest, wasm.equals(BAD));
    return version;
  }

  /** Each node compiles it after a while; the first one refuses what is bad. */
  compile(digest: string, isBad: boolean): void {
    if (!this.isCompiling) return;
    for (const [at, node] of this.nodes.entries())
      this.#runtime.after(this.#runtime.chance.below(COMPILE_MS_MAX), () => {
        if (isBad && at === 0) node.refused.set(digest, 'too large');
        else node.compiled.add(digest);
      });
  }

  #activate(id: ComponentId, version: number, maintenance: Maintenance): void {
    const { digest = '' } = this.of(id).find((one) => one.version === version) ?? {};
    if (!this.nodes.every(({ compiled }) => compiled.has(digest))) this.faults.push(`${id.name} ${version}`);
    this.set(id, version, { isActive: true, maintenance });
  }
}

function keyOf({ database, kind, name }: ComponentId): string {
  return `${database} ${kind} ${name}`;
}
