// Check 9: a subscription delivers every matching event after its position, once, in order and as stored; the positions
// of heartbeats are correct; and at the end every subscriber has everything.
import type { EventSeen, Subscription } from '../history.ts';
import { type Check, forInstances, isSame, shown } from './check.ts';
import type { Evidence, Instance } from './evidence.ts';
import { isAfter, selects } from './model.ts';

export const subscriptionsAreComplete: Check = (evidence) =>
  evidence.history.subscriptions.flatMap((subscription) => {
    const instance = evidence.instances.get(subscription.scope?.databaseId ?? '');
    if (instance?.final === undefined) return [];
    return follow(subscription, instance).map(
      (fault) => `subscription ${subscription.number} by ${subscription.client}: ${fault}`,
    );
  });

export const subscribersGetEverything: Check = (evidence: Evidence) =>
  forInstances(evidence, ({ final }) =>
    (final?.followers ?? []).map(
      ({ client, number }) => `${client} has not got everything in the end (subscription ${number})`,
    ),
  );

function follow({ selector, after, items }: Subscription, { final, model }: Instance): readonly string[] {
  const selected = expectedBehind(model.events(final?.revision ?? 0), { selector, after });
  let next = 0;
  for (const item of items) {
    if (item.kind === 'heartbeat') {
      const missed = selected[next];
      if (missed !== undefined && !isAfter(missed, item.position)) {
        return [`a heartbeat at ${shown(item.position)} without the event ${shown(missed)}`];
      }
      continue;
    }
    const wanted = selected.slice(next, next + item.events.length);
    if (!isSame(wanted, item.events)) return [`delivers ${shown(item.events)} instead of ${shown(wanted)}`];
    next += item.events.length;
  }
  return [];
}

/** The events that a subscription must deliver. */
export function expectedBehind(
  events: readonly EventSeen[],
  { selector, after }: Pick<Subscription, 'selector' | 'after'>,
): readonly EventSeen[] {
  return events.filter((event) => selects(selector, event) && (after === undefined || isAfter(event, after)));
}
