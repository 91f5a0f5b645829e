/**
 * HTML as a value. Whatever is put into a template is escaped unless it is markup itself, so that no text of anybody's
 * can become an element, an attribute or the end of one.
 *
 * Holes stand in text or in quoted values of attributes, which share one escape. None stands in a script, a style, a
 * comment, the name of an element or of an attribute: there are no such escapes here.
 */

export class Markup {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/** Undefined is nothing; a list is its elements, one behind the other. */
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
  // What is no UTF-16 has no UTF-8: it is shown as the character that stands for what cannot be shown.
  const whole = text.isWellFormed() ? text : text.toWellFormed();
  if (!SPECIAL.test(whole)) return whole;
  return whole
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
    .replaceAll("'", '&#39;');
}
