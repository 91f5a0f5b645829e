/**
 * What can be done, each folded until somebody wants it: a form that reads works as it is; what changes something is
 * sent by a module of the page (assets/requests.ts), or by the command that stands beside it.
 */
import type { Action, Parts } from '../description.ts';
import { words } from './data.ts';
import { html, type Markup, NOTHING } from './markup.ts';

export function actionsMarkup(actions: readonly Action[]): Markup {
  if (actions.length === 0) return NOTHING;
  return html`<section class="actions" aria-labelledby="actions"><h2 id="actions">What can be done</h2>${actions.map(actionMarkup)}</section>`;
}

function actionMarkup(action: Action): Markup {
  const { name, does } = action;
  return html`<details class="action"><summary><span class="name">${words(name)}</span> <span class="does">${does}</span></summary>${formOf(action)}</details>`;
}

function formOf(action: Action): Markup {
  const { name, method, path, query = {}, trial } = action;
  const asked = fields(name, Object.fromEntries(Object.entries(query).filter(([each]) => each !== trial)));
  if (method === 'GET') {
    return html`<form method="get" action="${path}">${asked}<button>${words(name)}</button></form>`;
  }
  return html`<form class="request" method="post" action="${path}" data-method="${method}" data-type="${typeOf(action)}">${asked}${bodyField(action)}${headerFields(action)}${trialButton(trial)}<button disabled>${words(name)}</button><output></output></form>
<pre class="command" tabindex="0">${commandOf(action)}</pre>`;
}

/** Stands first, so that it is what the return key does. */
function trialButton(trial: string | undefined): Markup {
  if (trial === undefined) return NOTHING;
  return html`<button class="trial" name="${trial}" value="true" disabled>${words(trial)}</button>`;
}

function typeOf({ body, contentType }: Action): string {
  if (body === undefined) return '';
  return contentType ?? 'application/json';
}

function fields(action: string, parts: Parts, attribute = ''): readonly Markup[] {
  return Object.entries(parts).map(([name, what]) => {
    const id = `${action}-${attribute}${name}`;
    return html`<p class="field"><label for="${id}">${words(name)}</label><input id="${id}" name="${attribute}${name}" aria-describedby="${id}-what" autocomplete="off"><small id="${id}-what">${what}</small></p>`;
  });
}

function headerFields({ name, headers = {} }: Action): readonly Markup[] {
  return fields(name, headers, 'header:');
}

function bodyField({ name, body, contentType }: Action): Markup {
  if (body === undefined) return NOTHING;
  const id = `${name}-body`;
  if (contentType !== undefined && typeof body !== 'string')
    return html`${Object.entries(body).map((part) => partField(name, part))}`;
  const parts = typeof body === 'string' ? [['', body] as const] : Object.entries(body);
  const terms = parts.map(
    ([part, what]) => html`<li>${part === '' ? NOTHING : html`<code>${part}</code>: `}${what}</li>`,
  );
  const start = typeof body === 'string' ? '{}' : skeleton(body);
  return html`<p class="field"><label for="${id}">body, in JSON</label><textarea id="${id}" name="body" rows="8" spellcheck="false" aria-describedby="${id}-what">${start}</textarea></p><ul class="parts" id="${id}-what">${terms}</ul>`;
}

/** Of a body in parts: bytes are a file, everything else is text. */
function partField(action: string, [name, what]: readonly [string, string]): Markup {
  const id = `${action}-${name}`;
  const input =
    name === 'wasm'
      ? html`<input type="file" id="${id}" name="part:${name}" aria-describedby="${id}-what">`
      : html`<textarea id="${id}" name="part:${name}" rows="6" spellcheck="false" aria-describedby="${id}-what">{}</textarea>`;
  return html`<p class="field"><label for="${id}">${words(name)}</label>${input}<small id="${id}-what">${what}</small></p>`;
}

/** The members that are not optional, to be filled in. */
function skeleton(body: Parts): string {
  const needed = Object.entries(body).filter(([, what]) => !what.startsWith('optional'));
  return JSON.stringify(
    Object.fromEntries(needed.map(([name, what]) => [name, what.startsWith('list') ? [] : ''])),
    undefined,
    2,
  );
}

function commandOf({ method, path, body, contentType }: Action): string {
  const start = `curl -X ${method} 'http://<node>${path}'`;
  if (body === undefined) return start;
  if (contentType !== undefined && typeof body !== 'string') {
    const parts = Object.keys(body).map(
      (name) => ` -F ${name}=@${name === 'wasm' ? 'component.wasm' : `${name}.json`}`,
    );
    return `${start}${parts.join('')}`;
  }
  return `${start} -H 'content-type: application/json' -d @body.json`;
}
