/**
 * `cairn auth key …` and `cairn auth token …`: manages API keys and tokens of a running cluster by its HTTP API.
 *
 * Only the new secret is written to stdout, so that it can be piped; its description goes to stderr. Exit code 0: done.
 * 1: refused, or no answer; the reason is on stderr. 2: the command line is malformed.
 */
import { quote } from '#base';
import { isKeyId } from '#model';
import { type CommandPorts, runCommandLine, table } from './command-line.ts';
import {
  API_OPTIONS,
  API_URL_DEFAULT,
  type ApiPorts,
  type ApiRequest,
  jsonOf,
  type Members,
  memberOf,
  openApi,
  textIn,
  urlFaults,
} from './http-api.ts';
import { misplacedOptions, readDuration, type Values } from './options.ts';

/** Per kind of credential: the path of the API, and the member of a list answer. */
const KINDS = {
  key: { path: '/api/v1/auth/keys', list: 'keys' },
  token: { path: '/api/v1/auth/tokens', list: 'tokens' },
} as const;

const AUTH_HELP = `Usage: cairn auth key | token COMMAND --key-file FILE [--url URL] [--tls-ca-file FILE]

cairn auth key, for administrators of all databases:
  create --name NAME --roles ROLES [--expires-in TIME]
                                    Issues a key and prints it, once. ROLES are reader, writer, deployer or admin, each for
                                    all databases or for a pattern: reader:shop-*,writer:shop. admin:shop-*:10 limits the
                                    number of databases that the key may create to 10.
  list                              Lists all keys, without their secrets.
  rotate ID [--overlap TIME]        Issues a new secret for a key and prints it. The previous secret stays valid for TIME, 1d
                                    by default; 0s ends it at once.
  revoke ID                         Revokes a key and the tokens that it has issued.

cairn auth token, for every principal:
  create --name NAME --roles ROLES [--expires-in TIME]
                                    Issues a token with a subset of your roles and prints it, once. It expires after TIME,
                                    15m by default, 1h at most.
  list                              Lists the tokens that you have issued; administrators of all databases see all.
  revoke ID                         Revokes a token.

FILE contains your key, such as the file of --auth-bootstrap-key-file; - reads it from stdin. URL is the HTTP API of any node,
${API_URL_DEFAULT} by default. TIME is a number and s, m, h or d. --json prints the answer of the server. --tls-ca-file
names certificate authorities in PEM to trust for an https URL, in addition to those of Node.js.
`;

export interface AuthPorts extends CommandPorts, ApiPorts {
  readonly nowMs: () => number;
}

type Kind = keyof typeof KINDS;

/** A command, as a request, and the id that it names. */
interface Order {
  readonly command: 'create' | 'list' | 'rotate' | 'revoke';
  readonly id?: string;
  readonly request: ApiRequest;
}

/** Runs the command. @returns the exit code */
export function authCommand(args: readonly string[], ports: AuthPorts): Promise<number> {
  return runCommandLine({ name: 'auth', help: AUTH_HELP, options: OPTIONS }, args, ports, async (values, words) => {
    const faults = [...urlFaults(values)];
    const [what, ...others] = words;
    const kind = what === 'key' || what === 'token' ? what : undefined;
    if (kind === undefined) faults.push(`unknown command ${quote(what ?? '')}; commands are key and token`);
    const order = kind && readOrder(others, { kind, values, faults, nowMs: ports.nowMs() });
    const whose = kind === 'token' ? 'your key' : 'the key of an administrator';
    if (values['key-file'] === undefined) faults.push(`--key-file is missing: a file with ${whose}`);
    if (kind === undefined || order === undefined || faults.length > 0) return faults;
    const text = (await openApi(values, ports)(order.request)).body.toString();
    if (values.json === true) ports.out(text === '' ? '{}\n' : `${text}\n`);
    else show(kind, order, text, ports);
    return 0;
  });
}

