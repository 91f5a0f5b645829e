/** `cairn publish`: sends a component with its definition to a node over HTTP. Publishing it again adds no version. */
import { existsSync, readFileSync, statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { readArguments } from './arguments.ts';
import { buildProject } from './build.ts';
import { messageOf, ToolError, UsageError } from './failures.ts';
import { projectIn } from './project.ts';

const OPTIONS = ['url', 'database', 'definition', 'name'] as const;
const URL_DEFAULT = 'http://127.0.0.1:3000';
/** Route, keyed on the name member of the definition. */
const ROUTES: ReadonlyMap<string, string> = new Map([
  ['state_view_name', 'state-views'],
  ['state_change_name', 'state-changes'],
  ['presenter_name', 'presenters'],
]);

export async function publish(args: readonly string[], base: string, say: (text: string) => void): Promise<void> {
  const { subject = '.', values } = readArguments(args, OPTIONS);
  const { database, url = URL_DEFAULT } = values;
  if (database === undefined) throw new UsageError('--database is missing; it names where to publish');
  const { component, definition } = await filesOf(resolve(base, subject), values.definition, { base, say });
  const { metadata, route } = readDefinition(definition, values.name);
  const form = new FormData();
  form.append('metadata', new Blob([JSON.stringify(metadata)], { type: 'application/json' }));
  form.append(
    'wasm',
    new Blob([new Uint8Array(readFileSync(component))], { type: 'application/wasm' }),
    'component.wasm',
  );
  const target = new URL(`/api/v1/db/${encodeURIComponent(database)}/${route}`, urlOf(url));
  const answer = await fetch(target, { method: 'POST', body: form }).catch((error: unknown) => {
    throw new ToolError(
      `${target.origin} is not reached: ${messageOf(error instanceof Error ? (error.cause ?? error) : error)}`,
    );
  });
  const text = await answer.text();
  if (answer.status !== 201) throw new ToolError(refusalOf(answer.status, text));
  say(`${new URL(answer.headers.get('location') ?? '', target).href}\n`);
}

function urlOf(text: string): URL {
  const url = URL.parse(text);
  if (url !== null && (url.protocol === 'http:' || url.protocol === 'https:')) return url;
  throw new UsageError(`${text} is no URL of a node; write it as ${URL_DEFAULT}`);
}

interface Files {
  readonly component: string;
  readonly definition: string;
}

interface Around {
  readonly base: string;
  readonly say: (text: string) => void;
}

/** Files of a project, which is built when it has changed; or of a component with a definition. */
async function filesOf(path: string, asked: string | undefined, { base, say }: Around): Promise<Files> {
  const definition = asked === undefined ? undefined : resolve(base, asked);
  if (existsSync(path) && statSync(path).isDirectory()) {
    const project = projectIn(path);
    await buildProject(project, base, say);
    return { component: project.component, definition: definition ?? project.definition };
  }
  if (!existsSync(path)) throw new ToolError(`${path} is not there; name a folder with a component.ts, or a component`);
  return { component: path, definition: definition ?? join(path, '../definition.json') };
}

function readDefinition(path: string, name: string | undefined): { readonly metadata: object; readonly route: string } {
  if (!existsSync(path)) throw new ToolError(`${path} is not there; name the definition by --definition`);
  const metadata = parsed(path);
  for (const [member, route] of ROUTES) {
    if (member in metadata) return { metadata: name === undefined ? metadata : { ...metadata, [member]: name }, route };
  }
  throw new ToolError(`${path} names nothing; give it ${[...ROUTES.keys()].join(', or ')}`);
}

function parsed(path: string): object {
  try {
    const value: unknown = JSON.parse(readFileSync(path, 'utf8'));
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value;
  } catch (error) {
    throw new ToolError(`${path} is not JSON: ${messageOf(error)}`);
  }
  throw new ToolError(`${path} must be a JSON object`);
}

interface Refusal {
  readonly error?: {
    readonly message?: string;
    readonly details?: {
      readonly reason?: string;
      readonly violations?: readonly { readonly field?: string; readonly description?: string }[];
    };
  };
}

/** The code, the message, and every field violation. */
function refusalOf(status: number, text: string): string {
  const { error }: Refusal = text.startsWith('{') ? JSON.parse(text) : {};
  if (error?.message === undefined) return `The node answers ${status}: ${text.slice(0, 200)}`;
  const { reason, violations = [] } = error.details ?? {};
  const parts = violations.map(({ field, description }) => `\n  ${field}: ${description}`);
  return `${reason ?? status}: ${error.message}${parts.join('')}`;
}
