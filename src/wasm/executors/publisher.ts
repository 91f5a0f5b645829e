/**
 * Publishes each component in a process of its own, which is killed when it takes too much time or memory. Both are
 * refusals: the publisher of the component can fix it.
 */
import { DatabaseError, failure, type Result } from '#base';
import type { Published, PublishOptions } from '../publishing/publish.ts';
import { publishedFrom } from '../publishing/publish-messages.ts';
import type { Refusal } from '../reading/refusal.ts';
import { ExecutorSlot, type SlotSettings, type TimeLimits } from './executor-slot.ts';

export interface PublisherSettings extends SlotSettings {
  readonly time: TimeLimits;
}

const MIB = 2 ** 20;

export const DEFAULT_PUBLISHER: PublisherSettings = {
  process: { heapBytesMax: 512 * MIB, answerBytesMax: 128 * MIB },
  residentBytesMax: 1536 * MIB,
  residentBytesKept: Number.POSITIVE_INFINITY,
  waitingMax: 8,
  jobsMax: 1,
  time: { wallMs: 20_000, cpuMs: 20_000 },
};

export class Publisher implements AsyncDisposable {
  readonly #settings: PublisherSettings;
  readonly #slot: ExecutorSlot;

  constructor(settings: PublisherSettings = DEFAULT_PUBLISHER) {
    this.#settings = settings;
    this.#slot = new ExecutorSlot(settings, {
      onStart: () => undefined,
      onKill: () => undefined,
      onRecycle: () => undefined,
    });
  }

  /**
   * Publishes one component at a time.
   * @throws DatabaseError busy: too many already wait
   */
  async publish(bytes: Uint8Array, options: PublishOptions): Promise<Result<Published, Refusal>> {
    let outcome = await this.#lookAt(bytes, options);
    // Something else may have killed the process, such as the out-of-memory killer; a component that ends its process
    // does so again.
    if (outcome.kind === 'fault' && outcome.fault.code === 'ExecutorLost') outcome = await this.#lookAt(bytes, options);
    if (outcome.kind === 'fault' && outcome.fault.code === 'Busy') throw busy(outcome.fault.message);
    if (outcome.kind === 'fault') return notPublished(`${outcome.fault.code}: ${outcome.fault.message}`);
    return publishedFrom(outcome.value) ?? notPublished('The answer of the publisher cannot be decoded');
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#slot.close();
  }

  #lookAt(bytes: Uint8Array, options: PublishOptions): ReturnType<ExecutorSlot['do']> {
    return this.#slot.do({
      artifact: undefined,
      time: this.#settings.time,
      request: (id) => ({ kind: 'publish', id, options, bytes }),
      host: async () => ({ kind: 'failed', message: 'The host answers no call while a component is published' }),
    });
  }
}

/** The node is busy; the component was not checked. */
function busy(message: string): DatabaseError {
  return new DatabaseError('busy', message, { details: { reason: 'Busy' } });
}

function notPublished(why: string): Result<never, Refusal> {
  return failure({ code: 'NotPublished', message: `The component could not be inspected: ${why}`, offset: 0 });
}
