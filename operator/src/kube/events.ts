/**
 * Kubernetes events (`events.k8s.io`): what happened to an object, as `kubectl describe` shows it.
 *
 * No controller depends on events. They are written in the background; a failed write is reported and not retried.
 *
 * Invariants:
 *   KM18  Equal events within SERIES_MS are one series with a count, which is written once per WRITE_MS.
 *   KM19  The number of series, of pending writes and of new events per time is bounded. Events above a bound are
 *         dropped.
 */
import type { Api } from './api.ts';
import { hasCode } from './api-error.ts';
import { type Kind, type KubeObject, microTimestamp, pathOf, typeOf } from './objects.ts';

export interface EventText {
  readonly type: 'Normal' | 'Warning';
  /** CamelCase: the same reasons as in conditions. */
  readonly reason: string;
  /** CamelCase: what the controller did or tried. */
  readonly action: string;
  /** Explanation for people; programs read `reason`. */
  readonly note: string;
}

export interface RecorderOptions {
  /** Such as `cairn.dev/cluster-controller`. */
  readonly controller: string;
  readonly instance: string;
  readonly onError: (error: unknown) => void;
}

interface Series {
  readonly path: string;
  count: number;
  lastMs: number;
  writtenMs: number;
}

const EVENTS: Kind = { apiVersion: 'events.k8s.io/v1', kind: 'Event', plural: 'events' };
const SERIES_MS = 360_000;
const WRITE_MS = 60_000;
const SERIES_MAX = 512;
const PENDING_MAX = 100;
const BURST = 25;
const REFILL_MS = 10_000;
/** Limits of the API server. The name of an event has a suffix. */
const NOTE_LENGTH_MAX = 1024;
const NAME_LENGTH_MAX = 240;

export class EventRecorder {
  readonly #api: Api;
  readonly #options: RecorderOptions;
  /** Ordered by their last event. */
  readonly #series = new Map<string, Series>();
  #written: Promise<void> = Promise.resolve();
  #pending = 0;
  #budget = BURST;
  #refilledMs: number;

  constructor(api: Api, options: RecorderOptions) {
    this.#api = api;
    this.#options = options;
    this.#refilledMs = api.runtime.nowMs();
  }

  record(regarding: KubeObject, text: EventText): void {
    const key = JSON.stringify([regarding.metadata.uid, text.type, text.reason, text.action, text.note]);
    const nowMs = this.#api.runtime.nowMs();
    const series = this.#series.get(key);
    this.#series.delete(key);
    if (series === undefined || nowMs - series.lastMs > SERIES_MS) {
      this.#begin(key, regarding, text);
      return;
    }
    this.#series.set(key, series);
    series.count += 1;
    series.lastMs = nowMs;
    if (series.count > 2 && nowMs - series.writtenMs < WRITE_MS) return;
    series.writtenMs = nowMs;
    const counted = { series: { count: series.count, lastObservedTime: this.#now() } };
    this.#write(async () => {
      await this.#api.patch(series.path, counted, 'merge').catch((error: unknown) => {
        // The server deletes events after an hour. The next occurrence creates a new one.
        if (!hasCode(error, 404)) throw error;
        this.#series.delete(key);
      });
    });
  }

  /** Resolves when all writes so far have ended. */
  flush(): Promise<void> {
    return this.#written;
  }

  #begin(key: string, regarding: KubeObject, { type, reason, action, note }: EventText): void {
    const nowMs = this.#api.runtime.nowMs();
    if (!this.#isAffordable(nowMs)) return;
    const { namespace = 'default', name, uid } = regarding.metadata;
    const suffix = Math.floor(this.#api.runtime.random() * 2 ** 48).toString(16);
    const begin = name.slice(0, NAME_LENGTH_MAX).replace(/[-.]+$/, '');
    const own = { namespace, name: `${begin}.${suffix}` };
    this.#series.set(key, { path: pathOf(EVENTS, own), count: 1, lastMs: nowMs, writtenMs: nowMs });
    for (const oldest of this.#series.keys()) {
      if (this.#series.size <= SERIES_MAX) break;
      this.#series.delete(oldest);
    }
    const { apiVersion, kind } = regarding;
    const event = {
      ...typeOf(EVENTS),
      metadata: own,
      eventTime: this.#now(),
      reportingController: this.#options.controller,
      reportingInstance: this.#options.instance,
      regarding: { apiVersion, kind, namespace: regarding.metadata.namespace, name, uid },
      type,
      reason,
      action,
      note: note.slice(0, NOTE_LENGTH_MAX),
    };
    this.#write(() => this.#api.create(pathOf(EVENTS, { namespace }), event));
  }

  #isAffordable(nowMs: number): boolean {
    const refilled = Math.floor((nowMs - this.#refilledMs) / REFILL_MS);
    this.#budget = Math.min(BURST, this.#budget + refilled);
    this.#refilledMs += refilled * REFILL_MS;
    if (this.#budget === 0) return false;
    this.#budget -= 1;
    return true;
  }

  #write(send: () => Promise<unknown>): void {
    if (this.#pending >= PENDING_MAX) return;
    this.#pending += 1;
    this.#written = this.#written
      .then(send)
      .catch(this.#options.onError)
      .then(() => void (this.#pending -= 1));
  }

  #now(): string {
    return microTimestamp(this.#api.runtime.wallMs());
  }
}
