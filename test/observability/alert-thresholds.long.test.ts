// Goal: the cases of every alert notice when one of its comparisons or thresholds is another one. Method: promtool
// evaluates all alerts with one of them changed, each under a name of its own; a case of each must fail.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { type Alert, ALERTS as OF_NODES, RECORDING_RULES } from '../../scripts/observability/alerts.ts';
import { OPERATOR_ALERTS } from '../../scripts/observability/operator-alerts.ts';
import { lacksTool } from '../support/needed-tools.ts';
import { tempDir } from '../support/temp-dir.ts';
import { evaluate } from './alert-evaluation.ts';

const ALERTS = [...OF_NODES, ...OPERATOR_ALERTS];

interface Changed {
  readonly alert: Alert;
  readonly expr: string;
}

/** A comparison, and the number that a threshold is. */
const COMPARISON = / (>=|<=|==|>|<) ([\d.]+\b)?/g;
const OPPOSITE: Readonly<Record<string, string>> = { '>': '<=', '<': '>=', '>=': '<', '<=': '>', '==': '!=' };
const FACTOR = 1.6;

function changesOf(alert: Alert): readonly Changed[] {
  return [...alert.expr.matchAll(COMPARISON)].flatMap(({ 0: found, 1: operator = '', 2: threshold, index }) => {
    const instead = (text: string): string =>
      `${alert.expr.slice(0, index)} ${text}${alert.expr.slice(index + found.length)}`;
    const others = threshold === undefined ? [] : neighbours(Number(threshold));
    const exprs = [`${OPPOSITE[operator]} ${threshold ?? ''}`, ...others.map((other) => `${operator} ${other}`)];
    return exprs.map((text) => ({ alert, expr: instead(text) }));
  });
}

/** Other thresholds: of numbers that are counted whole ones, and of 0 none. */
function neighbours(threshold: number): readonly number[] {
  const [more, less] = [threshold * FACTOR, threshold / FACTOR];
  if (threshold === 0) return [];
  return Number.isInteger(threshold) ? [Math.ceil(more), Math.floor(less)] : [more, less];
}

it.skipIf(lacksTool('kube'))('cases of alerts notice every other threshold', { timeout: 120_000 }, () => {
  using dir = tempDir();
  const changed = ALERTS.flatMap(changesOf);
  expect(changed.length).toBeGreaterThan(2 * ALERTS.length);
  const rules = changed.map(({ alert, expr }, number) => {
    return { alert: `Changed${number}`, expr, for: alert.for, labels: { severity: alert.severity } };
  });
  const groups = [
    { name: 'cairn-service-levels', rules: RECORDING_RULES },
    { name: 'cairn-alerts', rules },
  ];
  const path = join(dir.path, 'rules.yaml');
  writeFileSync(path, JSON.stringify({ groups }));
  const evaluated = changed.map(({ alert: { name, severity } }, number) => {
    return { alertname: `Changed${number}`, cases: name, severity };
  });
  const { stdout, stderr } = evaluate(dir.path, [path], evaluated);
  const noticed = new Set([...`${stdout}${stderr}`.matchAll(/Changed(\d+)/g)].map(([, number]) => Number(number)));
  const missed = changed.filter((_, number) => !noticed.has(number));
  expect(missed.map(({ alert: { name, severity }, expr }) => `${name} (${severity}): ${expr}`)).toEqual([]);
});
