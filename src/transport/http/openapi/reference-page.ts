/** The document of the interface as a page to read. */
import type { Description } from '../rendering/description.ts';
import { html, type Markup, NOTHING } from '../rendering/html/markup.ts';
import { pageOf } from '../rendering/html/page.ts';
import type { Route } from '../route.ts';
import { SCHEMAS } from './document.ts';
import { OPERATIONS, type Operation } from './operations.ts';

export function referencePage(routes: readonly Route[], links: Description['links']): string {
  const known = routes.flatMap((route) => {
    const operation = OPERATIONS[`${route.method} ${route.path}`];
    return operation === undefined ? [] : [{ route, operation }];
  });
  const tags = [...new Set(known.map(({ operation }) => operation.tag))];
  const sections = tags.map((tag) => {
    const own = known.filter(({ operation }) => operation.tag === tag);
    return html`<section aria-label="${tag}"><h2>${tag}</h2>${own.map(({ route, operation }) => entry(route, operation))}</section>`;
  });
  const schemas = Object.entries(SCHEMAS).map(
    ([name, schema]) =>
      html`<details class="action" id="schema-${name}"><summary><span class="name">${name}</span></summary><pre class="json" tabindex="0">${JSON.stringify(schema, undefined, 2)}</pre></details>`,
  );
  const description = {
    title: 'HTTP API',
    summary: `${known.length} routes. Requests and answers are JSON where nothing else is said; what is refused answers an Error.`,
    links,
    actions: [],
  };
  return pageOf(description, html`${sections}<section aria-label="Schemas"><h2>Schemas</h2>${schemas}</section>`);
}

function entry({ method, path, parameters = [], headers = [] }: Route, operation: Operation): Markup {
  const { summary, body = {}, answer, contentType } = operation;
  const bodies = Object.entries(body).map(([type, schema]) => html`<li>${type}: ${schemaLink(schema)}</li>`);
  const rows = [
    row('query', parameters.join(', ')),
    row('headers', ['x-min-revision', ...headers].join(', ')),
    bodies.length === 0 ? NOTHING : html`<div><dt>body</dt><dd><ul class="plain">${bodies}</ul></dd></div>`,
    answer === undefined
      ? row('answer', contentType ?? 'nothing')
      : html`<div><dt>answer</dt><dd>${schemaLink(answer)}</dd></div>`,
  ];
  return html`<details class="action"><summary><code>${method} ${path}</code> <span class="does">${summary}</span></summary><dl class="members">${rows}</dl></details>`;
}

function row(term: string, value: string): Markup {
  return value === '' ? NOTHING : html`<div><dt>${term}</dt><dd>${value}</dd></div>`;
}

function schemaLink(name: string): Markup {
  return html`<a href="#schema-${name}">${name}</a>`;
}
