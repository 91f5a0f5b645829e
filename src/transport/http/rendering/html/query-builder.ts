/**
 * A page on which a query is put together that filters cannot say: prefixes, alternatives, a cut of effective time. A
 * module of the page writes it as `q` (assets/query-builder.js); the filters below work without it.
 */
import type { ReadScope } from '#service';
import { filterEvents, queryEvents } from '../actions.ts';
import { contextLinks } from '../database-pages.ts';
import { belowDatabase } from '../paths.ts';
import { html, type Markup } from './markup.ts';
import { pageOf } from './page.ts';

const ROWS = [1, 2, 3, 4, 5] as const;

const ATTRIBUTES = [
  ['stream', 'stream'],
  ['eventType', 'event type'],
  ['subject', 'subject'],
  ['source', 'source'],
] as const;
const OPERATORS = [
  ['equals', 'is'],
  ['startsWith', 'begins with'],
] as const;

export function queryBuilderPage(scope: ReadScope): string {
  const { databaseName, revision } = scope;
  const path = belowDatabase(scope, 'events');
  const description = {
    title: 'Query builder',
    summary: `Finds events of the database ${databaseName}, as of revision ${revision}.`,
    links: { events: path, ...contextLinks(scope) },
    actions: [filterEvents(path), queryEvents(scope)],
    place: { databaseName, revision },
  };
  return pageOf(description, builder(path));
}

function builder(path: string): Markup {
  return html`<form class="builder" action="${path}">
<p class="field"><label for="join">Events of which</label><select id="join" name="join"><option value="and">all of these hold</option><option value="or">any of these holds</option></select></p>
${ROWS.map(termRow)}
<fieldset><legend>Revisions, both inclusive</legend>${field('start', 'from')}${field('end', 'to')}</fieldset>
<fieldset><legend>Effective time, which is then the order, too</legend>${field('from', 'from', '2026-01-31T00:00:00Z')}${field('until', 'to', '2026-02-28T00:00:00Z')}</fieldset>
<fieldset><legend>Page</legend>${field('limit', 'limit')}<p class="field"><label for="direction">direction</label><select id="direction" name="direction"><option value="FORWARD">oldest first</option><option value="REVERSE">newest first</option></select></p></fieldset>
<button disabled>find events</button></form>`;
}

function termRow(row: number): Markup {
  return html`<fieldset class="term"><legend>Condition ${row}</legend>${choice(`attribute${row}`, 'attribute', ATTRIBUTES)}${choice(`operator${row}`, 'operator', OPERATORS)}${field(`value${row}`, 'value')}</fieldset>`;
}

function choice(name: string, label: string, options: readonly (readonly [value: string, text: string])[]): Markup {
  const shown = options.map(([value, text]) => html`<option value="${value}">${text}</option>`);
  return html`<p class="field"><label for="${name}">${label}</label><select id="${name}" name="${name}">${shown}</select></p>`;
}

function field(name: string, label: string, example = ''): Markup {
  return html`<p class="field"><label for="${name}">${label}</label><input id="${name}" name="${name}" placeholder="${example}" autocomplete="off" spellcheck="false"></p>`;
}
