/** The generated files of charts/cairn-crds: a template for each kind, and what follows from the values. */
import { stringify } from 'yaml';
import { KINDS } from '../../operator/src/api/index.ts';
import type { ResourceKind } from '../../operator/src/api/schema.ts';
import { renderSchema, renderValuesFile } from '../chart/render.ts';
import { definitionOf, nameOf } from './open-api.ts';
import { CRD_VALUES } from './values.ts';

const CHART = 'charts/cairn-crds';

interface ChartFile {
  readonly path: string;
  readonly content: string;
}

export function chartFiles(): readonly ChartFile[] {
  return [
    { path: `${CHART}/values.yaml`, content: renderValuesFile(CRD_VALUES, 'scripts/crds') },
    { path: `${CHART}/values.schema.json`, content: renderSchema(CRD_VALUES, 'cairn-crds') },
    ...KINDS.map((kind) => ({ path: `${CHART}/templates/${kind.plural}.yaml`, content: templateOf(kind) })),
  ];
}

function templateOf(kind: ResourceKind): string {
  const { metadata: _ofTemplate, ...definition } = definitionOf(kind);
  const text = stringify(definition, { version: '1.1', lineWidth: 0, aliasDuplicateObjects: false });
  if (text.includes('{{')) throw new Error(`${kind.kind}: Helm would take {{ for a part of its own language`);
  const [head, body] = [text.slice(0, text.indexOf('spec:')), text.slice(text.indexOf('spec:'))];
  return `{{- /* Generated from operator/src/api by \`npm run docs\`. */ -}}
{{- if .Values.crds.enabled }}
${head}metadata:
  name: ${nameOf(kind)}
  {{- include "cairn-crds.metadata" . | nindent 2 }}
${body}{{- end }}
`;
}
