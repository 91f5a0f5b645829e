/** A database with five transactions whose event ids name their position, and readers of its pages over HTTP. */
import { type Answer, cloudEvent, type HttpClient, jsonOf } from './http-client.ts';

interface EventJson {
  readonly id: string;
  readonly revision: number;
  readonly index: number;
  readonly recordedtime: string;
}

/** A page of events of either route family. */
export interface EventPage {
  readonly revision?: number;
  readonly events: readonly EventJson[];
  readonly has_more: boolean;
  readonly next?: string;
  readonly next_cursor?: string;
}

export function idsOf(answer: Answer): readonly string[] {
  return (jsonOf(answer) as EventPage).events.map(({ id }) => id);
}

/** The events of each revision; their ids name their position. */
const HISTORY: readonly (readonly object[])[] = [
  [cloudEvent('1.0', { subject: 'ada', time: '2024-01-05T00:00:00Z' }), cloudEvent('1.1', { subject: 'bob' })],
  [cloudEvent('2.0', { source: '/db/shop/streams/carts', type: 'cart.filled', time: '2024-01-01T00:00:00Z' })],
  [cloudEvent('3.0', { type: 'order.paid', subject: 'ada', time: '2024-01-03T00:00:00+02:00' })],
  [
    cloudEvent('4.0', {
      source: 'carts',
      type: 'cart.emptied',
      subject: 'ada lovelace/1',
      time: '2024-01-02T00:00:00Z',
    }),
  ],
  [0, 1, 2, 3, 4].map((index) => cloudEvent(`5.${index}`, { type: 'order.shipped', data: { index } })),
];

/** Ids of all events, in order of position. */
export const IN_ORDER: readonly string[] = ['1.0', '1.1', '2.0', '3.0', '4.0', '5.0', '5.1', '5.2', '5.3', '5.4'];

/** Creates the database with its five revisions; returns its id. */
export async function createHistory(api: HttpClient, name: string): Promise<string> {
  const databaseId = await api.create(name);
  for (const events of HISTORY) await api.commit(name, ...events);
  return databaseId;
}
