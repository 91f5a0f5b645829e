/**
 * Chooses the rendering of a read by its `Accept` header: JSON, or one that the client prefers. Each rendering is one
 * entry of the table; routes know none of them.
 */
import { ASSETS_TAG, PAGE_HEADERS, renderHtml, renderHtmlNow, renderToon, renderToonNow } from '#ui';
import { HTML_SIZES, type ListSizes, TOON_SIZES } from './limits.ts';
import { negotiate } from './negotiation.ts';
import { HTML_CONTENT_TYPE } from './reply.ts';

export interface Rendering {
  /** Part of its ETags. The number is raised when it shows the same data in another way. */
  readonly name: string;
  readonly contentType: string;
  readonly sizes: ListSizes;
  /** Renders in pieces, one per turn of the event loop. */
  readonly render: typeof renderToon;
  /** True when its pages have forms; browsers send the empty fields of a form, too. */
  readonly hasForms: boolean;
  readonly headers: Readonly<Record<string, string>>;
  /** Renders an error, in one piece. */
  readonly renderNow: typeof renderToonNow;
}

export const HTML_RENDERING: Rendering = {
  name: `html/3-${ASSETS_TAG}`,
  contentType: HTML_CONTENT_TYPE,
  sizes: HTML_SIZES,
  hasForms: true,
  headers: PAGE_HEADERS,
  render: renderHtml,
  renderNow: renderHtmlNow,
};

/** Renderings other than JSON. The first wins when the client prefers none. */
const RENDERINGS: readonly Rendering[] = [
  {
    name: 'toon/3',
    contentType: 'text/plain; charset=utf-8',
    sizes: TOON_SIZES,
    hasForms: false,
    headers: {},
    render: renderToon,
    renderNow: renderToonNow,
  },
  HTML_RENDERING,
];

const OFFERS: readonly string[] = ['application/json; charset=utf-8', ...RENDERINGS.map((each) => each.contentType)];

/** Undefined: JSON, also when the client accepts none of our content types (SPEC-HTTP-ACCEPT). */
export function renderingFor(accept: string | undefined): Rendering | undefined {
  // Most clients send no header, "*/*" or "application/json".
  if (accept === undefined || !/text/i.test(accept)) return undefined;
  const offer = negotiate(accept, OFFERS) ?? 0;
  return RENDERINGS[offer - 1];
}
