// Checks objects of other operators against their definitions, which scripts/third-party-kinds.ts writes. An API server
// checks more, for example rules in CEL: see in-cluster.ts.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import type { Json } from '../../scripts/chart/value.ts';
import { idOf, type KubeObject } from './objects.ts';

interface Definition {
  readonly metadata: { readonly name: string };
  readonly spec: {
    readonly group: string;
    readonly names: { readonly kind: string };
    readonly versions: readonly { readonly name: string; readonly schema: { readonly openAPIV3Schema: Json } }[];
  };
}

/** API groups of every Kubernetes cluster. */
const BUILT_IN: readonly string[] = [
  'v1',
  'apps/v1',
  'policy/v1',
  'networking.k8s.io/v1',
  'rbac.authorization.k8s.io/v1',
];

export const DEFINITIONS: readonly Definition[] = readFileSync(
  join(import.meta.dirname, 'third-party-kinds.jsonl'),
  'utf8',
)
  .trim()
  .split('\n')
  .map((line) => JSON.parse(line) as Definition);

const ajv = new Ajv2020({ strict: false, validateFormats: false, allErrors: true });
const validators = new Map<string, ValidateFunction>();
for (const { spec } of DEFINITIONS) {
  for (const { name, schema } of spec.versions) {
    const validate = ajv.compile(closed(schema.openAPIV3Schema) as object);
    validators.set(`${spec.group}/${name} ${spec.names.kind}`, validate);
  }
}

/** Forbids unknown fields in a schema: an API server only warns about them and drops them. */
function closed(schema: Json): Json {
  if (Array.isArray(schema)) return schema.map(closed);
  // JavaScript has no flags for the rest of a group, as Go has.
  if (typeof schema === 'string') return schema.replace(/^\^\(\?i\)(.*)\$$/, '^(?i:$1)$');
  if (typeof schema !== 'object' || schema === null) return schema;
  const members = Object.entries(schema).map(([key, value]): [string, Json] => [key, closed(value)]);
  if ('properties' in schema) members.push(['additionalProperties', false]);
  return Object.fromEntries(members);
}

export function faultsByDefinition(objects: readonly KubeObject[]): readonly string[] {
  return objects.flatMap((object) => {
    const { apiVersion, kind } = object;
    if (BUILT_IN.includes(apiVersion)) return [];
    const validate = validators.get(`${apiVersion} ${kind}`);
    if (validate === undefined) return [`${idOf(object)}: no definition of ${apiVersion} ${kind}`];
    validate(object);
    return (validate.errors ?? []).map(({ instancePath, message, params }) => {
      const field = 'additionalProperty' in params ? ` ${params['additionalProperty']}` : '';
      return `${idOf(object)}: ${instancePath}${field} ${message}`;
    });
  });
}
