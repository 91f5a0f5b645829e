/**
 * Artifacts on this node: compiled components for executors, by what they were compiled from.
 *
 * ```
 * key       sha-256 of the policy, the kind, the name of the function, the limits and the component's digest
 * ```
 * An artifact depends only on these, so each node compiles its own from the component in the database. A missing,
 * damaged or outdated artifact is compiled again. Refusals are not stored.
 *
 *   F3  An artifact is run only under the policy and the limits that it was compiled for.
 */
import { createHash } from 'node:crypto';
import { type ErrorCode, failure, giveBack, ok, type Result } from '#base';
import {
  ARTIFACT_POLICY,
  type Artifact,
  type Binding,
  type ComponentKind,
  decodeArtifact,
  type KeptArtifact,
  type Publisher,
  type PublishOptions,
  type Refusal,
} from '#wasm';
import type { CacheFolder } from './cache-folder.ts';
import { sdkExamples } from './sdk-examples.ts';

/** A component in its database. */
export interface ComponentSource {
  readonly kind: ComponentKind;
  /** SHA-256 of its bytes, in hexadecimal. */
  readonly digest: string;
  /** The bound export, if it differs from the default of the kind. */
  readonly functionName?: string | undefined;
  /** Reads its bytes; called only when there is no artifact. */
  bytes(): Promise<Uint8Array>;
}

/** An artifact for an executor, with its key. */
export interface RunnableArtifact extends KeptArtifact {
  readonly key: string;
  readonly binding: Binding;
}

/** Reason why there is no artifact: a refusal of the inspector, or bytes with another digest. */
export type NoArtifact =
  | { readonly kind: 'refused'; readonly refusal: Refusal }
  | { readonly kind: 'damaged'; readonly code: ErrorCode; readonly message: string };

export interface ArtifactOptions extends Pick<PublishOptions, 'limits' | 'smoke'> {
  /** Receives the digest of each component whose artifact was compiled or found. */
  readonly onReady?: ((digest: string) => void) | undefined;
}

const GROUP = 'artifact';

interface Making {
  readonly made: Promise<Result<RunnableArtifact, NoArtifact>>;
  /** True when a caller waits to run it. */
  isWanted: boolean;
}

export class ArtifactStore {
  readonly #folder: CacheFolder;
  readonly #publisher: Pick<Publisher, 'publish'>;
  readonly #options: ArtifactOptions;
  /** Compilations in progress; further callers wait for them. */
  readonly #making: Map<string, Making> = new Map();

  constructor(folder: CacheFolder, publisher: Pick<Publisher, 'publish'>, options: ArtifactOptions) {
    this.#folder = folder;
    this.#publisher = publisher;
    this.#options = options;
  }

  artifact(component: ComponentSource): Promise<Result<RunnableArtifact, NoArtifact>> {
    const key = keyOf(component, this.#options);
    const making = this.#making.get(key) ?? this.#begin(key, component);
    making.isWanted = true;
    return making.made;
  }

  /** Compiles without running: if no other caller waits for the artifact it is not kept in memory, only in its file. */
  async prepare(component: ComponentSource): Promise<Result<Pick<RunnableArtifact, 'key'>, NoArtifact>> {
    const key = keyOf(component, this.#options);
    const making = this.#making.get(key) ?? this.#begin(key, component);
    const made = await making.made;
    if (made.kind === 'failure') return made;
    const { bytes } = made.value;
    const isHeld = making.isWanted || this.#folder.holds(nameOf(key));
    if (!isHeld) giveBack(bytes, bytes.buffer.byteLength - bytes.byteLength);
    return ok({ key });
  }

  #begin(key: string, component: ComponentSource): Making {
    const making = { isWanted: false, made: this.#made(key, component) };
    this.#making.set(key, making);
    return making;
  }

  async #made(key: string, component: ComponentSource): Promise<Result<RunnableArtifact, NoArtifact>> {
    try {
      const found = await this.#findOrMake(key, component);
      if (found.kind === 'ok') this.#options.onReady?.(component.digest);
      return found;
    } finally {
      this.#making.delete(key);
    }
  }

  async #findOrMake(key: string, component: ComponentSource): Promise<Result<RunnableArtifact, NoArtifact>> {
    const name = nameOf(key);
    const bytes = await this.#folder.get(name);
    const found = bytes === undefined ? undefined : decodeArtifact(bytes);
    if (bytes !== undefined && found !== undefined && isOf(found, component)) return ok(runnable(key, found, bytes));
    const { kind, digest, functionName } = component;
    const { limits, smoke } = this.#options;
    const options = {
      limits,
      smoke,
      kind,
      sdk: sdkExamples(kind),
      ...(functionName === undefined ? {} : { functionName }),
    };
    const published = await this.#publisher.publish(await component.bytes(), options);
    if (published.kind === 'failure') return failure({ kind: 'refused', refusal: published.reason });
    const { artifact, digest: madeOf, binding } = published.value;
    if (madeOf !== digest) {
      const message = `The component ${digest} is read as ${madeOf}; its bytes are damaged`;
      return failure({ kind: 'damaged', code: 'internal', message });
    }
    await this.#folder.put(name, artifact);
    return ok(runnable(key, { digest, binding }, artifact));
  }
}

function nameOf(key: string): string {
  return `${GROUP}_${key}`;
}

function runnable(
  key: string,
  { digest, binding }: Pick<Artifact, 'digest' | 'binding'>,
  bytes: Uint8Array,
): RunnableArtifact {
  return { key, pool: key, digest, binding, bytes };
}

function isOf(artifact: Artifact, { digest, kind }: ComponentSource): boolean {
  return artifact.digest === digest && artifact.kind === kind;
}

function keyOf({ kind, digest, functionName = '' }: ComponentSource, { limits }: ArtifactOptions): string {
  const bounds = Object.entries(limits).toSorted(([a], [b]) => (a < b ? -1 : 1));
  const parts = JSON.stringify([ARTIFACT_POLICY, kind, functionName, digest, bounds]);
  return createHash('sha256').update(parts).digest('hex');
}
