/**
 * Adds a slider over all revisions of a database, above the links that work without scripts. With a pointer it opens the
 * revision when the pointer is released. With the keyboard it waits until no key has moved it for a moment, because
 * browsers report each key as a change. The page that it opens sets the focus on the slider again.
 */

/** After the last key, before the page is left. */
const REST_MS = 500;
/** The path of the page on which the slider is to have the focus. */
const FOCUS_MARK = 'cairn-slider';

for (const machine of document.querySelectorAll('nav.time-machine')) {
  if (machine instanceof HTMLElement) void addSlider(machine);
}

/** @param {HTMLElement} machine */
async function addSlider(machine) {
  const { first = '0', revision = '0', path = '', database = '' } = machine.dataset;
  const latest = await latestRevision(database);
  // The page is the same whatever comes after its revision, so it cannot know by itself that nothing has.
  if (latest === revision) machine.querySelector('a[rel="next"]')?.remove();
  if (latest === undefined || latest === first) return;
  const slider = document.createElement('input');
  slider.type = 'range';
  slider.min = first;
  slider.max = latest;
  slider.value = revision;
  slider.setAttribute('aria-label', `Revision, ${first} to ${latest}`);
  const shown = machine.querySelector('strong');
  slider.addEventListener('input', () => {
    if (shown !== null) shown.textContent = slider.value;
  });
  leadOn(slider, { revision, path });
  machine.querySelector('.steps')?.before(slider);
  // A user who has moved elsewhere meanwhile stays there.
  if (takeMark() === location.pathname + location.search && document.activeElement === document.body) slider.focus();
}

/**
 * @param {HTMLInputElement} slider
 * @param {{ readonly revision: string, readonly path: string }} here
 */
function leadOn(slider, { revision, path }) {
  let isByKey = false;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let timer;
  const go = () => {
    clearTimeout(timer);
    timer = undefined;
    if (slider.value === revision) return;
    const target = path.replace('{revision}', slider.value);
    if (isByKey) leaveMark(target);
    location.assign(target);
  };
  slider.addEventListener('pointerdown', () => {
    isByKey = false;
  });
  slider.addEventListener('keydown', ({ key }) => {
    isByKey = true;
    if (key === 'Enter') go();
  });
  slider.addEventListener('change', () => {
    clearTimeout(timer);
    if (isByKey) timer = setTimeout(go, REST_MS);
    else go();
  });
  slider.addEventListener('blur', () => {
    if (timer !== undefined) go();
  });
}

/** @param {string} target */
function leaveMark(target) {
  try {
    sessionStorage.setItem(FOCUS_MARK, target);
  } catch {
    // A browser may be set to store nothing; then the next page begins at its start.
  }
}

/** It counts once. */
function takeMark() {
  try {
    const mark = sessionStorage.getItem(FOCUS_MARK);
    sessionStorage.removeItem(FOCUS_MARK);
    return mark ?? undefined;
  } catch {
    return undefined;
  }
}

/**
 * Returns the latest revision; undefined when no node answers.
 * @param {string} path
 */
async function latestRevision(path) {
  try {
    const response = await fetch(path, { method: 'HEAD', headers: { accept: 'application/json' } });
    return response.headers.get('x-revision') ?? undefined;
  } catch {
    return undefined;
  }
}
