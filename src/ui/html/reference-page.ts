/** The OpenAPI document as a page. */
import type { Description } from '../description.ts';
import { html, type Markup, NOTHING } from './markup.ts';
import { renderPage } from './page.ts';

export interface DocumentedRoute {
  readonly method: string;
  readonly path: string;
  readonly parameters?: readonly string[];
  readonly summary: string;
  readonly tag: string;
  /** Names of the schemas of its bodies, by content type. */
  readonly body?: Readonly<Record<string, string>>;
  /** Name of the schema of its answer, or the content type of an answer that is not JSON. */
  readonly answer?: string;
  readonly contentType?: string;
  readonly headers?: readonly string[];
}

interface Reference {
  readonly routes: readonly DocumentedRoute[];
  readonly schemas: Readonly<Record<string, object>>;
  readonly links: Description['links'];
}

export function renderReference({ routes, schemas, links }: Reference): string {
  const tags = [...new Set(routes.map(({ tag }) => tag))];
  const sections = tags.map((tag) => {
    const own = routes.filter((route) => route.tag === tag);
    return html`<section aria-label="${tag}"><h2>${tag}</h2>${own.map(entry)}</section>`;
  });
  const shapes = Object.entries(schemas).map(
    ([name, schema]) =>
      html`<details class="action" id="schema-${name}"><summary><span class="name">${name}</span></summary><pre class="json" tabindex="0">${JSON.stringify(schema, undefined, 2)}</pre></details>`,
  );
  const description = {
    title: 'HTTP API',
    summary: `${routes.length} routes. Requests and answers are JSON where nothing else is said; what is refused answers an Error.`,
    links,
    actions: [],
  };
  return renderPage(description, html`${sections}<section aria-label="Schemas"><h2>Schemas</h2>${shapes}</section>`);
}

function entry({ method, path, parameters = [], summary, ...parts }: DocumentedRoute): Markup {
  const { body = {}, answer, contentType, headers = [] } = parts;
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
