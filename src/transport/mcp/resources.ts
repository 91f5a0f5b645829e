/** The resources of MCP: agents read the guides, and the lists of databases and definitions. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { asked, type ToolCall } from './api-call.ts';

export interface Resource {
  readonly uri: string;
  readonly name: string;
  readonly description: string;
  readonly mimeType: string;
}

export interface ResourceTemplate extends Omit<Resource, 'uri'> {
  readonly uriTemplate: string;
}

const MARKDOWN = 'text/markdown';
const PLAIN = 'text/plain';

interface Guide extends Resource {
  /** Below the directory of the documentation. */
  readonly file: string;
}

const GUIDES: readonly Guide[] = [
  {
    uri: 'service://guides/roles',
    name: 'Roles',
    description: 'Whether you are a user of a database or an author of its components, and the next steps.',
    mimeType: MARKDOWN,
    file: 'guides/roles.md',
  },
  {
    uri: 'service://guides/authoring',
    name: 'Authoring components',
    description: 'How State Views and State Changes are written, built and published.',
    mimeType: MARKDOWN,
    file: 'guides/authoring.md',
  },
  {
    uri: 'service://guides/api',
    name: 'The API',
    description: 'Paths, queries, transactions and conditions, for the tool fetch.',
    mimeType: MARKDOWN,
    file: 'guides/api.md',
  },
];

const DATABASES: Resource = {
  uri: 'service://databases',
  name: 'Databases',
  description: 'The catalog, with next steps.',
  mimeType: PLAIN,
};

export const RESOURCES: readonly Resource[] = [DATABASES, ...GUIDES.map(({ file: _file, ...resource }) => resource)];

export const TEMPLATES: readonly ResourceTemplate[] = [
  {
    uriTemplate: 'service://db/{name}',
    name: 'A database',
    description: 'What a database holds at its latest revision, with next steps, and an explanation of revisions.',
    mimeType: PLAIN,
  },
];

/** Valid names of databases in the contract (1.2). */
const DATABASE_URI = /^service:\/\/db\/([a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?)$/;
const REVISIONS = `
A revision is the number of a transaction. /db/{name}/{revision} and all below it stay what they are, so reads that belong
together ask for the same number; latest and cached lead to one.
`;

/**
 * Undefined: the resource does not exist.
 * @throws ApiFailure, RequestFailed
 */
export async function readResource(
  uri: string,
  call: ToolCall,
  docs: string,
): Promise<{ readonly mimeType: string; readonly text: string } | undefined> {
  const guide = GUIDES.find((each) => each.uri === uri);
  if (guide !== undefined) return { mimeType: MARKDOWN, text: await readFile(join(docs, guide.file), 'utf8') };
  if (uri === DATABASES.uri) return { mimeType: PLAIN, text: await page('/', call) };
  const name = DATABASE_URI.exec(uri)?.[1];
  if (name === undefined) return undefined;
  return { mimeType: PLAIN, text: `${await page(`/db/${name}/latest`, call)}${REVISIONS}` };
}

function page(path: string, call: ToolCall): Promise<string> {
  return asked(call, { method: 'GET', path, accept: PLAIN });
}
