/** docs/operations/resources.md: every field of every custom resource, with the rules that the API server checks. */
import { GROUP, KINDS, VERSION } from '../../operator/src/api/index.ts';
import { type Field, isRequired, type ResourceKind, type Shape } from '../../operator/src/api/schema.ts';

export function renderResourceReference(): string {
  return `# Custom resources

Every field of the resources of \`${GROUP}/${VERSION}\`, which the chart \`charts/cairn-crds\` installs. \`kubectl explain
cairncluster.spec.storage\` says the same. [operator.md](operator.md) has an example of each.

A field without a default is optional unless it is required. \`[]\` stands for an item of a list. Fields that are as in
Kubernetes are not listed one by one.

${KINDS.map(section).join('\n\n')}

This page is generated from \`operator/src/api\` by \`npm run docs\`.
`;
}

function section(kind: ResourceKind): string {
  const { plural, shortNames, doc, spec, status, conditions, rules } = kind;
  const names = [plural, ...shortNames].map((name) => `\`kubectl get ${name}\``).join(', ');
  const broken = [...rules.map(({ message }) => `- ${message}.`), ...rulesOf(spec, '')];
  const ruleList = broken.length === 0 ? '' : `\n\nThe API server also checks:\n\n${[...new Set(broken)].join('\n')}`;
  const types = Object.entries(conditions).map(([type, meaning]) => `| \`${type}\` | ${cell(meaning)} |`);
  return `## ${kind.kind}

${doc} ${names}.

| \`spec\` | value | default | meaning |
|---|---|---|---|
${rows(spec, '').join('\n')}${ruleList}

| \`status\` | value | meaning |
|---|---|---|
${rows(status, '', false).join('\n')}

| condition | \`True\` means |
|---|---|
${types.join('\n')}`;
}

function rows({ fields }: Shape, prefix: string, hasDefaults = true): readonly string[] {
  return Object.entries(fields).flatMap(([key, field]) => {
    const path = `${prefix}${key}`;
    const cells = [`\`${path}\``, valueOf(field), ...(hasDefaults ? [defaultOf(field)] : []), field.doc];
    const inner = innerShape(field);
    const below = inner === undefined ? [] : rows(inner, `${path}${isList(field) ? '[]' : ''}.`, hasDefaults);
    return [`| ${cells.map(cell).join(' | ')} |`, ...below];
  });
}

/** The shape of an object, or of the objects of a list, whose fields are listed. */
function innerShape(field: Field): Shape | undefined {
  if (field.kind === 'list') return innerShape(field.items);
  return field.kind === 'object' && !field.shape.isOfKubernetes ? field.shape : undefined;
}

function isOfKubernetes(field: Field): boolean {
  return field.kind === 'object' && field.shape.isOfKubernetes;
}

function isList({ kind }: Field): boolean {
  return kind === 'list';
}

function defaultOf(field: Field): string {
  if (isRequired(field)) return 'required';
  const { default: ownDefault } = field;
  const isGroup = field.kind === 'object' && JSON.stringify(ownDefault) === '{}';
  return ownDefault === undefined || isGroup ? '' : `\`${JSON.stringify(ownDefault)}\``;
}

function valueOf(field: Field): string {
  switch (field.kind) {
    case 'text':
      return 'text';
    case 'time':
      return 'time';
    case 'choice':
      return field.choices.map((word) => `\`${word}\``).join(', ');
    case 'number':
      return field.max === Number.MAX_SAFE_INTEGER ? 'whole number' : `${count(field.min)} to ${count(field.max)}`;
    case 'flag':
      return '`true`, `false`';
    case 'number-or-text':
      return 'number or text';
    case 'list':
      return isOfKubernetes(field.items) ? 'list, as in Kubernetes' : `list of ${valueOf(field.items)}`;
    case 'map':
      return `map to ${valueOf(field.values)}`;
    case 'any':
      return 'any object';
    case 'object':
      return isOfKubernetes(field) ? 'as in Kubernetes' : 'object';
  }
}

/** Messages of the rules of a shape and of its fields, each with its path. */
function rulesOf(shape: Shape, path: string): readonly string[] {
  const place = path === '' ? '' : `\`${path}\`: `;
  const own = shape.rules.map(({ message }) => `- ${place}${message}.`);
  const below = Object.entries(shape.fields).flatMap(([key, field]) => {
    const at = `${path === '' ? '' : `${path}.`}${key}`;
    const ofField = (field.rules ?? []).map(({ message }) => `- \`${at}\`: ${message}.`);
    const inner = innerShape(field);
    return [...ofField, ...(inner === undefined ? [] : rulesOf(inner, `${at}${isList(field) ? '[]' : ''}`))];
  });
  return [...own, ...below];
}

function count(value: number): string {
  return String(value).replaceAll(/\B(?=(?:\d{3})+$)/g, ',');
}

function cell(text: string): string {
  return text.replaceAll('|', '\\|').replaceAll('*', '\\*');
}
