/**
 * In which form a read is answered, by its `Accept` header: JSON, or another rendering that is asked for more. Each
 * rendering is one line of the table; routes know none of them.
 */
import {
  HTML_PAGE_BYTES_MAX,
  HTML_PAGE_SIZE_DEFAULT,
  HTML_PAGE_SIZE_MAX,
  PAGE_BYTES_MAX,
  PAGE_SIZE_DEFAULT,
  PAGE_SIZE_MAX,
  TOON_PAGE_BYTES_MAX,
  TOON_PAGE_SIZE_DEFAULT,
  TOON_PAGE_SIZE_MAX,
} from '../limits.ts';
import { negotiate } from '../negotiation.ts';
import type { Description } from './description.ts';
import { ASSETS_TAG } from './html/assets.ts';
import { PAGE_HEADERS, renderHtml, renderHtmlNow } from './html/page.ts';
import type { ReplyBody } from './reply-body.ts';
import { renderToon, renderToonNow } from './toon.ts';
import type { InTurn } from './toon-table.ts';

/** How long the lists of a rendering are. */
export interface ListSizes {
  /** Events or names of a page when the request names no limit. */
  readonly itemsDefault: number;
  /** And at most, whatever limit it names. */
  readonly itemsMax: number;
  /** Bytes of the stored events of a page. */
  readonly bytesMax: number;
}

const JSON_SIZES: ListSizes = {
  itemsDefault: PAGE_SIZE_DEFAULT,
  itemsMax: PAGE_SIZE_MAX,
  bytesMax: PAGE_BYTES_MAX,
};

export interface Rendering {
  /** Tells its tags from those of the others; the number is raised when it shows the same data in another way. */
  readonly name: string;
  readonly contentType: string;
  /** Of the lists that it shows. */
  readonly sizes: ListSizes;
  /** In pieces, each when it is its turn. */
  readonly render: (body: ReplyBody, description: Description, inTurn: InTurn) => Promise<string>;
  /** Whether its readers send forms, of which they do not fill in every field. */
  readonly hasForms: boolean;
  /** What its answers say of themselves besides. */
  readonly headers: Readonly<Record<string, string>>;
  /** At once, for an error. */
  readonly renderNow: (body: ReplyBody, description: Description) => string;
}

/** The one of which the pages are that have forms. */
export const HTML_RENDERING: Rendering = {
  name: `html/3-${ASSETS_TAG}`,
  contentType: 'text/html; charset=utf-8',
  sizes: { itemsDefault: HTML_PAGE_SIZE_DEFAULT, itemsMax: HTML_PAGE_SIZE_MAX, bytesMax: HTML_PAGE_BYTES_MAX },
  hasForms: true,
  headers: PAGE_HEADERS,
  render: renderHtml,
  renderNow: renderHtmlNow,
};

/** Those beside JSON, the preferred one first where they are equally welcome. */
const RENDERINGS: readonly Rendering[] = [
  {
    name: 'toon/3',
    contentType: 'text/plain; charset=utf-8',
    sizes: { itemsDefault: TOON_PAGE_SIZE_DEFAULT, itemsMax: TOON_PAGE_SIZE_MAX, bytesMax: TOON_PAGE_BYTES_MAX },
    hasForms: false,
    headers: {},
    render: renderToon,
    renderNow: renderToonNow,
  },
  HTML_RENDERING,
];

const OFFERS: readonly string[] = ['application/json; charset=utf-8', ...RENDERINGS.map((each) => each.contentType)];

/** Undefined: JSON, which is also what answers whoever accepts nothing of ours (SPEC-HTTP-ACCEPT). */
export function renderingFor(accept: string | undefined): Rendering | undefined {
  // Most clients say nothing, "*/*" or "application/json".
  if (accept === undefined || !/text/i.test(accept)) return undefined;
  const offer = negotiate(accept, OFFERS) ?? 0;
  return RENDERINGS[offer - 1];
}

/** Of the lists of an answer. */
export function listSizes(rendering: Rendering | undefined): ListSizes {
  return rendering?.sizes ?? JSON_SIZES;
}
