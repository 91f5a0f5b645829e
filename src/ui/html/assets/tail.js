/**
 * Shows events as they come: asks for the latest revision every second, and for the events after what was shown when
 * there is another. It pauses while the user has paused it or the page is hidden, and holds a bounded number of rows.
 */
import { partsOf } from './json-text.js';

const ASK_MS = 1000;
/** After a failure. */
const ASK_AGAIN_MS = 5000;
const ROWS_MAX = 200;
/** Maximum number of events in one reply: the newest ones. */
const EVENTS_MAX = 100;
const CHARACTERS_MAX = 120;
const COLUMNS = ['revision', 'type', 'subject', 'data', 'recordedtime'];

for (const section of document.querySelectorAll('section.tail')) {
  if (section instanceof HTMLElement) arm(section);
}

/** @param {HTMLElement} section */
function arm(section) {
  const button = section.querySelector('button');
  const output = section.querySelector('output');
  if (button === null || output === null) return;
  const { latest = '', events = '', revision = '0' } = section.dataset;
  const tail = { latest, events, seen: Number(revision), databaseId: '', isOn: false, isBusy: false, shown: 0 };
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let timer;
  const rows = tableIn(section);

  const step = async () => {
    if (!tail.isOn || tail.isBusy || document.hidden) return;
    tail.isBusy = true;
    const { said, waitMs } = await advance(tail, rows).catch((failure) => ({
      said: `No answer (${String(failure)}); asking again.`,
      waitMs: ASK_AGAIN_MS,
    }));
    tail.isBusy = false;
    if (!tail.isOn) return;
    if (output.textContent !== said) output.textContent = said;
    if (waitMs === undefined) turn(false);
    else timer = setTimeout(() => void step(), waitMs);
  };
  /** @param {boolean} isOn */
  const turn = (isOn) => {
    tail.isOn = isOn;
    button.textContent = isOn ? 'pause' : 'follow';
    clearTimeout(timer);
    if (isOn) void step();
  };
  button.addEventListener('click', () => {
    turn(!tail.isOn);
    output.textContent = tail.isOn ? 'Waiting for events …' : `Paused at revision ${tail.seen}.`;
  });
  document.addEventListener('visibilitychange', () => {
    clearTimeout(timer);
    void step();
  });
  section.hidden = false;
}

/** Members of an event as the texts that were sent. @typedef {ReadonlyMap<string, string>} SentEvent */
/** @typedef {{ readonly events: readonly SentEvent[], readonly hasMore: boolean }} Page */
/** @typedef {{ readonly latest: string, readonly events: string, seen: number, databaseId: string, shown: number }} Tail */

/**
 * Without `waitMs` it ends.
 * @param {Tail} tail
 * @param {HTMLTableSectionElement} rows
 * @returns {Promise<{ readonly said: string, readonly waitMs?: number }>}
 */
async function advance(tail, rows) {
  const accept = { headers: { accept: 'application/json' } };
  const { status, ok, headers } = await fetch(tail.latest, { ...accept, method: 'HEAD' });
  if (status === 404) return { said: 'The database was deleted.' };
  // Every further request would fail in the same way.
  if (status === 401) return { said: 'Your session has ended; reload the page to sign in again.' };
  if (!ok) throw new Error(`status ${status}`);
  const databaseId = headers.get('x-database-id') ?? '';
  if (tail.databaseId !== '' && tail.databaseId !== databaseId)
    return { said: 'The database was deleted and created again.' };
  tail.databaseId = databaseId;
  const latest = Number(headers.get('x-revision'));
  if (latest > tail.seen) {
    const range = new URLSearchParams({
      start: String(tail.seen + 1),
      direction: 'reverse',
      limit: String(EVENTS_MAX),
    });
    const path = tail.events.replace('{revision}', String(latest));
    const answer = await fetch(`${path}${path.includes('?') ? '&' : '?'}${range}`, accept);
    if (!answer.ok) throw new Error(`status ${answer.status}`);
    const page = pageOf(await answer.text());
    show(rows, page, { path, since: tail.seen });
    tail.seen = latest;
    tail.shown += page.events.length;
  }
  return { said: `Following; ${tail.shown} events came, the latest revision is ${tail.seen}.`, waitMs: ASK_MS };
}

/**
 * @param {string} text
 * @returns {Page}
 */
function pageOf(text) {
  const members = new Map(partsOf(text));
  const events = members.get('events');
  if (events?.startsWith('[') !== true) throw new Error('it is no list of events');
  return {
    events: partsOf(events).map(([, event]) => new Map(partsOf(event))),
    hasMore: members.get('has_more') === 'true',
  };
}

/**
 * The newest event is first, in the reply and in the table.
 * @param {HTMLTableSectionElement} rows
 * @param {Page} page
 * @param {{ readonly path: string, readonly since: number }} where
 */
function show(rows, { events, hasMore }, { path, since }) {
  const base = path.split('?', 1)[0];
  const fresh = events.map((event) => {
    const row = document.createElement('tr');
    for (const column of COLUMNS) row.append(cellOf(event, column, base ?? ''));
    return row;
  });
  if (hasMore) fresh.push(gapRow(`${path}${path.includes('?') ? '&' : '?'}start=${since + 1}`));
  rows.prepend(...fresh);
  while (rows.rows.length > ROWS_MAX) rows.deleteRow(-1);
  rows.closest('div')?.removeAttribute('hidden');
}

/**
 * @param {SentEvent} event
 * @param {string} column
 * @param {string} base
 */
function cellOf(event, column, base) {
  const cell = document.createElement('td');
  const value = event.get(column) ?? '';
  const text = value.startsWith('"') ? String(JSON.parse(value)) : value;
  const shown = text.slice(0, CHARACTERS_MAX).toWellFormed();
  if (column !== 'revision') cell.textContent = shown;
  else {
    const link = document.createElement('a');
    link.href = `${base}/${shown}?index=${event.get('index')}`;
    link.textContent = shown;
    cell.append(link);
  }
  return cell;
}

/** @param {string} path */
function gapRow(path) {
  const row = document.createElement('tr');
  const cell = row.insertCell();
  cell.colSpan = COLUMNS.length;
  const link = document.createElement('a');
  link.href = path;
  link.textContent = 'more events came meanwhile';
  cell.append(link);
  return row;
}

/** @param {HTMLElement} section */
function tableIn(section) {
  const scrolling = document.createElement('div');
  scrolling.className = 'scrolling';
  scrolling.tabIndex = 0;
  scrolling.setAttribute('role', 'region');
  scrolling.setAttribute('aria-label', 'New events, the newest first');
  scrolling.hidden = true;
  const table = document.createElement('table');
  const head = table.createTHead().insertRow();
  for (const column of COLUMNS) {
    const cell = document.createElement('th');
    cell.scope = 'col';
    cell.textContent = column;
    head.append(cell);
  }
  scrolling.append(table);
  section.append(scrolling);
  return table.createTBody();
}
