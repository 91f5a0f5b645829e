/** Writes what is filled in as a query, and goes to the events that it finds. */

const ROWS = ['1', '2', '3', '4', '5'];

for (const form of document.querySelectorAll('form.builder')) {
  if (form instanceof HTMLFormElement) arm(form);
}

/** @param {HTMLFormElement} form */
function arm(form) {
  const button = form.querySelector('button');
  if (button !== null) button.disabled = false;
  form.addEventListener('submit', (submitted) => {
    submitted.preventDefault();
    location.assign(`${form.getAttribute('action')}?q=${encoded(queryOf(new FormData(form)))}`);
  });
}

/** @param {FormData} data */
function queryOf(data) {
  const terms = ROWS.flatMap((row) =>
    termOf(text(data, `attribute${row}`), text(data, `operator${row}`), text(data, `value${row}`)),
  );
  const [start, end, from, until, limit] = ['start', 'end', 'from', 'until', 'limit'].map((name) => text(data, name));
  const revision = { ...(start !== '' && { startAt: start }), ...(end !== '' && { endAt: end }) };
  // A cut is needed: that of now, where none is given.
  const cut = until === '' ? { endAtNow: true } : { endAt: until };
  const isTimed = from !== '' || until !== '';
  const effectiveTime = { ...(from !== '' && { startAt: from }), ...cut };
  return {
    ...(terms.length > 0 && { selector: terms.length === 1 ? terms[0] : { [text(data, 'join')]: terms } }),
    range: { revision, ...(isTimed && { effectiveTime }) },
    direction: text(data, 'direction'),
    ...(limit !== '' && { limit }),
  };
}

/**
 * @param {string} attribute
 * @param {string} operator
 * @param {string} value
 */
function termOf(attribute, operator, value) {
  if (value === '') return [];
  const isSubject = attribute === 'subject' && operator === 'equals';
  return [{ [operator]: { [attribute]: isSubject ? { hasValue: true, value } : value } }];
}

/**
 * @param {FormData} data
 * @param {string} name
 */
function text(data, name) {
  const value = data.get(name);
  return typeof value === 'string' ? value.trim() : '';
}

/**
 * JSON in URL-safe base64 without padding.
 * @param {object} query
 */
function encoded(query) {
  const bytes = new TextEncoder().encode(JSON.stringify(query));
  const binary = [...bytes].map((byte) => String.fromCodePoint(byte)).join('');
  return btoa(binary).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
}
