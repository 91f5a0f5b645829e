// Random requests of clients, over few names, streams, types, subjects and ids, so that they conflict.
import { instantFromMs, toRevision } from '#base';
import { ALL, and, type Constraint, type EventQuery, NO_SUBJECT, or, type Selector, term } from '#model';
import type { Rng } from '../engine/random.ts';
import type { EventSketch } from '../history.ts';

const STREAMS = ['orders', 'orders-eu', 'stock'] as const;
const TYPES = ['order.placed', 'order.paid', 'item.counted'] as const;
const SUBJECTS = ['s1', 's2', 's22'] as const;
const IDS = ['a', 'b', 'c'] as const;
/** Past effective times, so few that events share them. */
const LONG_AGO_MS = Date.UTC(2001, 1, 3);
const LONG_AGO_COUNT = 12;
const LONG_AGO_STEP_MS = 250;
const NEAR_MS = 3000;
/** The highest limit that a request may have. */
const LIMIT_MAX = 2 ** 32 - 1;

export class Sketches {
  readonly #random: Rng;
  readonly #times: Rng | undefined;
  readonly #bounds: Rng;
  #made = 0;

  /** With `isTimed`, events have effective times and queries use them. */
  constructor(random: Rng, { isTimed = false }: { readonly isTimed?: boolean } = {}) {
    this.#random = random;
    this.#times = isTimed ? random.split('times') : undefined;
    this.#bounds = random.split('bounds');
  }

  transactionId(): string {
    const hex = Buffer.from(this.#random.bytes(16)).toString('hex');
    return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
  }

  /** `author` makes the payloads of all clients different; some effective times are near `recordedMs`. */
  events(author: string, recordedMs: number = 0): readonly EventSketch[] {
    const random = this.#random;
    const count = random.chance(0.05) ? random.between(5, 40) : random.between(1, 3);
    const zerosMax = count > 3 ? 100 : 3000;
    return Array.from({ length: count }, () => this.#event(author, zerosMax, recordedMs));
  }

  constraints(revision: number): readonly Constraint[] {
    const count = this.#random.chance(0.5) ? 0 : this.#random.between(1, 3);
    return Array.from({ length: count }, () => this.#constraint(revision));
  }

  selector(depth = 1): Selector {
    const random = this.#random;
    switch (random.between(0, depth > 0 ? 9 : 6)) {
      case 0:
        return term('by-stream', random.pick(STREAMS));
      case 1:
        return term('by-type', random.pick(TYPES));
      case 2:
        return term('by-subject', random.pick(SUBJECTS));
      case 3:
        return term('by-stream-prefix', random.pick(['o', 'orders', 's', '']));
      case 4:
        return term('by-type-prefix', random.pick(['order.', 'item', '']));
      case 5:
        return term('by-subject-prefix', random.pick(['s', 's2']));
      case 6:
        return random.chance(0.5) ? NO_SUBJECT : term('by-source', `/streams/${random.pick(STREAMS)}`);
      case 7:
        return or([this.selector(depth - 1), this.selector(depth - 1)]);
      default:
        return and([this.selector(depth - 1), this.selector(depth - 1)]);
    }
  }

  query(revision: number, recordedMs: number = 0): EventQuery {
    const random = this.#random;
    const start = random.chance(0.3) ? random.between(0, revision) : undefined;
    const end = random.chance(0.3) ? random.between(start ?? 0, revision + 1) : undefined;
    const selector = this.selector();
    const effectiveTime = this.#effectiveTime(recordedMs);
    const direction = random.chance(0.7) ? 'forward' : 'reverse';
    const limit = random.chance(0.4) ? random.between(1, 10) : undefined;
    return {
      selector: this.#bounds.chance(0.3) ? ALL : selector,
      revisions: { start, end: this.#bounds.chance(0.1) ? Number.MAX_SAFE_INTEGER : end },
      effectiveTime,
      // In order of effective time, a position must be that of an event.
      after: effectiveTime === undefined && this.#bounds.chance(0.4) ? this.#place(revision) : undefined,
      direction,
      limit: this.#bounds.chance(0.1) ? LIMIT_MAX : limit,
    };
  }

  /** A stream and an id that an event may have. */
  place(): { readonly stream: string; readonly id: string } {
    return { stream: this.#random.pick(STREAMS), id: this.#random.pick(IDS) };
  }

  /** A position at, next to or beyond an event. */
  #place(revision: number): EventQuery['after'] {
    const random = this.#bounds;
    const near = random.between(0, revision + 1);
    const place = random.pick([0, 1, revision, revision + 1, Number.MAX_SAFE_INTEGER, near, near]);
    return { revision: toRevision(place), index: random.pick([0, 0, 1, 2, 1000]) };
  }

  #event(author: string, zerosMax: number, recordedMs: number): EventSketch {
    const random = this.#random;
    this.#made += 1;
    const text = `${author}-${this.#made}`;
    return {
      id: random.chance(0.4) ? random.pick(IDS) : text,
      stream: random.pick(STREAMS),
      type: random.pick(TYPES),
      subject: random.chance(0.3) ? undefined : random.pick(SUBJECTS),
      ...(this.#times?.chance(0.6) === true && { timeMs: timeOf(this.#times, recordedMs) }),
      text,
      zeros: random.chance(0.15) ? random.between(1, zerosMax) : 0,
    };
  }

  #effectiveTime(recordedMs: number): EventQuery['effectiveTime'] {
    const random = this.#times;
    if (random?.chance(0.5) !== true) return undefined;
    const [earlier, later] = [timeOf(random, recordedMs), timeOf(random, recordedMs)].toSorted((a, b) => a - b);
    return {
      start: random.chance(0.5) && earlier !== undefined ? instantFromMs(earlier) : undefined,
      end: random.chance(0.7) && later !== undefined ? instantFromMs(later) : undefined,
    };
  }

  /** A constraint near the revision that the client assumes: mostly satisfied, often only just. */
  #constraint(revision: number): Constraint {
    const random = this.#random;
    const near = Math.max(0, revision - (random.chance(0.6) ? 0 : random.between(0, 4)));
    const selector = random.chance(0.75) ? this.selector() : undefined;
    switch (random.between(0, 2)) {
      case 0:
        return { kind: 'min-revision', revision: selector === undefined ? near : random.between(0, near), selector };
      case 1:
        return { kind: 'max-revision', revision: random.chance(0.15) ? 0 : near, selector };
      default: {
        const start = random.between(0, near);
        return { kind: 'revision-range', start, end: random.between(start, near + 1), selector };
      }
    }
  }
}

/** A past time or, equally often, one near a recorded time, so that events without an effective time are in between. */
function timeOf(random: Rng, recordedMs: number): number {
  return random.chance(0.5)
    ? LONG_AGO_MS + random.between(0, LONG_AGO_COUNT) * LONG_AGO_STEP_MS
    : recordedMs + random.between(-NEAR_MS, NEAR_MS);
}
