/**
 * Draws links to other revisions of the same page: the previous one, the next one, and some between the first and this
 * one. assets/time-machine.js adds a slider up to the latest revision. The page itself cannot contain that one, because
 * a page at a revision never changes.
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
  // It may not exist yet. Then the module removes the link, and without scripts the error page links back.
  const later = html`<a rel="next" href="${at(revision + 1)}">later</a>`;
  return html`<nav class="time-machine" aria-label="Revisions" data-first="${firstRevision}" data-revision="${revision}" data-path="${pathAtRevision}" data-database="${databasePath({ databaseName, revision: 'latest' })}">
<p>Revision <strong>${revision}</strong></p>
<div class="steps">${earlier}<ol>${ticks}</ol>${later}</div>
</nav>`;
}

/** The first revision, the last, and evenly spaced ones between them. */
function ticksBetween(first: number, last: number): readonly number[] {
  const even = Array.from({ length: STEPS + 1 }, (_, step) => first + Math.round(((last - first) * step) / STEPS));
  return [...new Set(even)];
}
