/** The CustomResourceDefinition of a kind: a structural schema of OpenAPI, as Kubernetes wants it. */
import { GROUP, VERSION } from '../../operator/src/api/index.ts';
import {
  type Field,
  type Fields,
  isRequired,
  type Json,
  type ListField,
  type ResourceKind,
  type Rule,
  type Shape,
} from '../../operator/src/api/schema.ts';

export type Schema = { readonly [keyword: string]: Json };

export interface Definition {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string };
  readonly spec: {
    readonly group: string;
    readonly names: Schema;
    readonly scope: string;
    readonly versions: readonly [DefinedVersion];
  };
}

interface DefinedVersion {
  readonly name: string;
  readonly served: boolean;
  readonly storage: boolean;
  readonly schema: { readonly openAPIV3Schema: Schema };
  readonly subresources: Schema;
  readonly additionalPrinterColumns: readonly Schema[];
}

const INT32_MAX = 2_147_483_647;

/** Without metadata but the name: labels and annotations are those of the chart. */
export function definitionOf(kind: ResourceKind): Definition {
  const { plural, shortNames, columns, scale } = kind;
  const names = {
    kind: kind.kind,
    listKind: `${kind.kind}List`,
    plural,
    singular: kind.kind.toLowerCase(),
    shortNames,
    categories: ['cairn'],
  };
  const version = {
    name: VERSION,
    served: true,
    storage: true,
    schema: { openAPIV3Schema: rootSchema(kind) },
    subresources: defined({
      status: {},
      scale: scale && {
        specReplicasPath: scale.spec,
        statusReplicasPath: scale.status,
        labelSelectorPath: scale.selector,
      },
    }),
    additionalPrinterColumns: columns.map(({ name, type, path, doc, isWide = false }) => ({
      name,
      type,
      jsonPath: path,
      description: doc,
      ...(isWide ? { priority: 1 } : {}),
    })),
  };
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: nameOf(kind) },
    spec: { group: GROUP, names, scope: 'Namespaced', versions: [version] },
  };
}

export function nameOf({ plural }: ResourceKind): string {
  return `${plural}.${GROUP}`;
}

function rootSchema({ doc, spec, specDoc, status, rules }: ResourceKind): Schema {
  return {
    type: 'object',
    description: doc,
    required: ['spec'],
    properties: {
      apiVersion: { type: 'string', description: `The version of the API: ${GROUP}/${VERSION}.` },
      kind: { type: 'string', description: 'The kind of the object.' },
      metadata: { type: 'object' },
      spec: schemaOf({ kind: 'object', doc: specDoc, shape: spec }),
      status: schemaOf({ kind: 'object', doc: 'What the operator has found and done.', shape: status }),
    },
    ...validations(rules),
  };
}

/** The schema of a field, with its documentation. */
function schemaOf(field: Field): Schema {
  const { doc, rules = [] } = field;
  const inner = innerSchema(field);
  const all = field.kind === 'object' ? [...field.shape.rules, ...rules] : rules;
  return { description: doc, ...inner, ...defined({ default: wholeDefault(field) }), ...validations(all) };
}

/** Default of a field with all inner defaults: the API server checks rules against the default as written. */
function wholeDefault(field: Field): Json | undefined {
  const { default: own } = field;
  if (field.kind !== 'object' || !isRecord(own)) return own;
  const inner = Object.entries(field.shape.fields).map(([name, each]) => [name, wholeDefault(each)] as const);
  return { ...defined(Object.fromEntries(inner)), ...own };
}

function isRecord(value: Json | undefined): value is Schema {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function innerSchema(field: Field): Schema {
  switch (field.kind) {
    case 'text':
      return defined({ type: 'string', minLength: field.min, maxLength: field.max, pattern: field.pattern });
    case 'time':
      return { type: 'string', format: 'date-time' };
    case 'choice':
      return { type: 'string', enum: field.choices };
    case 'number':
      return {
        type: 'integer',
        format: field.max > INT32_MAX ? 'int64' : 'int32',
        minimum: field.min,
        maximum: field.max,
      };
    case 'flag':
      return { type: 'boolean' };
    case 'number-or-text':
      return defined({
        'x-kubernetes-int-or-string': true,
        anyOf: [{ type: 'integer' }, { type: 'string' }],
        maxLength: field.max,
        pattern: field.pattern,
      });
    case 'list':
      return {
        type: 'array',
        ...defined({ minItems: field.min, maxItems: field.max }),
        ...mergeOf(field),
        items: schemaOf(field.items),
      };
    case 'map':
      return { type: 'object', maxProperties: field.max, additionalProperties: schemaOf(field.values) };
    case 'any':
      return { type: 'object', 'x-kubernetes-preserve-unknown-fields': true };
    case 'object':
      return objectSchema(field.shape);
  }
}

function objectSchema({ fields }: Shape): Schema {
  const required = Object.keys(fields).filter((name) => isRequiredIn(fields, name));
  const properties = Object.fromEntries(Object.entries(fields).map(([name, field]) => [name, schemaOf(field)]));
  return { type: 'object', ...(required.length === 0 ? {} : { required }), properties };
}

function isRequiredIn(fields: Fields, name: string): boolean {
  const field = fields[name];
  return field !== undefined && isRequired(field);
}

function mergeOf({ merge }: ListField): Schema {
  if (typeof merge === 'string') return { 'x-kubernetes-list-type': merge };
  return { 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': merge.keys };
}

function validations(rules: readonly Rule[]): Schema {
  if (rules.length === 0) return {};
  return { 'x-kubernetes-validations': rules.map(({ rule, message }) => ({ rule, message })) };
}

/** Without keys that have no value. */
function defined(values: Readonly<Record<string, Json | undefined>>): Schema {
  const found: Record<string, Json> = {};
  for (const [key, value] of Object.entries(values)) if (value !== undefined) found[key] = value;
  return found;
}
