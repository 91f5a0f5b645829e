/**
 * The revisions of a database as something to go along: the one before, the one behind, and some between the first and
 * this one, each a link. A module of the page makes a slider of it that goes to the latest
 * (assets/time-machine.ts): the page itself says nothing that changes behind its revision.
 */
import type { ShownPlace } from '../description.ts';
import { databasePath } from '../paths.ts';
import { html, type Markup, NOTHING } from './markup.ts';

const STEPS = 8;

export function timeMachine(place: ShownPlace | undefined): Markup {
  if (place?.pathAtRevision === undefined || place.revision === 'latest') return NOTHING;
  const { databaseName, revision, pathAtRevision, firstRevision = 0 } = place;
  const at = (number: number): string => pathAtRevision.replace('{revision}', String(number));
  const ticks = ticksBetween(firstRevision, revision).map((tick) => {
    const isHere = tick === revision ? html` aria-current="page"` : NOTHING;
    return html`<li><a href="${at(tick)}"${isHere}>${tick}</a></li>`;
  });
  const earlier = revision === firstRevision ? NOTHING : html`<a rel="prev" href="${at(revision - 1)}">earlier</a>`;
  // Whether it is there the page cannot say; the module of the page takes it away, and its error leads back.
  const later = html`<a rel="next" href="${at(revision + 1)}">later</a>`;
  return html`<nav class="time-machine" aria-label="Revisions" data-first="${firstRevision}" data-revision="${revision}" data-path="${pathAtRevision}" data-database="${databasePath({ databaseName, revision: 'latest' })}">
<p>Revision <strong>${revision}</strong></p>
<div class="steps">${earlier}<ol>${ticks}</ol>${later}</div>
</nav>`;
}

/** The first, the last, and some between them. */
function ticksBetween(first: number, last: number): readonly number[] {
  const even = Array.from({ length: STEPS + 1 }, (_, step) => first + Math.round(((last - first) * step) / STEPS));
  return [...new Set(even)];
}
