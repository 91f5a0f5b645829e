/** The generated files of charts/cairn-operator: values, rights, and the templates that are those of charts/cairn. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { RIGHTS, type Right } from '../../operator/src/rights.ts';
import { OPERATOR_VALUES } from './operator-values.ts';
import { renderSchema, renderValuesFile } from './render.ts';

const CHART = 'charts/cairn-operator';
/** Templates that both charts have. Their names begin with the name of the chart. */
const SHARED = ['_shared.tpl', 'extra-objects.yaml', 'podmonitor.yaml', 'prometheusrule.yaml', 'serviceaccount.yaml'];

interface ChartFile {
  readonly path: string;
  readonly content: string;
}

export function operatorChartFiles(root: string): readonly ChartFile[] {
  return [
    { path: `${CHART}/values.yaml`, content: renderValuesFile(OPERATOR_VALUES) },
    { path: `${CHART}/values.schema.json`, content: renderSchema(OPERATOR_VALUES, 'cairn-operator') },
    { path: `${CHART}/templates/_rights.tpl`, content: rightsTemplate() },
    ...SHARED.map((name) => ({ path: `${CHART}/templates/${name}`, content: sharedTemplate(root, name) })),
  ];
}

function sharedTemplate(root: string, name: string): string {
  const text = readFileSync(join(root, 'charts/cairn/templates', name), 'utf8');
  return `{{- /* Generated from charts/cairn by \`npm run docs\`. */ -}}\n${text.replaceAll('"cairn.', '"cairn-operator.')}`;
}

function rightsTemplate(): string {
  const parts = Object.entries(RIGHTS).map(([name, rights]: [string, readonly Right[]]) => {
    const rules = rights.map(
      ({ apiGroup, resource, verbs }) =>
        `- {apiGroups: [${JSON.stringify(apiGroup)}], resources: [${resource}], verbs: [${verbs.join(', ')}]}\n`,
    );
    return `{{- define "cairn-operator.rights.${name}" -}}\n${rules.join('')}{{- end }}\n`;
  });
  return `{{- /* Generated from operator/src/rights.ts by \`npm run docs\`. */ -}}\n${parts.join('')}`;
}
