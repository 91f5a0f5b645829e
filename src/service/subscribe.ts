/**
 * A subscription: all selected events after a position, then new ones, with heartbeats when there are none.
 *
 * ```
 *   catching up ── nothing left ──> following ── readable moved ──> catching up
 *                                       └── silence ──> heartbeat
 * ```
 *
 * The reader pulls every item. While it does not, nothing is read and only its position is kept (V7).
 */
import { toAskedRevision } from '#base';
import type { Binding } from '#cluster';
import { Faults, type Position } from '#model';
import type { ServiceContext } from './context.ts';
import { scopeOf, untilCurrent } from './instance.ts';
import type { SubscribeReply, SubscribeRequest, SubscriptionItem } from './operations.ts';
import { Progress } from './progress.ts';
import { openView } from './read-scope.ts';
import { type FollowRequest, SubscriberReader } from './subscriber-reader.ts';

export async function subscribe(context: ServiceContext, request: SubscribeRequest): Promise<SubscribeReply> {
  const heartbeatMs = heartbeatOf(context, request.heartbeatMs);
  // A position beyond the database is an error, because the subscription would be silent forever.
  const at = request.after === undefined ? 'cached' : toAskedRevision(request.after.revision);
  const view = await openView(context, request, at);
  const now = { binding: view.binding, revision: context.node.readable(view.binding.group) };
  const { after, ...rest } = request;
  const begun = { ...rest, heartbeatMs, ...(after && { after: { revision: view.revision, index: after.index } }) };
  return { ...scopeOf(now), items: follow(context, view.binding, begun) };
}

async function* follow(
  context: ServiceContext,
  binding: Binding,
  request: FollowRequest,
): AsyncGenerator<SubscriptionItem> {
  const { signal, heartbeatMs } = request;
  const { node, openTails, meters } = context;
  openTails.open();
  meters.streams('subscribe', 1);
  try {
    using progress = new Progress(context, binding, signal);
    using reader = new SubscriberReader(context, binding, request);
    progress.heardFrom(heartbeatMs);
    for (;;) {
      const readable = node.readable(binding.group);
      meters.catchupLag.observe(Math.max(0, readable - reader.position.revision));
      for await (const events of reader.upTo(readable)) {
        signal.throwIfAborted();
        await untilCurrent(node, binding, signal);
        meters.eventsReturned.add(events.length);
        if (events.length > 0) yield { kind: 'events', events };
        else if (progress.isSilent) yield heartbeat(context, binding, reader.position);
        else continue;
        progress.heardFrom(heartbeatMs);
      }
      if ((await progress.next(readable)) !== 'silence') continue;
      await untilCurrent(node, binding, signal);
      yield heartbeat(context, binding, reader.position);
      progress.heardFrom(heartbeatMs);
    }
  } finally {
    openTails.close();
    meters.streams('subscribe', -1);
  }
}

function heartbeat(context: ServiceContext, binding: Binding, position: Position): SubscriptionItem {
  return { kind: 'heartbeat', position, revision: context.node.readable(binding.group) };
}

function heartbeatOf({ limits }: ServiceContext, heartbeatMs: number): number {
  const { heartbeatMsMin: min, heartbeatMsMax: max } = limits;
  if (heartbeatMs >= min && heartbeatMs <= max) return heartbeatMs;
  const faults = new Faults();
  faults.add('heartbeat_ms', `must be from ${min} to ${max}`, heartbeatMs);
  throw faults.toError('The subscription is malformed');
}
