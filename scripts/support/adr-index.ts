/** The tables of decisions in docs/adr/README.md, by topic, from the title and the status line of each record. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const RECORD = /^\d{4}-[a-z0-9-]+\.md$/;
const STATUS = /^Status: [^.\n]+\. Topic: ([a-z]+)\.(?: Replaces ([\d,\s]+)\.)?$/m;

/** Headings of the topics, in the order of the page. */
const TOPICS: Readonly<Record<string, string>> = {
  build: 'Runtime, build and memory of the process',
  data: 'Data and constraints',
  storage: 'Storage',
  raft: 'Raft and replication',
  cluster: 'Cluster membership and operation',
  nodes: 'Between nodes',
  reads: 'Reads',
  edge: 'gRPC and admission',
  http: 'HTTP, pages and MCP',
  components: 'Components',
  access: 'Access',
  operations: 'Operations',
};

/** One table for each topic, with one row for each record in the folder, in the order of their numbers. */
export function adrIndex(folder: string): string {
  const names = readdirSync(folder)
    .filter((name) => RECORD.test(name))
    .toSorted();
  const rows = names.map((name) => adrRow(name, readFileSync(join(folder, name), 'utf8')));
  return Object.entries(TOPICS)
    .map(([topic, heading]) => {
      const own = rows.filter((row) => row.topic === topic).map(({ text }) => text);
      return [`### ${heading}`, '', '| No. | decision | replaces |', '|---|---|---|', ...own].join('\n');
    })
    .join('\n\n');
}

/** Throws when the record does not begin with "# NNNN. Title" or its status line names no topic of the index. */
export function adrRow(name: string, text: string): { readonly topic: string; readonly text: string } {
  const number = name.slice(0, 4);
  const title = new RegExp(`^# ${number}\\. (.+)`).exec(text)?.[1];
  const [, topic = '', replaced = ''] = STATUS.exec(text) ?? [];
  if (title === undefined) throw new Error(`${name} must begin with "# ${number}. Title"`);
  if (!(topic in TOPICS))
    throw new Error(`${name} needs a line "Status: accepted. Topic: T.", T one of ${Object.keys(TOPICS).join(', ')}`);
  return { topic, text: `| ${number} | [${title}](${name}) | ${replaced.replace(/\s+/g, ' ')} |` };
}
