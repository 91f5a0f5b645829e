/** Submits forms of pages like a browser without scripts, and reads the replies. */

import { unescaped } from './html-pages.ts';
import type { Answer, HttpClient } from './http-client.ts';

export const BROWSER: Readonly<Record<string, string>> = {
  accept: 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8',
};

/** Headers of a form on a page of the node itself. */
export const FROM_HERE: Readonly<Record<string, string>> = { ...BROWSER, 'sec-fetch-site': 'same-origin' };

export const FORM_TYPE = { 'content-type': 'application/x-www-form-urlencoded' };

export function sendForm(
  api: HttpClient,
  path: string,
  fields: Readonly<Record<string, string>> | string | Uint8Array,
  headers: Readonly<Record<string, string>> = FROM_HERE,
): Promise<Answer> {
  const isRaw = typeof fields === 'string' || fields instanceof Uint8Array;
  const body = isRaw ? fields : new URLSearchParams(fields).toString();
  return api.send(path, { method: 'POST', body, headers: { ...FORM_TYPE, ...headers } });
}

export interface ShownForm {
  readonly title: string;
  readonly summary: string;
  /** Values of its fields. */
  readonly values: Readonly<Record<string, string>>;
  /** Error messages of fields, with the beginning of the field's id. */
  readonly faults: readonly string[];
}

/** The form that a reply shows again. @throws Error when the reply is not a page. */
export function shownForm({ headers, text }: Answer): ShownForm {
  if (headers.get('content-type') !== 'text/html; charset=utf-8') throw new Error(`no page: ${text}`);
  const [, title = ''] = /<h1>([^<]*)<\/h1>/.exec(text) ?? [];
  const [, summary = ''] = /<p class="summary">([^<]*)<\/p>/.exec(text) ?? [];
  const [, open = ''] = /<details class="action" open>(.*?)<\/details>/s.exec(text) ?? [];
  const inputs = [...open.matchAll(/<input id="[^"]*" name="([^"]*)" value="([^"]*)"/g)];
  const areas = [...open.matchAll(/<textarea id="[^"]*" name="([^"]*)"[^>]*>\n([^<]*)<\/textarea>/g)];
  return {
    title,
    summary: unescaped(summary),
    values: Object.fromEntries([...inputs, ...areas].map(([, name = '', value = '']) => [name, unescaped(value)])),
    faults: [...open.matchAll(/<strong class="fault" id="[^"]*">([^<]*)<\/strong>/g)].map(([, fault = '']) =>
      unescaped(fault),
    ),
  };
}

/** Fields of the form with this name on a page that was not submitted yet. */
export function valuesOf({ text }: Answer, action: string): Readonly<Record<string, string>> {
  const inputs = [...text.matchAll(new RegExp(`<input id="${action}-[^"]*" name="([^"]*)" value="([^"]*)"`, 'g'))];
  return Object.fromEntries(inputs.map(([, name = '', value = '']) => [name, unescaped(value)]));
}