function show(kind: Kind, { command, id: named }: Order, text: string, { out, err }: AuthPorts): void {
  if (command === 'revoke') {
    err(`${kind} ${named} is revoked\n`);
    return;
  }
  const answer = jsonOf(text);
  if (command === 'list') {
    out(`${listed(kind, answer).join('\n')}\n`);
    return;
  }
  const { id, name, roles, expiry } = shown(answer);
  const until = expiry === undefined ? '' : `, until ${expiry}`;
  err(`${kind} ${id} (${name}): ${roles}${until}; it is shown this once\n`);
  out(`${textIn(answer, kind)}\n`);
}

function listed(kind: Kind, answer: Members): readonly string[] {
  const all = answer[KINDS[kind].list];
  const rows = (Array.isArray(all) ? all.map(memberOf) : []).map((each) => {
    const { id, name, roles, expiry = 'never', by } = shown(each);
    const secrets = Array.isArray(each['secrets']) ? each['secrets'].length : 0;
    return [id, name, roles, expiry, ...(kind === 'key' ? [String(secrets)] : []), by];
  });
  const heads = ['ID', 'NAME', 'ROLES', 'EXPIRES', ...(kind === 'key' ? ['SECRETS'] : []), 'BY'];
  return table([heads, ...rows]);
}

interface Shown {
  readonly id: string;
  readonly name: string;
  readonly roles: string;
  readonly expiry: string | undefined;
  readonly by: string;
}

function shown(key: Members): Shown {
  const roles = Array.isArray(key['roles']) ? key['roles'].map(String).join(',') : '';
  const expiry = 'expires_at' in key ? textIn(key, 'expires_at') : undefined;
  return { id: textIn(key, 'id'), name: textIn(key, 'name'), roles, expiry, by: textIn(key, 'created_by') };
}

const OPTIONS = {
  'expires-in': { type: 'string', of: 'create' },
  json: { type: 'boolean' },
  name: { type: 'string', of: 'create' },
  overlap: { type: 'string', of: 'rotate' },
  roles: { type: 'string', of: 'create' },
  ...API_OPTIONS,
} as const;

interface Reading {
  readonly kind: Kind;
  readonly values: Values<typeof OPTIONS>;
  readonly faults: string[];
  readonly nowMs: number;
}

function readOrder(words: readonly string[], reading: Reading): Order | undefined {
  const { kind, values, faults } = reading;
  const { path } = KINDS[kind];
  const [command, id, ...more] = words;
  if (more.length > 0) faults.push(`unexpected argument ${quote(more.join(' '))}`);
  faults.push(...misplacedOptions(values, OPTIONS, command));
  if (command === 'create' || command === 'list') {
    if (id !== undefined) faults.push(`${command} takes no ${kind}; unexpected argument ${quote(id)}`);
    return command === 'list' ? { command, request: { path } } : readCreation(path, reading);
  }
  if ((command !== 'rotate' || kind === 'token') && command !== 'revoke') {
    const commands = kind === 'token' ? 'create, list and revoke' : 'create, list, rotate and revoke';
    faults.push(`unknown command ${quote(command ?? '')}; commands are ${commands}`);
    return undefined;
  }
  if (id === undefined || !isKeyId(id)) {
    faults.push(`${command} needs the id of a ${kind}: ${quote(id ?? '')} is not one (16 hex digits); list shows them`);
    return undefined;
  }
  if (command === 'revoke') return { command, id, request: { method: 'DELETE', path: `${path}/${id}` } };
  const overlap = { overlap_seconds: readDuration('overlap', values.overlap, faults) };
  return { command, id, request: { method: 'POST', path: `${path}/${id}/rotate`, body: JSON.stringify(overlap) } };
}

function readCreation(path: string, { kind, values, faults, nowMs }: Reading): Order | undefined {
  const { name, roles } = values;
  if (name === undefined) faults.push('--name is missing');
  if (roles === undefined) faults.push('--roles is missing, such as writer:shop');
  const seconds = readDuration('expires-in', values['expires-in'], faults);
  if (name === undefined || roles === undefined || faults.length > 0) return undefined;
  const expiry =
    kind === 'token' || seconds === undefined
      ? { expires_in_seconds: seconds }
      : { expires_at: new Date(nowMs + seconds * 1000).toISOString() };
  const body = JSON.stringify({ name, roles: roles.split(','), ...expiry });
  return { command: 'create', request: { method: 'POST', path, body } };
}
