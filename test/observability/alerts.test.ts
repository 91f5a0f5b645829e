// Goal: every alert fires when it should and not otherwise, reads metrics that exist, and has a page that says what to
// do. Method: promtool evaluates them over series (alert-cases.ts); their texts are held against the catalogue, the
// routes and the pages.
import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { ALERT_PREFIX, ALERTS as OF_NODES, RECORDING_RULES, WRITE_ROUTES } from '../../scripts/observability/alerts.ts';
import { OPERATOR_ALERTS } from '../../scripts/observability/operator-alerts.ts';
import { OPERATOR_ALERTS_PATH, RULES_PATH, RUNBOOKS_PATH, runbookOf } from '../../scripts/observability/rules-file.ts';
import { ROUTES } from '../../src/transport/http/routes.ts';
import { lacksTool } from '../support/needed-tools.ts';
import { tempDir } from '../support/temp-dir.ts';
import { ALERT_CASES } from './alert-cases.ts';
import { evaluate } from './alert-evaluation.ts';
import { faultsOf, isExported, seriesIn } from './expressions.ts';
import { promtool, recordingRules } from './promtool.ts';

const root = resolve(import.meta.dirname, '../..');
const ALERTS = [...OF_NODES, ...OPERATOR_ALERTS];

describe('the alerts', () => {
  it.skipIf(lacksTool('kube'))('fire as their cases say', () => {
    using dir = tempDir();
    const alerts = Object.keys(ALERT_CASES).map((name) => ({ alertname: `${ALERT_PREFIX}${name}`, cases: name }));
    const rules = [RULES_PATH, OPERATOR_ALERTS_PATH].map((path) => join(root, path));
    expect(evaluate(dir.path, rules, alerts)).toMatchObject({ status: 0 });
  });

  it('have a case in which each severity fires, and one in which none does', () => {
    expect(Object.keys(ALERT_CASES)).toEqual([...new Set(ALERTS.map(({ name }) => name))]);
    for (const { name, severity } of ALERTS) {
      const fired = (ALERT_CASES[name] ?? []).map(([, , fires]) => fires);
      expect([name, fired.flat().some((labels) => labels.includes(`severity="${severity}"`))]).toEqual([name, true]);
      expect([name, fired.some((labels) => labels.length === 0)]).toEqual([name, true]);
    }
  });

  it('show labels in their texts that they have', () => {
    const faults = ALERTS.flatMap(({ name, summary, description }) => {
      const shown = [...`${summary} ${description}`.matchAll(/\$labels\.(\w+)/g)].flatMap(([, label = '']) => label);
      const fired = (ALERT_CASES[name] ?? []).flatMap(([, , fires]) => fires).join();
      const isKnown = (label: string): boolean =>
        ['namespace', 'job', 'instance'].includes(label) || fired.includes(`${label}=`);
      return shown.filter((label) => !isKnown(label)).map((label) => `${name}: ${label}`);
    });
    expect(faults).toEqual([]);
  });

  it.each([
    ...ALERTS.map(({ name, expr }) => [name, expr]),
    ...RECORDING_RULES.map(({ record, expr }) => [record, expr]),
  ])('read metrics, labels and values that are exported: %s', (_name, expr = '') => {
    expect(faultsOf(expr)).toEqual([]);
  });

  it('count as writes the routes of transactions', () => {
    const pattern = new RegExp(`^(?:${WRITE_ROUTES})$`);
    const counted = ROUTES.filter(({ method, path }) => method === 'POST' && pattern.test(path)).map(
      ({ path }) => path,
    );
    expect(counted).toEqual(['/api/v1/db/{database}', '/databases/{database}/events', '/api/v1/db/{database}/async']);
  });
});

/** The lines of the blocks of PromQL in a page. */
function queriesIn(page: string): readonly string[] {
  return [...page.matchAll(/^```promql\n([\s\S]*?)^```/gm)].flatMap(([, block = '']) => block.trim().split('\n'));
}

describe('the runbooks', () => {
  const PAGES = readdirSync(join(root, RUNBOOKS_PATH)).map((page) => `${RUNBOOKS_PATH}/${page}`);
  const OVERVIEW = `${RUNBOOKS_PATH}/README.md`;

  it('are one for each alert', () => {
    const wanted = new Set([...ALERTS.map(({ name }) => runbookOf(name)), OVERVIEW]);
    expect(PAGES.toSorted()).toEqual([...wanted].toSorted());
  });

  it.each(PAGES.filter((page) => page !== OVERVIEW))('say what to do, with metrics that exist: %s', (page) => {
    const text = readFileSync(join(root, page), 'utf8');
    const alert = ALERTS.find(({ name }) => runbookOf(name) === page);
    expect(text).toMatch(new RegExp(`^# ${ALERT_PREFIX}${alert?.name}\n`));
    const headings = [...text.matchAll(/^## (.+)$/gm)].map(([, heading]) => heading);
    expect(headings).toEqual(['Meaning', 'Impact', 'Diagnose', 'Fix', 'Verify']);
    expect(seriesIn(text).filter((name) => !isExported(name))).toEqual([]);
    expect(queriesIn(text).flatMap(faultsOf)).toEqual([]);
  });

  it.skipIf(lacksTool('kube'))('have queries that Prometheus reads', () => {
    using dir = tempDir();
    const queries = PAGES.flatMap((page) => queriesIn(readFileSync(join(root, page), 'utf8')));
    expect(queries.length).toBeGreaterThan(PAGES.length);
    expect(promtool('check', 'rules', recordingRules(dir.path, queries))).toMatchObject({ status: 0 });
  });
});
