/**
 * Sends the requests of forms that change something, as the API takes them: JSON or parts in the body, headers, a query.
 * What is empty is not sent.
 */

/** @typedef {readonly (readonly [name: string, value: FormDataEntryValue])[]} Fields */

const HEADER = 'header:';
const PART = 'part:';

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
  form.addEventListener('submit', (submitted) => {
    submitted.preventDefault();
    const { submitter } = submitted;
    const isDeletion = form.dataset['method'] === 'DELETE';
    if (isDeletion && !confirm(`${submitter?.textContent}: this cannot be undone. Go on?`)) return;
    // Read before the buttons are disabled: one that is says nothing.
    const fields = filledFields(form, submitter);
    for (const button of buttons) button.disabled = true;
    void send(form, fields, output).finally(() => {
      for (const button of buttons) button.disabled = false;
    });
  });
}

/**
 * @param {HTMLFormElement} form
 * @param {Fields} fields
 * @param {HTMLOutputElement} output
 */
async function send(form, fields, output) {
  output.textContent = 'Sending …';
  try {
    const request = { method: form.dataset['method'] ?? 'POST', ...contentOf(form, fields) };
    const response = await fetch(urlOf(form, fields), request);
    const text = await response.text();
    const answer = parsed(text);
    output.replaceChildren(
      `${response.status} ${response.statusText} `,
      told(answer),
      response.status === 401 ? '; reload the page to sign in again. ' : ' ',
      ...linksOf(response, answer),
    );
    if (text !== '') {
      const whole = document.createElement('pre');
      whole.tabIndex = 0;
      whole.textContent = answer === undefined ? text : JSON.stringify(answer, undefined, 2);
      output.append(whole);
    }
  } catch (failure) {
    output.textContent = `The request was not sent, or not answered: ${String(failure)}`;
  }
}

/**
 * What came of it, in a sentence.
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
 * @param {HTMLFormElement} form
 * @param {Fields} fields
 */
function urlOf(form, fields) {
  const url = new URL(form.getAttribute('action') ?? '', location.href);
  for (const [name, value] of fields) {
    const isQuery = name !== 'body' && !name.startsWith(HEADER) && !name.startsWith(PART);
    if (isQuery && typeof value === 'string') url.searchParams.set(name, value);
  }
  return url;
}

/**
 * @param {HTMLFormElement} form
 * @param {Fields} fields
 * @returns {RequestInit}
 */
function contentOf(form, fields) {
  const headers = new Headers({ accept: 'application/json' });
  const parts = new FormData();
  /** @type {string | undefined} */
  let body;
  for (const [name, value] of fields) {
    if (name.startsWith(PART)) parts.set(name.slice(PART.length), value);
    else if (typeof value !== 'string') continue;
    else if (name === 'body') body = value;
    else if (name.startsWith(HEADER)) headers.set(name.slice(HEADER.length), value);
  }
  const type = form.dataset['type'] ?? '';
  // The browser writes the boundary between the parts into the header.
  if (type.startsWith('multipart/')) return { headers, body: parts };
  if (body === undefined) return { headers };
  headers.set('content-type', type);
  return { headers, body };
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
