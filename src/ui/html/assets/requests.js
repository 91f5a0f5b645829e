/**
 * Sends the forms that change something as requests of the API: JSON or parts in the body, and headers. The page stays
 * open and shows the reply. Empty fields are not sent.
 */
import { laidOut } from './json-text.js';

/** @typedef {readonly (readonly [name: string, value: FormDataEntryValue])[]} Fields */

for (const form of document.querySelectorAll('form')) {
  if (form.classList.contains('request')) arm(form);
  else dropEmptyFields(form);
}

/** @param {HTMLFormElement} form */
function arm(form) {
  const buttons = [...form.querySelectorAll('button')];
  const output = form.querySelector('output');
  if (output === null) return;
  for (const button of buttons) button.disabled = false;
  form.querySelector('.scripted')?.remove();
  form.addEventListener('submit', (submitted) => {
    submitted.preventDefault();
    const { submitter } = submitted;
    const isDeletion = form.dataset['method'] === 'DELETE';
    if (isDeletion && !confirm(`${submitter?.textContent}: this cannot be undone. Go on?`)) return;
    // Read before the buttons are disabled: one that is says nothing.
    const fields = filledFields(form, submitter);
    for (const button of buttons) button.disabled = true;
    const path = submitter?.getAttribute('formaction') ?? form.getAttribute('action') ?? '';
    void send(form, { path, fields, output }).finally(() => {
      for (const button of buttons) button.disabled = false;
    });
  });
}

/**
 * @param {HTMLFormElement} form
 * @param {{ readonly path: string, readonly fields: Fields, readonly output: HTMLOutputElement }} what
 */
async function send(form, { path, fields, output }) {
  output.textContent = 'Sending …';
  forgetFaults(form);
  try {
    if (fields.some((field) => isBroken(form, field))) {
      output.textContent = await showFaults(form, path, fields);
      return;
    }
    const request = { method: form.dataset['method'] ?? 'POST', ...contentOf(form, fields) };
    const response = await fetch(path, request);
    const text = await response.text();
    const answer = parsed(text);
    if (objectOf(answer)['transaction'] !== undefined) beginNext(form);
    output.replaceChildren(
      `${response.status} ${response.statusText} `,
      told(answer),
      response.status === 401 ? '; reload the page to sign in again. ' : ' ',
      ...linksOf(response, answer),
    );
    if (text !== '') {
      const whole = document.createElement('pre');
      whole.tabIndex = 0;
      whole.textContent = answer === undefined ? text : laidOut(text);
      output.append(whole);
    }
  } catch (failure) {
    output.textContent = `The request was not sent, or not answered: ${String(failure)}`;
  }
}

/**
 * Whether it should be JSON and is not: then it would be judged together with what is put around it here.
 * @param {HTMLFormElement} form
 * @param {Fields[number]} field
 */
function isBroken(form, [name, value]) {
  // A part is sent as it is.
  if (form.enctype === 'multipart/form-data' || typeof value !== 'string') return false;
  if (fieldIn(form, name)?.dataset['becomes'] !== 'json') return false;
  return parsed(value) === undefined;
}

/**
 * In the words of the page that the form is answered without scripts, which refuses it, and at the same fields.
 * @param {HTMLFormElement} form
 * @param {string} path
 * @param {Fields} fields
 */
async function showFaults(form, path, fields) {
  const body = new URLSearchParams();
  for (const [name, value] of fields) if (typeof value === 'string') body.append(name, value);
  const response = await fetch(path, { method: 'POST', headers: { accept: 'text/html' }, body });
  const page = new DOMParser().parseFromString(await response.text(), 'text/html');
  for (const fault of page.querySelectorAll('.fault')) {
    const field = document.getElementById(fault.id.replace(/-fault$/, ''));
    if (field === null || !form.contains(field)) continue;
    field.before(document.adoptNode(fault));
    field.setAttribute('aria-invalid', 'true');
    field.setAttribute('aria-describedby', `${fault.id} ${field.id}-what`);
  }
  const first = form.querySelector('[aria-invalid="true"]');
  if (first instanceof HTMLElement) first.focus();
  return `${response.status} ${response.statusText} ${page.querySelector('.summary')?.textContent ?? ''}`;
}

/** @param {HTMLFormElement} form */
function forgetFaults(form) {
  for (const fault of form.querySelectorAll('.fault')) fault.remove();
  for (const field of form.querySelectorAll('[aria-invalid="true"]')) {
    field.setAttribute('aria-invalid', 'false');
    field.setAttribute('aria-describedby', `${field.id}-what`);
  }
}

