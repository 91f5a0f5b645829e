/**
 * A live tail: everything that a selector selects behind a position, then what comes, with heartbeats in silence.
 *
 * ```
 *   catching up ── nothing left ──> following ── applied moved ──> catching up
 *                                       └── silence ──> heartbeat
 * ```
 *
 * The reader pulls every item. While it does not, nothing is read and nothing is kept for it but its position (V7).
 */
import { toRevision } from '#base';
import type { Binding } from '#cluster';
import { Faults, type Position } from '#model';
import { EventTail } from '#query';
import type { ServiceContext } from './context.ts';
import { databaseDeleted } from './errors.ts';
import { scopeOf } from './instance.ts';
import type { SubscribeReply, SubscribeRequest, SubscriptionItem } from './operations.ts';
import { openView } from './read-scope.ts';

export async function subscribe(context: ServiceContext, request: SubscribeRequest): Promise<SubscribeReply> {
  checkHeartbeat(context, request.heartbeatMs);
  // A position that the database has not reached is an error now, rather than silence for ever.
  const at = request.after === undefined ? 'cached' : toRevision(request.after.revision);
  const view = await openView(context, request, at);
  const now = { binding: view.binding, revision: context.node.applied(view.binding.group) };
  return { ...scopeOf(now), items: follow(context, view.binding, request) };
}

async function* follow(
  context: ServiceContext,
  binding: Binding,
  request: SubscribeRequest,
): AsyncGenerator<SubscriptionItem> {
  const { signal, heartbeatMs, selector, after } = request;
  const { node, reads, streams, meters } = context;
  const tail = new EventTail(reads.source(binding), { selector, after });
  using progress = new Progress(context, binding, signal);
  streams.open();
  meters.streams('subscribe', 1);
  try {
    progress.heardFrom(heartbeatMs);
    for (;;) {
      const applied = node.applied(binding.group);
      meters.catchupLag.observe(Math.max(0, applied - tail.position.revision));
      for await (const events of reads.stream(binding, tail.advance(applied, signal))) {
        signal.throwIfAborted();
        if (events.length > 0) {
          meters.eventsReturned.add(events.length);
          yield { kind: 'events', events };
          progress.heardFrom(heartbeatMs);
        } else if (progress.isSilent) {
          yield heartbeat(context, binding, tail.position);
          progress.heardFrom(heartbeatMs);
        }
      }
      if ((await progress.next(applied)) === 'silence') {
        yield heartbeat(context, binding, tail.position);
        progress.heardFrom(heartbeatMs);
      }
    }
  } finally {
    streams.close();
    meters.streams('subscribe', -1);
  }
}

function heartbeat(context: ServiceContext, binding: Binding, position: Position): SubscriptionItem {
  return { kind: 'heartbeat', position, revision: context.node.applied(binding.group) };
}

function checkHeartbeat({ limits }: ServiceContext, heartbeatMs: number): void {
  const { heartbeatMsMin: min, heartbeatMsMax: max } = limits;
  if (heartbeatMs >= min && heartbeatMs <= max) return;
  const faults = new Faults();
  faults.add('heartbeat_ms', `must be from ${min} to ${max}`, String(heartbeatMs));
  throw faults.toError('The subscription is malformed');
}

/** Waits for whatever comes first: the database moving on, silence for too long, or an end. */
class Progress implements Disposable {
  readonly #context: ServiceContext;
  readonly #binding: Binding;
  readonly #signal: AbortSignal;
  readonly #stopListening: () => void;
  readonly #onAbort = (): void => this.#wake?.();
  #stopTimer: (() => void) | undefined;
  #isSilent = false;
  #isGone = false;
  #wake: (() => void) | undefined;

  constructor(context: ServiceContext, binding: Binding, signal: AbortSignal) {
    this.#context = context;
    this.#binding = binding;
    this.#signal = signal;
    signal.addEventListener('abort', this.#onAbort);
    this.#stopListening = context.node.onApplied(binding.group, (revision) => {
      if (revision === undefined) this.#isGone = true;
      this.#wake?.();
    });
  }

  /** Whether the reader has heard nothing for a whole interval. */
  get isSilent(): boolean {
    return this.#isSilent;
  }

  /** The reader was given something: silence begins anew. */
  heardFrom(heartbeatMs: number): void {
    this.#stopTimer?.();
    this.#isSilent = false;
    this.#stopTimer = this.#context.timers.after(heartbeatMs, () => {
      this.#isSilent = true;
      this.#wake?.();
    });
  }

  async next(seen: number): Promise<'moved' | 'silence'> {
    for (;;) {
      this.#signal.throwIfAborted();
      if (this.#isGone) throw databaseDeleted(this.#binding.name);
      if (this.#context.node.applied(this.#binding.group) > seen) return 'moved';
      if (this.#isSilent) return 'silence';
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
      this.#wake = undefined;
    }
  }

  [Symbol.dispose](): void {
    this.#stopTimer?.();
    this.#stopListening();
    this.#signal.removeEventListener('abort', this.#onAbort);
  }
}
