/** A database with everything that TOON pages show: events, a transaction and components. */
import { changeText, NO_EVENT } from './components/change-text.ts';
import { linesView } from './components/lines-view.ts';
import { SHOWING } from './components/presenters.ts';
import { hashingView } from './components/views.ts';
import { cloudEvent, type HttpClient, uniqueName } from './http-client.ts';
import { createHistory } from './http-history.ts';
import { wat } from './wasm/wat.ts';

/** Id of the last revision's transaction. */
export const TRANSACTION_ID = '0b5c1f0e-3a44-4d1c-9a55-0d9be1f2a003';
/** Last revision of the history, including that transaction. */
export const LAST_REVISION = 6;

/** A stream name that clients could take for a path segment. */
const DOTS = '..';

const VIEW = { content_type: 'application/x-count', query_temporality: 'revision' };
/** A State View in order of effective time. */
export const TIMED: Readonly<Record<string, unknown>> = {
  ...VIEW,
  state_view_name: 'timed',
  events: ['order.placed'],
  query_temporality: 'effective_timestamp',
};
const BY_SUBJECT = { type: 'equals', attr: { subject: { parameter: 'account' } } };

/** Renders a list with a 1 for each event. */
const COUNTED = { first: '{"placed":[', line: '1,', last: '0]}' };

export interface Components {
  readonly view: Uint8Array;
  readonly change: Uint8Array;
  readonly presenter: Uint8Array;
}

interface ToonDatabase {
  readonly name: string;
  readonly components: Components;
}

export async function toonComponents(): Promise<Components> {
  const view = await (await hashingView({ hasBatch: true, hasQuery: true })).bytes();
  return { view, change: await wat(changeText(NO_EVENT)), presenter: await wat(SHOWING) };
}

/** Creates such a database with a unique name. */
export async function toonDatabase(api: HttpClient): Promise<ToonDatabase> {
  const [name, components] = [uniqueName(), await toonComponents()];
  await createToonDatabase(api, name, components);
  return { name, components };
}

export async function createToonDatabase(api: HttpClient, name: string, components: Components): Promise<void> {
  await createHistory(api, name);
  const events = [
    cloudEvent('odd', { source: `/${encodeURIComponent('a:b,c')}`, type: '# "Links:"\\', subject: '---' }),
    cloudEvent('dots', { source: DOTS, subject: '.', data: { n: 1 } }),
    cloudEvent('text', { data: '05', datacontenttype: 'text/plain' }),
  ];
  const sent = await api.post(`/api/v1/db/${name}`, { transaction_id: TRANSACTION_ID, events });
  if (sent.status !== 200) throw new Error(sent.text);
  const { view, change, presenter } = components;
  await api.publish(`${name}/presenters`, { presenter_name: 'shows', content_types: ['text/csv'] }, presenter);
  const views = [
    { state_view_name: 'all', events: ['order.placed'], content_schema: { type: 'object', maximum: 9 } },
    { state_view_name: 'one', event_selector: BY_SUBJECT, description: 'of a subject' },
    { state_view_name: 'shown', events: ['order.placed'], presenter: 'shows' },
    TIMED,
  ];
  for (const each of views) await api.publish(`${name}/state-views`, { ...VIEW, ...each }, view);
  const read = { ...VIEW, state_view_name: 'read', content_type: 'application/json', events: ['order.placed'] };
  await api.publish(`${name}/state-views`, read, await linesView(COUNTED));
  const metadata = { state_change_name: 'decides', state_view_names: ['all'] };
  await api.publish(`${name}/state-changes`, metadata, change);
}
