/** Reads all sold seats over HTTP at the end of a run, as input for seats-check.ts. */
import { setTimeout as delay } from 'node:timers/promises';
import type { Address } from '../cluster/line.ts';
import { THEATRE } from './box-office.ts';
import type { SoldEvent } from './seats-history.ts';

/** A node that requests can be sent to. */
export interface Place {
  readonly name: string;
  readonly address: Address;
}

interface Page {
  readonly events: readonly (Omit<SoldEvent, 'text'> & object)[];
}

const PAGE_EVENTS = 1000;
const DEADLINE_MS = 30_000;
const READ_WITHIN_MS = 60_000;
const RETRY_MS = 200;
const NEXT = /<([^>]+)>; rel="next"/;

/**
 * Returns all events up to a revision, page by page.
 * @throws Error when the node does not answer for a minute
 */
export async function soldEvents({ name, address }: Place, revision: number): Promise<readonly SoldEvent[]> {
  const untilMs = performance.now() + READ_WITHIN_MS;
  const events: SoldEvent[] = [];
  let path: string | undefined = `/db/${THEATRE}/${revision}/events?limit=${PAGE_EVENTS}`;
  while (path !== undefined) {
    const reply = await fetch(`${address.http}${path}`, { signal: AbortSignal.timeout(DEADLINE_MS) });
    const text = await reply.text();
    if (reply.ok) {
      const page = JSON.parse(text) as Page;
      for (const event of page.events) {
        events.push({
          revision: event.revision,
          type: event.type,
          subject: event.subject,
          text: JSON.stringify(event),
        });
      }
      path = NEXT.exec(reply.headers.get('link') ?? '')?.[1];
    } else if (performance.now() > untilMs) {
      throw new Error(`A healed ${name} does not answer ${path}: ${reply.status} ${text.slice(0, 300)}`);
    } else {
      await delay(RETRY_MS);
    }
  }
  return events;
}
