/** operator/src/api/gen/types.ts: the objects of every kind as the API server answers them, with defaults filled in. */
import { GROUP, KINDS, VERSION } from '../../operator/src/api/index.ts';
import type { Field, ResourceKind, Shape } from '../../operator/src/api/schema.ts';

export const TYPES_PATH = 'operator/src/api/gen/types.ts';

const COLUMNS = 120;
const HEAD = `/**
 * The objects of ${GROUP}/${VERSION} as the API server answers them: fields with a default are there.
 *
 * Generated from the declarations in the folder above by \`npm run docs\`.
 */

export interface Metadata {
  readonly name: string;
  readonly namespace: string;
  readonly uid: string;
  readonly resourceVersion: string;
  readonly generation: number;
  readonly creationTimestamp: string;
  readonly deletionTimestamp?: string;
  readonly finalizers?: readonly string[];
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
}
`;

export function typesFile(): string {
  return renderTypes(KINDS);
}

export function renderTypes(kinds: readonly ResourceKind[]): string {
  const shapes = new Map<string, Shape>();
  for (const { spec, status } of kinds) for (const shape of [spec, status]) collect(shape, shapes);
  return [HEAD, ...[...shapes.values()].map(shapeType), ...kinds.map(kindType)].join('\n');
}

/** Shapes in the order in which they are met; one that others are made of comes before them. */
function collect(shape: Shape, into: Map<string, Shape>): void {
  const known = into.get(shape.name);
  if (known === shape) return;
  if (known !== undefined) throw new Error(`two shapes have the name ${shape.name}`);
  for (const field of Object.values(shape.fields)) for (const inner of shapesIn(field)) collect(inner, into);
  into.set(shape.name, shape);
}

function shapesIn(field: Field): readonly Shape[] {
  if (field.kind === 'object') return [field.shape];
  if (field.kind === 'list') return shapesIn(field.items);
  return field.kind === 'map' ? shapesIn(field.values) : [];
}

function shapeType({ name, fields }: Shape): string {
  const members = Object.entries(fields).map(([key, field]) => {
    const mark = field.isOptional === true ? '?' : '';
    return `${comment(field.doc)}  readonly ${key}${mark}: ${typeOf(field)};\n`;
  });
  return `export interface ${name} {\n${members.join('')}}\n`;
}

function typeOf(field: Field): string {
  switch (field.kind) {
    case 'text':
    case 'time':
      return 'string';
    case 'choice':
      return field.choices.map((word) => `'${word}'`).join(' | ');
    case 'number':
      return 'number';
    case 'flag':
      return 'boolean';
    case 'number-or-text':
      return 'number | string';
    case 'list':
      return `readonly ${typeOf(field.items)}[]`;
    case 'map':
      return `Readonly<Record<string, ${typeOf(field.values)}>>`;
    case 'any':
      return 'Readonly<Record<string, unknown>>';
    case 'object':
      return field.shape.name;
  }
}

function kindType({ kind, doc, spec, status, conditions }: ResourceKind): string {
  const types = Object.keys(conditions).map((type) => `'${type}'`);
  const single = `export type ${kind}Condition = ${types.join(' | ')};`;
  const union = single.length <= COLUMNS ? single : `export type ${kind}Condition =\n  | ${types.join('\n  | ')};`;
  return `${union}

/** ${doc} */
export interface ${kind} {
  readonly apiVersion: '${GROUP}/${VERSION}';
  readonly kind: '${kind}';
  readonly metadata: Metadata;
  readonly spec: ${spec.name};
  readonly status?: ${status.name};
}
`;
}

function comment(doc: string): string {
  const single = `  /** ${doc} */\n`;
  if (single.length <= COLUMNS + 1) return single;
  const lines: string[] = [];
  for (const word of doc.split(' ')) {
    const last = lines.at(-1);
    if (last === undefined || last.length + 1 + word.length > COLUMNS - '   * '.length) lines.push(word);
    else lines[lines.length - 1] = `${last} ${word}`;
  }
  return `  /**\n${lines.map((line) => `   * ${line}\n`).join('')}   */\n`;
}
