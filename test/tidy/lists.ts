/** Rules that compare a list in the docs with the list in the code, in both directions. */
import { type Fault, sources, type Tree, tests } from './tree.ts';

const ERRORS_PAGE = 'docs/errors.md';
const METRICS_PAGE = 'docs/metrics.md';

/** docs/errors.md has one row for each error code of #base, and no others. */
export function errorPageIsComplete(tree: Tree, codes: readonly string[]): readonly Fault[] {
  const page = tree.get(ERRORS_PAGE);
  if (page === undefined) return [`${ERRORS_PAGE}: missing`];
  const rows = [...page.matchAll(/^\| *`([a-z_]+)` *\|/gm)].flatMap(([, code]) => code ?? []);
  return differences(ERRORS_PAGE, rows, codes);
}

/** A test names each error code. */
export function errorCodesAreTested(tree: Tree, codes: readonly string[]): readonly Fault[] {
  const texts = [...tests(tree).values()];
  return codes.flatMap((code) =>
    texts.some((text) => new RegExp(`'${code}'|^ *${code}: `, 'm').test(text)) ? [] : [`${code}: no test names it`],
  );
}

/** docs/metrics.md has one row for each metric of the catalogue, and no others. */
export function metricPageIsComplete(tree: Tree, metrics: readonly string[]): readonly Fault[] {
  const page = tree.get(METRICS_PAGE);
  if (page === undefined) return [`${METRICS_PAGE}: missing`];
  const rows = [...page.matchAll(/^\| *`([a-z0-9_]+)` *\|/gm)].flatMap(([, metric]) => metric ?? []);
  return differences(METRICS_PAGE, rows, metrics);
}

/** A layer other than observability names each metric of the catalogue, so that it gets values. */
export function metricsAreFed(tree: Tree, metrics: readonly string[]): readonly Fault[] {
  if (!tree.has('src/main/main.ts')) return [];
  const texts = [...sources(tree)].filter(([path]) => !path.startsWith('src/observability/')).map(([, text]) => text);
  const isFed = (metric: string): boolean => texts.some((text) => text.includes(`'${metric}'`));
  return metrics.flatMap((metric) => (isFed(metric) ? [] : [`${metric}: nothing feeds it`]));
}

function differences(page: string, listed: readonly string[], real: readonly string[]): readonly Fault[] {
  const twice = listed.filter((name, index) => listed.indexOf(name) !== index);
  return [
    ...real.filter((name) => !listed.includes(name)).map((name) => `${page}: ${name} is missing`),
    ...listed.filter((name) => !real.includes(name)).map((name) => `${page}: ${name} is not in the code`),
    ...twice.map((name) => `${page}: ${name} is listed twice`),
  ];
}