/**
 * Returns the outcome in a sentence.
 * @param {unknown} answer
 */
function told(answer) {
  const { error, dry_run: isTrial, events, transaction } = objectOf(answer);
  if (error !== undefined) return String(objectOf(error)['message']);
  if (isTrial === true && Array.isArray(events))
    return `${eventCount(events.length)} would be committed; nothing has been.`;
  const { revision, event_count: count, replayed } = objectOf(transaction);
  if (typeof revision !== 'number' || typeof count !== 'number') return '';
  return `${eventCount(count)} ${replayed === true ? 'committed before' : 'committed'}, as revision ${revision}.`;
}

/** @param {number} count */
function eventCount(count) {
  return count === 1 ? '1 event' : `${count} events`;
}

/**
 * Where to look at it.
 * @param {Response} response
 * @param {unknown} answer
 */
function linksOf({ headers }, answer) {
  const location = headers.get('location');
  const links = location === null ? [] : [linkTo(location, 'look at it')];
  const { database, revision } = objectOf(objectOf(answer)['transaction']);
  if (typeof database === 'string' && typeof revision === 'number' && revision > 0) {
    links.push(linkTo(`/db/${database}/${revision}?since=${revision - 1}`, 'what has changed'));
  }
  return links;
}

/**
 * @param {string} path
 * @param {string} text
 */
function linkTo(path, text) {
  const link = document.createElement('a');
  link.href = path;
  link.textContent = text;
  return link;
}

/**
 * Its members; none of what is no object.
 * @param {unknown} value
 * @returns {Readonly<Record<string, unknown>>}
 */
function objectOf(value) {
  return typeof value === 'object' && value !== null ? { ...value } : {};
}

/**
 * @param {string} text
 * @returns {unknown}
 */
function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/**
 * The form was committed: the next one is another transaction, with another id.
 * @param {HTMLFormElement} form
 */
function beginNext(form) {
  const field = fieldIn(form, form.dataset['once'] ?? '');
  if (field === undefined || field.value === '') return;
  // A UUID of version 4; browsers make one by themselves in what they take for secure alone.
  const bytes = [...crypto.getRandomValues(new Uint8Array(16))];
  bytes[6] = 0x40 | (Number(bytes[6]) & 0x0f);
  bytes[8] = 0x80 | (Number(bytes[8]) & 0x3f);
  const digits = bytes.map((byte) => byte.toString(16).padStart(2, '0')).join('');
  field.value = digits.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
}

/**
 * @param {HTMLFormElement} form
 * @param {string} name
 */
function fieldIn(form, name) {
  const field = form.elements.namedItem(name);
  return field instanceof HTMLInputElement || field instanceof HTMLTextAreaElement ? field : undefined;
}

/**
 * @param {HTMLFormElement} form
 * @param {Fields} fields
 * @returns {RequestInit}
 */
function contentOf(form, fields) {
  const headers = new Headers({ accept: 'application/json' });
  if (form.enctype === 'multipart/form-data') return { headers, body: partsOf(fields) };
  /** @type {string[]} */
  const members = [];
  /** @type {string | undefined} */
  let body;
  for (const [name, value] of fields) {
    if (typeof value !== 'string') continue;
    const becomes = fieldIn(form, name)?.dataset['becomes'];
    if (becomes === 'header') headers.set(name, value);
    else if (becomes === 'body') body = value;
    // JSON stays as it was written.
    else members.push(`${JSON.stringify(name)}:${becomes === 'json' ? value : JSON.stringify(value)}`);
  }
  const isObject = form.querySelector('[data-becomes="text"], [data-becomes="json"]') !== null;
  if (isObject) body = `{${members.join()}}`;
  if (body === undefined) return { headers };
  headers.set('content-type', 'application/json');
  return { headers, body };
}

/**
 * The browser writes the boundary between them into the header.
 * @param {Fields} fields
 */
function partsOf(fields) {
  const parts = new FormData();
  for (const [name, value] of fields) parts.set(name, value);
  return parts;
}

/**
 * @param {HTMLFormElement} form
 * @param {HTMLElement | null} submitter
 * @returns {Fields}
 */
function filledFields(form, submitter) {
  return [...new FormData(form, submitter)].filter(([, value]) => value instanceof File || value !== '');
}

/**
 * A form that reads names what is filled in, and nothing else.
 * @param {HTMLFormElement} form
 */
function dropEmptyFields(form) {
  form.addEventListener('formdata', ({ formData }) => {
    const empty = [...formData].filter(([, value]) => value === '').map(([name]) => name);
    for (const name of empty) formData.delete(name);
  });
}
