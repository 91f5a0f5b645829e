/**
 * Draws a reply as a page of HTML: the data of its JSON, with links and actions (ADR 0120).
 *
 * A page works without scripts. Its policy lets it load its own style, icon and modules, and nothing else.
 */
import type { Description, ShownPlace, Tail } from '../description.ts';
import { CATALOG_PATH, databasePath, queryBuilderPath } from '../paths.ts';
import { type InTurn, parseMembers, type ReplyData } from '../reply-data.ts';
import { actionsMarkup, narrowingMarkup } from './actions.ts';
import { ICON_PATH, MODULE_PATHS, STYLE_PATH } from './assets.ts';
import { dataMarkup, membersMarkup, words } from './data.ts';
import { html, type Markup, NOTHING } from './markup.ts';
import { timeMachine } from './time-machine.ts';

/** Headers of every page: it loads from and sends to its own origin, and no other page may frame it. */
export const PAGE_HEADERS: Readonly<Record<string, string>> = {
  'content-security-policy':
    "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; " +
    "base-uri 'none'; frame-ancestors 'none'",
  'referrer-policy': 'same-origin',
};

export async function renderHtml(body: ReplyData, description: Description, inTurn: InTurn): Promise<string> {
  const data = await dataMarkup(body, description, inTurn);
  return inTurn(() => renderPage(description, data));
}

/** Draws an error, which is small, in one piece. */
export function renderHtmlNow({ first }: ReplyData, description: Description): string {
  const members = parseMembers(first);
  const data = membersMarkup(members);
  // The summary of the page has its message.
  const isError = members.has('error');
  return renderPage(
    description,
    isError ? html`<details class="action"><summary>The error in JSON</summary>${data}</details>` : data,
  );
}

export function renderPage(description: Description, data: Markup): string {
  const { title, summary, links, place, tail } = description;
  // A bundler would take an unescaped end of a script for the end of its own.
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

/** Path from the list of databases to this page. */
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

/** The link to the next page, repeated after the list. */
function furtherMarkup({ links: { next }, rows }: Description): Markup {
  if (next === undefined || rows === undefined) return NOTHING;
  return html`<nav aria-label="More of the list"><ul class="links"><li><a href="${next}">next</a></li></ul></nav>`;
}

/** Place for new events, which assets/tail.js shows as they are committed. Hidden without scripts. */
function tailMarkup(tail: Tail | undefined): Markup {
  if (tail === undefined) return NOTHING;
  const { latest, eventsAtRevision, revision } = tail;
  return html`<section class="tail" aria-label="New events" data-latest="${latest}" data-events="${eventsAtRevision}" data-revision="${revision}" hidden><button type="button">follow</button><output></output></section>`;
}
