/**
 * The page that builds a query which filters cannot express: prefixes, alternatives, ranges of effective time. Its form
 * requests the page itself, which redirects to the events, or shows faults at their fields.
 */
import { filterEvents, queryEvents } from '../actions.ts';
import { contextLinks } from '../database-pages.ts';
import type { Filled } from '../description.ts';
import { belowDatabase, queryBuilderPath, type Scope } from '../paths.ts';
import { words } from './data.ts';
import { html, type Markup, NOTHING } from './markup.ts';
import { renderPage } from './page.ts';

type Options = readonly (readonly [value: string, text: string])[];

export const BUILDER_ROWS: readonly number[] = [1, 2, 3, 4, 5];

/** Options by the name of the field, without the number of its row. The first one is the default. */
export const BUILDER_CHOICES: Readonly<Record<string, Options>> = {
  join: [
    ['and', 'all of these hold'],
    ['or', 'any of these holds'],
  ],
  attribute: [
    ['stream', 'stream'],
    ['eventType', 'event type'],
    ['subject', 'subject'],
    ['source', 'source'],
  ],
  operator: [
    ['equals', 'is'],
    ['startsWith', 'begins with'],
  ],
  direction: [
    ['FORWARD', 'oldest first'],
    ['REVERSE', 'newest first'],
  ],
};

const EMPTY: Filled = { values: {} };

export function renderQueryBuilder(scope: Scope, filled: Filled = EMPTY): string {
  const { databaseName, revision } = scope;
  const path = belowDatabase(scope, 'events');
  const wrong = Object.keys(filled.faults ?? {}).map(words);
  const description = {
    title: wrong.length > 0 ? 'That did not work' : 'Query builder',
    summary:
      wrong.length > 0
        ? `The query is malformed: see ${wrong.join(', ')}.`
        : `Finds events of the database ${databaseName}, as of revision ${revision}.`,
    links: { events: path, ...contextLinks(scope) },
    actions: [filterEvents(path), queryEvents(scope)],
    place: { databaseName, revision },
  };
  return renderPage(description, builder(queryBuilderPath(databaseName), filled));
}

function builder(path: string, filled: Filled): Markup {
  const chosen = (name: string, label: string): Markup => choice(name, label, filled);
  const typed = (name: string, label: string, example = ''): Markup => field({ name, label, example, filled });
  const rows = BUILDER_ROWS.map(
    (row) =>
      html`<fieldset class="term"><legend>Condition ${row}</legend>${chosen(`attribute${row}`, 'attribute')}${chosen(`operator${row}`, 'operator')}${typed(`value${row}`, 'value')}</fieldset>`,
  );
  return html`<form class="builder" method="get" action="${path}">
${chosen('join', 'Events of which')}
${rows}
<fieldset><legend>Revisions, both inclusive</legend>${typed('start', 'from')}${typed('end', 'to')}</fieldset>
<fieldset><legend>Effective time, which is then the order, too</legend>${typed('from', 'from', '2026-01-31T00:00:00Z')}${typed('until', 'to', '2026-02-28T00:00:00Z')}</fieldset>
<fieldset><legend>Page</legend>${typed('limit', 'limit')}${chosen('direction', 'direction')}</fieldset>
<button>find events</button></form>`;
}

function choice(name: string, label: string, { values, faults }: Filled): Markup {
  const options = (BUILDER_CHOICES[name.replace(/\d$/, '')] ?? []).map(([value, text]) =>
    value === values[name]
      ? html`<option value="${value}" selected>${text}</option>`
      : html`<option value="${value}">${text}</option>`,
  );
  const { said, described } = faultIn(name, faults);
  return html`<p class="field"><label for="${name}">${label}</label>${said}<select id="${name}" name="${name}"${described}>${options}</select></p>`;
}

interface Typed {
  readonly name: string;
  readonly label: string;
  readonly example: string;
  readonly filled: Filled;
}

function field({ name, label, example, filled: { values, faults } }: Typed): Markup {
  const { said, described } = faultIn(name, faults);
  return html`<p class="field"><label for="${name}">${label}</label>${said}<input id="${name}" name="${name}" value="${values[name]}" placeholder="${example}"${described} autocomplete="off" spellcheck="false"></p>`;
}

/** Text beside a field with a fault, and its attributes. */
function faultIn(name: string, faults: Filled['faults']): { readonly said: Markup; readonly described: Markup } {
  const fault = faults?.[name];
  if (fault === undefined) return { said: NOTHING, described: NOTHING };
  return {
    said: html`<strong class="fault" id="${name}-fault">${fault}</strong>`,
    described: html` aria-describedby="${name}-fault" aria-invalid="true"`,
  };
}
