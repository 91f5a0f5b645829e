/** The events of EvidentDB's own cases: two streams, and one id that stands on both. */
import type { Api, JsonEvent } from './api/api.ts';

function anEvent(id: string, stream: string, rest: { readonly subject?: string; readonly type: string }): JsonEvent {
  return { specversion: '1.0', id, source: `/streams/${stream}`, ...rest };
}

export const FIRST: JsonEvent = anEvent('1an+id@foo.com', 'my-stream', { subject: 'a nice subject', type: 'type1' });
export const SECOND: JsonEvent = anEvent('2an+id@foo.com', 'my-stream', {
  subject: 'another nice subject',
  type: 'type2',
});
/** The id of the first, on another stream. */
export const THIRD: JsonEvent = anEvent('1an+id@foo.com', 'my-other-stream', {
  subject: 'another nice subject',
  type: 'type2',
});

let databases = 0;

export async function newDatabase(api: Api): Promise<string> {
  databases += 1;
  const database = `evident-${databases}`;
  await api.createDatabase(database);
  return database;
}
