/**
 * Draws the actions of a page as forms, each folded. They work without scripts (ADR 0141). With scripts,
 * assets/requests.js sends a form that writes, and the page stays. An action that a form cannot send, such as DELETE,
 * needs the script or the `curl` command beside it.
 */
import type { Action, Description, Form, FormField } from '../description.ts';
import { words } from './data.ts';
import { html, type Markup, NOTHING } from './markup.ts';

export function actionsMarkup({ actions, rows }: Pick<Description, 'actions' | 'rows'>): Markup {
  const below = rows === undefined ? actions : actions.filter(({ narrows }) => narrows !== true);
  if (below.length === 0) return NOTHING;
  return html`<section class="actions" aria-labelledby="actions"><h2 id="actions">What can be done</h2>${below.map(actionMarkup)}</section>`;
}

/** Actions that narrow a list. They are above it, so that a reader of a long list finds them. */
export function narrowingMarkup({ actions, rows }: Pick<Description, 'actions' | 'rows'>): Markup {
  if (rows === undefined) return NOTHING;
  return html`${actions.filter(({ narrows }) => narrows === true).map(actionMarkup)}`;
}

function actionMarkup(action: Action): Markup {
  const { name, does, filled } = action;
  const inside = html`<summary><span class="name">${words(name)}</span> <span class="does">${does}</span></summary>${formOf(action)}`;
  return filled?.isTyped === true
    ? html`<details class="action" open>${inside}</details>`
    : html`<details class="action">${inside}</details>`;
}

function formOf(action: Action): Markup {
  const { name, method, path, query = {}, form } = action;
  if (method === 'GET') {
    const asked = Object.entries(query).map((each) => queryField(name, each));
    return html`<form method="get" action="${path}">${asked}<button>${words(name)}</button></form>`;
  }
  const command = html`<pre class="command" tabindex="0">${commandOf(action)}</pre>`;
  return html`${form === undefined ? scriptedForm(action) : writingForm(action, form)}
${command}`;
}

/** Forms have no methods but GET and POST. */
function scriptedForm({ name, method, path }: Action): Markup {
  return html`<form class="request" method="post" action="${path}" data-method="${method}"><button disabled>${words(name)}</button><p class="scripted">This button needs scripts: forms have no method ${method}. The command below does without.</p><output></output></form>`;
}

function writingForm(action: Action, form: Form): Markup {
  const { name, method, path, trial, contentType } = action;
  const fields = Object.entries(form.fields).map((field) => writtenField(action, field));
  const button = html`<button>${words(name)}</button><output></output>`;
  const inside = html`${fields}${trialButton(path, trial)}${button}`;
  return contentType === undefined
    ? html`<form class="request" method="post" action="${path}" data-method="${method}" data-once="${form.once}">${inside}</form>`
    : html`<form class="request" method="post" action="${path}" data-method="${method}" enctype="${contentType}">${inside}</form>`;
}

/** The first button of the form: the return key presses it. */
function trialButton(path: string, trial: string | undefined): Markup {
  if (trial === undefined) return NOTHING;
  return html`<button class="trial" formaction="${path}?${trial}=true">${words(trial)}</button>`;
}

function queryField(action: string, [name, what]: readonly [string, string]): Markup {
  const id = `${action}-${name}`;
  return html`<p class="field"><label for="${id}">${words(name)}</label><input id="${id}" name="${name}" aria-describedby="${id}-what" autocomplete="off"><small id="${id}-what">${what}</small></p>`;
}

function writtenField(action: Action, [name, field]: readonly [string, FormField]): Markup {
  const id = `${action.name}-${name}`;
  const fault = action.filled?.faults?.[name];
  const label = field.becomes === 'json' || field.becomes === 'body' ? `${words(name)}, in JSON` : words(name);
  const said =
    fault === undefined ? NOTHING : html`<strong class="fault" id="${id}-fault">${words(name)} ${fault}</strong>`;
  return html`<p class="field"><label for="${id}">${label}</label>${said}${control(action, name, field)}<small id="${id}-what">${whatIs(action, name)}</small></p>`;
}

function control({ name: action, filled }: Action, name: string, { becomes, start = '' }: FormField): Markup {
  const id = `${action}-${name}`;
  const isInvalid = filled?.faults?.[name] !== undefined;
  const value = filled?.values[name] ?? (filled?.isTyped === true ? '' : start);
  const said = html`aria-describedby="${isInvalid ? `${id}-fault ` : ''}${id}-what" aria-invalid="${String(isInvalid)}"`;
  if (becomes === 'file') return html`<input type="file" id="${id}" name="${name}" ${said}>`;
  if (becomes === 'text' || becomes === 'header') {
    return html`<input id="${id}" name="${name}" value="${value}" data-becomes="${becomes}" ${said} autocomplete="off" spellcheck="false">`;
  }
  // HTML parsers drop one line break after the tag.
  return html`<textarea id="${id}" name="${name}" rows="8" data-becomes="${becomes}" ${said} autocomplete="off" spellcheck="false">
${value}</textarea>`;
}

function whatIs({ body, headers }: Action, name: string): string | undefined {
  if (typeof body === 'string' && name === 'body') return body;
  return (typeof body === 'string' ? undefined : body?.[name]) ?? headers?.[name];
}

function commandOf({ method, path, body, contentType }: Action): string {
  // A quote would end the argument in a shell; a server decodes it to the same path.
  const quotable = path.replaceAll("'", '%27');
  const start = `curl -X ${method} 'http://<node>${quotable}'`;
  if (body === undefined) return start;
  if (contentType !== undefined && typeof body !== 'string') {
    const files = Object.keys(body).map(
      (name) => ` -F ${name}=@${name === 'wasm' ? 'component.wasm' : `${name}.json`}`,
    );
    return `${start}${files.join('')}`;
  }
  return `${start} -H 'content-type: application/json' -d @body.json`;
}
