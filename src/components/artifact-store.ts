/**
 * Artifacts on this node: what executors run, by what it was made from.
 *
 * ```
 * key       sha-256 of the policy, the kind, the name of the function, the limits and the component's digest
 * ```
 * An artifact follows from these alone, so each node makes its own, from the component that the database holds, and one
 * that is missing, damaged or of another policy is made again. What is refused is not remembered.
 *
 *   F3  An artifact is run only under the policy and the limits that it was made under.
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

/** A component as the database has it. */
export interface ComponentSource {
  readonly kind: ComponentKind;
  /** SHA-256 of its bytes, in hexadecimal. */
  readonly digest: string;
  /** The function that is bound, where it is not the one of the kind. */
  readonly functionName?: string | undefined;
  /** Its bytes, asked for only when there is no artifact. */
  bytes(): Promise<Uint8Array>;
}

/** What an executor is given, and under which key it is known. */
export interface RunnableArtifact extends KeptArtifact {
  readonly key: string;
  readonly binding: Binding;
}

/** Why there is no artifact: what the inspector says, or that the bytes are those of another component. */
export type NoArtifact =
  | { readonly kind: 'refused'; readonly refusal: Refusal }
  | { readonly kind: 'damaged'; readonly code: ErrorCode; readonly message: string };

export interface ArtifactOptions extends Pick<PublishOptions, 'limits' | 'smoke'> {
  /** Receives the digest of each component whose artifact was made, or found. */
  readonly onReady?: ((digest: string) => void) | undefined;
}

const GROUP = 'artifact';

interface Making {
  readonly made: Promise<Result<RunnableArtifact, NoArtifact>>;
  /** Whether somebody waits who will run it. */
  isWanted: boolean;
}

export class ArtifactStore {
  readonly #folder: CacheFolder;
  readonly #publisher: Pick<Publisher, 'publish'>;
  readonly #options: ArtifactOptions;
  /** Whoever asks for what is being made waits for it. */
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

  /** The same for who does not run it: what nobody else waits for is let go of at once, and found again in its file. */
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
