/**
 * Where a module of the page shows events as they come (assets/tail.js). Without it there is nothing to see: a page
 * does not change, and the latest is a link.
 */
import type { Tail } from '../description.ts';
import { html, type Markup, NOTHING } from './markup.ts';

export function tailMarkup(tail: Tail | undefined): Markup {
  if (tail === undefined) return NOTHING;
  const { latest, eventsAtRevision, revision } = tail;
  return html`<section class="tail" aria-label="New events" data-latest="${latest}" data-events="${eventsAtRevision}" data-revision="${revision}" hidden><button type="button">follow</button><output></output></section>`;
}
