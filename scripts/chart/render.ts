/** The files of a chart that follow from its values: values.yaml, values.schema.json, and the table of its README. */
import { stringify } from 'yaml';
import type { Group, Json, Schema, Value } from './value.ts';
import { OF_PARENT_CHARTS, VALUES } from './values.ts';

const COLUMNS = 100;

export function renderValuesFile(values: Group = VALUES, source = 'scripts/chart'): string {
  return `# Generated from ${source} by \`npm run docs\`.\n${membersAsYaml(values, '')}`;
}

function membersAsYaml({ members }: Group, indent: string): string {
  return Object.entries(members)
    .map(([key, member]) => {
      const space = indent === '' ? '\n' : '';
      const doc = wrapped(member.doc, COLUMNS - indent.length - 2).map((line) => `${indent}# ${line}\n`);
      return `${space}${doc.join('')}${memberAsYaml(key, member, indent)}`;
    })
    .join('');
}

function memberAsYaml(key: string, member: Value | Group, indent: string): string {
  if (member.kind === 'group') return `${indent}${key}:\n${membersAsYaml(member, `${indent}  `)}`;
  const lines = stringify({ [key]: member.default }, { version: '1.1', defaultStringType: 'PLAIN' }).trimEnd();
  return `${lines.replace(/^/gm, indent)}\n`;
}

function wrapped(text: string, columns: number): readonly string[] {
  const lines: string[] = [];
  for (const word of text.split(' ').filter((each) => each !== '')) {
    const last = lines.at(-1);
    if (last === undefined || last.length + 1 + word.length > columns) lines.push(word);
    else lines[lines.length - 1] = `${last} ${word}`;
  }
  return lines;
}

export function renderSchema(values: Group = VALUES, chart = 'cairn'): string {
  const schema: Schema = {
    $schema: 'http://json-schema.org/draft-07/schema#',
    title: `Values of the chart ${chart}`,
    ...groupSchema(values, OF_PARENT_CHARTS),
  };
  return `${JSON.stringify(schema, undefined, 2)}\n`;
}

function groupSchema({ doc, members }: Group, others: Readonly<Record<string, Schema>> = {}): Schema {
  const properties: Record<string, Json> = {};
  for (const [key, member] of Object.entries(members)) {
    properties[key] = member.kind === 'group' ? groupSchema(member) : valueSchema(member);
  }
  const described = doc === '' ? {} : { description: doc };
  return { ...described, type: 'object', additionalProperties: false, properties: { ...properties, ...others } };
}

function valueSchema({ doc, default: ownDefault, schema }: Value): Schema {
  return { description: doc, default: ownDefault, ...schema };
}

export function renderValuesTable(values: Group = VALUES): string {
  return `| value | default | meaning |\n|---|---|---|\n${rows(values, '').join('\n')}`;
}

function rows({ members }: Group, prefix: string): readonly string[] {
  return Object.entries(members).flatMap(([key, member]) => {
    const name = `${prefix}${key}`;
    if (member.kind === 'group') return [`| \`${name}\` | | ${cell(member.doc)} |`, ...rows(member, `${name}.`)];
    return [`| \`${name}\` | \`${JSON.stringify(member.default)}\` | ${cell(member.doc)} |`];
  });
}

function cell(doc: string): string {
  return doc.replaceAll('|', '\\|');
}
