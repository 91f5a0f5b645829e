/** A slider over all revisions of a database, above the links that are there without it. */

for (const machine of document.querySelectorAll('nav.time-machine')) {
  if (machine instanceof HTMLElement) void addSlider(machine);
}

/** @param {HTMLElement} machine */
async function addSlider(machine) {
  const { first = '0', revision = '0', path = '', database = '' } = machine.dataset;
  const latest = await latestRevision(database);
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
  slider.addEventListener('change', () => {
    location.assign(path.replace('{revision}', slider.value));
  });
  machine.querySelector('.steps')?.before(slider);
}

/**
 * By where the latest leads to; undefined: nobody answers.
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
