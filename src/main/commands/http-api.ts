/** Requests of commands to the HTTP API of a node: their options, the credential, and the reason of a refusal. */
import { messageOf, quote } from '#base';
import { refused } from '../process/refusals.ts';

export const API_URL_DEFAULT = 'http://127.0.0.1:3000';

export const API_OPTIONS = {
  'key-file': { type: 'string' },
  'tls-ca-file': { type: 'string' },
  url: { type: 'string' },
} as const;

/** Values of these options. */
export type ApiAccess = { readonly [Name in keyof typeof API_OPTIONS]?: string | undefined };

export interface ApiPorts {
  readonly fetch: typeof fetch;
  /** Reads a file; `-` reads stdin. */
  readonly read: (file: string) => string;
  /** Adds certificate authorities to those that the process trusts. */
  readonly trust: (authorities: string, file: string) => void;
  /** Absent: a request is sent once. Otherwise it is repeated when the server is busy, and says for how long. */
  readonly sleep?: (ms: number) => Promise<void>;
}

export interface ApiRequest {
  readonly method?: string;
  readonly path: string;
  readonly body?: string;
}

export interface ApiReply {
  readonly headers: Headers;
  readonly body: Buffer;
}

/** @throws DatabaseError: there is no answer, or none of success */
export type AskApi = (request: ApiRequest) => Promise<ApiReply>;

const REPETITIONS_MAX = 60;
/** Paths of the API are absolute. A message of fetch about a user name would contain the password. */
const API_URL = /^https?:\/\/[^/?#@]+\/?$/i;

/** Returns a sentence for a malformed URL. */
export function urlFaults({ url = API_URL_DEFAULT }: ApiAccess): readonly string[] {
  if (URL.canParse(url) && API_URL.test(url)) return [];
  return [`--url is ${quote(url)}; it must be the URL of an HTTP API, such as ${API_URL_DEFAULT}`];
}

/** Reads the key and the certificate authorities. @throws DatabaseError: a file cannot be used */
export function openApi(access: ApiAccess, { fetch, read, trust, sleep }: ApiPorts): AskApi {
  const { url = API_URL_DEFAULT, 'key-file': keyFile, 'tls-ca-file': caFile } = access;
  const key = keyFile && keyIn(orRefused('the key cannot be read', () => read(keyFile)).trim(), keyFile);
  if (caFile !== undefined) orRefused('--tls-ca-file cannot be used', () => trust(read(caFile), caFile));
  const headers = { accept: 'application/json', 'content-type': 'application/json', ...(key && { 'x-api-key': key }) };
  return async ({ method = 'GET', path, body }) => {
    const init = { method, redirect: 'error', headers, ...(body !== undefined && { body }) } as const;
    for (let count = 0; ; count++) {
      const asked = fetch(new URL(path, url), init).then(async (reply) => ({
        reply,
        bytes: await reply.arrayBuffer(),
      }));
      const { reply, bytes } = await asked.catch((cause: unknown) => {
        // The error of fetch only says that it failed; its cause has the reason.
        const failed = cause instanceof Error && cause.cause instanceof Error ? cause.cause : cause;
        throw refused(`no answer from ${url} (${messageOf(failed).trim()})`);
      });
      const answer = Buffer.from(bytes);
      if (reply.ok) return { headers: reply.headers, body: answer };
      const seconds = Number(reply.headers.get('retry-after'));
      if (sleep === undefined || !(seconds > 0) || count === REPETITIONS_MAX) {
        throw refused(reasonOf(answer.toString()) ?? `${url} answered ${reply.status}; it may not be a Cairn node`);
      }
      await sleep(seconds * 1000);
    }
  };
}

/** Returns an `ask` that refuses the reply of another instance than the first one: a name can be given again. */
export function ofOneInstance(ask: AskApi, database: string): AskApi {
  let instance: string | null | undefined;
  return async (request) => {
    const reply = await ask(request);
    const id = reply.headers.get('x-database-id');
    instance ??= id;
    if (id !== instance) throw refused(`${quote(database)} is another database by now`);
    return reply;
  };
}

/** A message of fetch about a key that is no header would contain it. */
function keyIn(content: string, file: string): string {
  if (/^[!-~]+$/.test(content)) return content;
  throw refused(`--key-file ${file} must contain a key in one line, and nothing else`);
}

function orRefused<Value>(what: string, work: () => Value): Value {
  try {
    return work();
  } catch (cause) {
    throw refused(`${what}: ${messageOf(cause)}`);
  }
}

/** Members of an answer, none of them assured: the server may be of another release, or not Cairn. */
export type Members = Readonly<Record<string, unknown>>;

const isMembers = (value: unknown): value is Members => typeof value === 'object' && value !== null;

export function memberOf(value: unknown): Members {
  return isMembers(value) ? value : {};
}

export function jsonOf(text: string): Members {
  try {
    return memberOf(JSON.parse(text));
  } catch {
    return {};
  }
}

export function textIn(members: Members, name: string): string {
  const value = members[name];
  return typeof value === 'string' ? value : '';
}

function reasonOf(text: string): string | undefined {
  return textIn(memberOf(jsonOf(text)['error']), 'message') || undefined;
}
