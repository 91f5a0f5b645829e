/**
 * A page of HTML for people: the data of the JSON, with links and actions (ADR 0120).
 *
 * It works without scripts; modules make some of it more comfortable. It loads nothing but its own style and
 * modules, and its policy lets it load nothing else.
 */
import type { Description, ShownPlace, Tail } from '../description.ts';
import { CATALOG_PATH, databasePath, queryBuilderPath } from '../paths.ts';
import type { ReplyBody } from '../reply-body.ts';
import type { InTurn } from '../toon-table.ts';
import { actionsMarkup, narrowingMarkup } from './actions.ts';
import { ICON_PATH, MODULE_PATHS, STYLE_PATH } from './assets.ts';
import { dataMarkup, membersMarkup, parsed, words } from './data.ts';
import { html, type Markup, NOTHING } from './markup.ts';
import { timeMachine } from './time-machine.ts';

/** Of every page: it may load and send to where it comes from, and nobody may show it inside of another. */
export const PAGE_HEADERS: Readonly<Record<string, string>> = {
  'content-security-policy':
    "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; " +
    "base-uri 'none'; frame-ancestors 'none'",
  'referrer-policy': 'same-origin',
};

export async function renderHtml(body: ReplyBody, description: Description, inTurn: InTurn): Promise<string> {
  const data = await dataMarkup(body, description, inTurn);
  return inTurn(() => pageOf(description, data));
}

/** At once, for an error. */
export function renderHtmlNow({ first }: ReplyBody, description: Description): string {
  const members = parsed(first);
  const data = membersMarkup(members);
  // What it says stands above it, as a sentence.
  const isError = members.has('error');
  return pageOf(
    description,
    isError ? html`<details class="action"><summary>The error in JSON</summary>${data}</details>` : data,
  );
}

export function pageOf(description: Description, data: Markup): string {
  const { title, summary, links, place, tail } = description;
  // Bundlers take the end of a script for the end of theirs, and would rewrite the template.
  const modules = MODULE_PATHS.map((path) => html`<script type="module" src="${path}"><\/script>`);
  const head = html`<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><meta name="color-scheme" content="light dark"><title>${title} · Cairn</title><link rel="icon" href="${ICON_PATH}"><link rel="stylesheet" href="${STYLE_PATH}">${modules}`;
  const whole = html`<!doctype html>
<html lang="en"><head>${head}</head>
<body><a class="skip" href="#main">Skip to the content</a>
<header><a class="mark" href="${CATALOG_PATH}">Cairn</a>${trail(place, title)}</header>
<main id="main"><h1>${title}</h1>
<p class="summary">${summary}</p>
${timeMachine(place)}
${linksMarkup(links)}
${tailMarkup(tail)}
${narrowingMarkup(description)}
<section class="data" aria-label="Data">${data}</section>
${furtherMarkup(description)}
${actionsMarkup(description)}</main>
<footer><p>Programs and agents read JSON or TOON at the same addresses: <code>Accept: application/json</code>, <code>Accept: text/plain</code>.</p></footer>
</body></html>
`;
  return whole.text;
}

/** From all databases to here. */
function trail(place: ShownPlace | undefined, title: string): Markup {
  if (place === undefined) return NOTHING;
  const { databaseName, revision } = place;
  const steps = [
    [databaseName, databasePath({ databaseName, revision: 'latest' })],
    [`revision ${revision}`, databasePath({ databaseName, revision })],
  ] as const;
  const items = steps.map(([name, path]) => html`<li><a href="${path}">${name}</a></li>`);
  const here = title === databaseName ? NOTHING : html`<li aria-current="page">${title}</li>`;
  const builder = html`<a class="builder" href="${queryBuilderPath(databaseName)}">Query builder</a>`;
  return html`<nav aria-label="Breadcrumb"><ol class="trail">${items}${here}</ol></nav>${builder}`;
}

function linksMarkup(links: Description['links']): Markup {
  const items = Object.entries(links).flatMap(([name, path]) =>
    path === undefined ? [] : [html`<li><a href="${path}">${words(name)}</a></li>`],
  );
  return items.length === 0 ? NOTHING : html`<nav aria-label="On from here"><ul class="links">${items}</ul></nav>`;
}

/** Where the list goes on, once more for whoever has come to its end. */
function furtherMarkup({ links: { next }, rows }: Description): Markup {
  if (next === undefined || rows === undefined) return NOTHING;
  return html`<nav aria-label="More of the list"><ul class="links"><li><a href="${next}">next</a></li></ul></nav>`;
}

/**
 * Where a module of the page shows events as they come (assets/tail.js). Without it there is nothing to see: a page
 * does not change, and the latest is a link.
 */
function tailMarkup(tail: Tail | undefined): Markup {
  if (tail === undefined) return NOTHING;
  const { latest, eventsAtRevision, revision } = tail;
  return html`<section class="tail" aria-label="New events" data-latest="${latest}" data-events="${eventsAtRevision}" data-revision="${revision}" hidden><button type="button">follow</button><output></output></section>`;
}
