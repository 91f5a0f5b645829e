/**
 * HTML as a value. A template escapes every value that is not markup, so no text of a client can become an element, an
 * attribute or the end of one.
 *
 * Values may be inserted in text and in quoted attributes, which share one escape. They must not be inserted in a
 * script, a style, a comment, or the name of an element or attribute: this module has no escapes for these.
 */

export class Markup {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/** A value in a template. Undefined is nothing; the elements of a list follow one another. */
export type Hole = Markup | string | number | undefined | readonly Hole[];

export function html(parts: TemplateStringsArray, ...holes: readonly Hole[]): Markup {
  let text = parts[0] ?? '';
  for (const [place, hole] of holes.entries()) text += filled(hole) + (parts[place + 1] ?? '');
  return new Markup(text);
}

export const NOTHING: Markup = new Markup('');

function filled(hole: Hole): string {
  if (hole instanceof Markup) return hole.text;
  if (hole === undefined) return '';
  if (typeof hole === 'number') return String(hole);
  if (typeof hole === 'string') return escaped(hole);
  return hole.map(filled).join('');
}

const SPECIAL = /[&<>"']/;

function escaped(text: string): string {
  // Malformed UTF-16 has no UTF-8: U+FFFD replaces it.
  const whole = text.isWellFormed() ? text : text.toWellFormed();
  if (!SPECIAL.test(whole)) return whole;
  return whole
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
    .replaceAll("'", '&#39;');
}
