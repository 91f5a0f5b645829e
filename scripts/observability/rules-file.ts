/**
 * Rule files of Prometheus, from alerts.ts and operator-alerts.ts, which the charts wrap in a PrometheusRule. What is
 * between braces is for Prometheus, so a chart reads the file as it is and does not render it.
 */
import { ALERT_PREFIX, ALERTS, type Alert, RECORDING_RULES } from './alerts.ts';
import { OPERATOR_ALERTS } from './operator-alerts.ts';

export const RULES_PATH = 'charts/cairn/rules/cairn.yaml';
/** The same rules for the operator, which is built into one file and reads none of the chart. */
export const OPERATOR_RULES_PATH = 'operator/src/objects/gen/rules.json';
/** Alerts about the operator itself, and about its resources. */
export const OPERATOR_ALERTS_PATH = 'charts/cairn-operator/rules/cairn-operator.yaml';
export const RUNBOOKS_PATH = 'docs/operations/runbooks';

/** The page of an alert: NoLeader is in no-leader.md, HighFDs in high-fds.md. */
export function runbookOf(name: string): string {
  return `${RUNBOOKS_PATH}/${name.replaceAll(/(?<=[a-z])(?=[A-Z])/g, '-').toLowerCase()}.md`;
}

interface Rule {
  readonly record?: string;
  readonly alert?: string;
  readonly expr: string;
  readonly for?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
}

interface RuleGroup {
  readonly name: string;
  readonly rules: readonly Rule[];
}

function ruleGroups(): readonly RuleGroup[] {
  const records = RECORDING_RULES.map(({ record, expr }) => ({ record, expr }));
  return [
    { name: 'cairn-service-levels', rules: records },
    { name: 'cairn-alerts', rules: ALERTS.map(alertRule) },
  ];
}

export function rulesFile(): string {
  return fileOf('alerts', ruleGroups());
}

export function operatorAlertsFile(): string {
  return fileOf('operator-alerts', [{ name: 'cairn-operator-alerts', rules: OPERATOR_ALERTS.map(alertRule) }]);
}

function fileOf(source: string, groups: readonly RuleGroup[]): string {
  return [
    `# Generated from scripts/observability/${source}.ts by \`npm run docs\`.`,
    '# runbook_url is a path in the repository; the chart replaces its beginning (monitoring.prometheusRule.runbooks).',
    'groups:',
    ...groups.flatMap(({ name, rules }) => [`  - name: ${name}`, '    rules:', ...rules.flatMap(ruleLines)]),
    '',
  ].join('\n');
}

/** The same for the operator, a rule on a line. */
export function operatorRulesFile(): string {
  const groups = ruleGroups().map(({ name, rules }) => {
    const lines = rules.map((each) => `      ${JSON.stringify(each)}`);
    return `  {\n    "name": ${JSON.stringify(name)},\n    "rules": [\n${lines.join(',\n')}\n    ]\n  }`;
  });
  return `[\n${groups.join(',\n')}\n]\n`;
}

function alertRule({ name, expr, severity, summary, description, for: wait }: Alert): Rule {
  const annotations = { summary, description, runbook_url: runbookOf(name) };
  return { alert: `${ALERT_PREFIX}${name}`, expr, for: wait, labels: { severity }, annotations };
}

/** docs/operations/runbooks/README.md: what may fire, and the page of each. */
export function runbooksIndex(): string {
  const all = [...ALERTS, ...OPERATOR_ALERTS];
  const names = [...new Set(all.map(({ name }) => name))];
  const rows = names.map((name) => {
    const levels = all.filter((alert) => alert.name === name);
    const page = runbookOf(name).slice(RUNBOOKS_PATH.length + 1);
    const severities = levels.map(({ severity }) => severity).join(', ');
    const worst = levels.find(({ severity }) => severity === 'critical') ?? levels[0];
    return `| [${ALERT_PREFIX}${name}](${page}) | ${severities} | ${worst?.summary} |`;
  });
  return `# Runbooks

Each alert of \`${RULES_PATH}\` and \`${OPERATOR_ALERTS_PATH}\` has a page: what it means, its impact, how to find the cause, how to fix it,
and how to verify that it is fixed. The charts install the alerts as a PrometheusRule. Without a chart, name the file in
\`rule_files\` of Prometheus, and give each target a label \`pod\`.

- critical: clients are affected, or data is at risk. Act now.
- warning: it becomes critical, or already costs something. Act today.
- info: act this week.

\`cairn cluster\` asks a node at its peer port. Run it in a pod, as in \`kubectl exec cairn-0 -- cairn cluster status\`, or
name a node with \`--at\` and give the command the secret or certificate of the nodes
([Operating a cluster](../cluster.md)). \`peer="2"\` in a query, and "node 2" in an alert, is the number in the column
NODE of \`cairn cluster status\`.

Commands are for a release named \`cairn\` in the current namespace: select it with
\`kubectl config set-context --current --namespace=cairn\`. They read what differs from variables: set \`NODE=2\` and
\`POD=cairn-1\` to those of the alert first.

| alert | severity | summary |
|---|---|---|
${rows.join('\n')}

This page is generated from \`scripts/observability\` by \`npm run docs\`.
`;
}

/** Members in one item of a list. A text in JSON is one in YAML. */
function ruleLines({ expr, labels, annotations, ...names }: Rule): readonly string[] {
  const { for: wait, ...name } = names;
  const texts = Object.entries({ ...name, expr: `>-\n          ${expr}`, ...(wait !== undefined && { for: wait }) });
  return [
    ...texts.map(([key, text], at) => `${at === 0 ? '      - ' : '        '}${key}: ${text}`),
    ...(labels === undefined ? [] : [`        labels: { severity: ${labels['severity']} }`]),
    ...(annotations === undefined ? [] : ['        annotations:']),
    ...Object.entries(annotations ?? {}).map(([key, text]) => `          ${key}: ${JSON.stringify(text)}`),
  ];
}
