// Walks through the fields of the declared kinds and of their OpenAPI schemas.
import { KINDS } from '../../../operator/src/api/index.ts';
import type { Field, ResourceKind, Rule, Shape } from '../../../operator/src/api/schema.ts';
import { definitionOf } from '../../../scripts/crds/open-api.ts';

export interface FoundField {
  /** Such as `CairnCluster.spec.storage.size`; `[]` is an item, `{}` a value of a map. */
  readonly path: string;
  readonly field: Field;
}

export interface FoundRule extends Rule {
  readonly kind: string;
  readonly path: string;
}

export function allFields(): readonly FoundField[] {
  return KINDS.flatMap(({ kind, spec, status }) => [
    ...fieldsOf(spec, `${kind}.spec`),
    ...fieldsOf(status, `${kind}.status`),
  ]);
}

function fieldsOf({ fields }: Shape, path: string): readonly FoundField[] {
  return Object.entries(fields).flatMap(([name, field]) => withInner(field, `${path}.${name}`));
}

function withInner(field: Field, path: string): readonly FoundField[] {
  const self = { path, field };
  if (field.kind === 'object') return [self, ...fieldsOf(field.shape, path)];
  if (field.kind === 'list') return [self, ...withInner(field.items, `${path}[]`)];
  return field.kind === 'map' ? [self, ...withInner(field.values, `${path}{}`)] : [self];
}

export function allRules(): readonly FoundRule[] {
  const ofFields = allFields().flatMap(({ path, field }) => {
    const rules = [...(field.rules ?? []), ...(field.kind === 'object' ? field.shape.rules : [])];
    return rules.map((rule) => ({ ...rule, path, kind: path.slice(0, path.indexOf('.')) }));
  });
  const ofKinds = KINDS.flatMap(({ kind, rules, spec }) => [
    ...rules.map((rule) => ({ ...rule, kind, path: kind })),
    ...spec.rules.map((rule) => ({ ...rule, kind, path: `${kind}.spec` })),
  ]);
  return [...ofKinds, ...ofFields];
}

/** The OpenAPI schema of the objects of a kind. */
export function openApiOf(kind: ResourceKind): OpenApi {
  const [{ schema }] = definitionOf(kind).spec.versions;
  return schema.openAPIV3Schema;
}

export interface FoundSchema {
  readonly path: string;
  readonly schema: OpenApi;
}

/** The keywords that the schemas have. */
export interface OpenApi {
  readonly type?: string;
  readonly description?: string;
  readonly format?: string;
  readonly enum?: readonly string[];
  readonly default?: unknown;
  readonly required?: readonly string[];
  readonly properties?: Readonly<Record<string, OpenApi>>;
  readonly additionalProperties?: OpenApi;
  readonly items?: OpenApi;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly maxLength?: number;
  readonly maxItems?: number;
  readonly maxProperties?: number;
  readonly 'x-kubernetes-int-or-string'?: boolean;
  readonly 'x-kubernetes-preserve-unknown-fields'?: boolean;
  readonly 'x-kubernetes-list-map-keys'?: readonly string[];
}

/** Every schema inside of one, itself included. */
export function schemasIn(schema: OpenApi, path: string): readonly FoundSchema[] {
  const { properties = {}, items, additionalProperties } = schema;
  return [
    { path, schema },
    ...Object.entries(properties).flatMap(([name, inner]) => schemasIn(inner, `${path}.${name}`)),
    ...(items === undefined ? [] : schemasIn(items, `${path}[]`)),
    ...(additionalProperties === undefined ? [] : schemasIn(additionalProperties, `${path}{}`)),
  ];
}
