/** The requests that run State Changes, by a walk over their bytes; what is wrong with a command is collected. */
import { type AskedRevision, toAskedRevision } from '#base';
import { type AskedCommand, type Command, commandFrom, Faults } from '#model';
import { entriesOf, pairsOf } from './pair-fields.ts';
import { Fields, type MessageShape } from './request-walk.ts';

export interface CommandCall {
  readonly databaseName: string;
  readonly name: string;
  /** Undefined: the latest. */
  readonly version: number | bigint | undefined;
  readonly command: Command | undefined;
  readonly faults: Faults;
}

export interface ExecuteCall extends CommandCall {
  readonly lastSeen: AskedRevision | undefined;
}

export interface DecideCall extends CommandCall {
  readonly at: AskedRevision | 'latest';
}

const TEXTS = [
  [0x0a, 'database_name'],
  [0x12, 'state_change_name'],
] as const;

const PROCESS: MessageShape = {
  type: 'ProcessStateChangeRequest',
  texts: new Map(TEXTS),
  bytes: new Map([
    [0x1a, 'command'],
    [0x22, 'parameters'],
  ]),
};

const EXECUTE: MessageShape = {
  type: 'ExecuteStateChangeRequest',
  texts: new Map(TEXTS),
  bytes: new Map([[0x2a, 'request']]),
  numbers: new Map([
    [0x18, 'version'],
    [0x20, 'last_seen_revision'],
  ]),
};

const DECIDE: MessageShape = {
  type: 'DecideStateChangeRequest',
  texts: new Map(TEXTS),
  bytes: new Map([[0x2a, 'request']]),
  numbers: new Map([
    [0x18, 'version'],
    [0x20, 'revision'],
  ]),
};

const COMMAND: MessageShape = {
  type: 'Command',
  texts: new Map([[0x0a, 'content_type']]),
  bytes: new Map([[0x12, 'bytes']]),
};

const COMMAND_REQUEST: MessageShape = {
  type: 'CommandRequest',
  texts: new Map([
    [0x0a, 'method'],
    [0x12, 'path'],
  ]),
  bytes: new Map([
    [0x1a, 'query_params'],
    [0x22, 'headers'],
    [0x2a, 'body'],
  ]),
};

const PARAMETERS = 'ProcessStateChangeRequest.ParametersEntry';

const NO_BYTES = new Uint8Array(0);

export function parseProcess(message: Uint8Array): CommandCall {
  const faults = new Faults();
  const fields = new Fields(message, PROCESS, { field: '', faults });
  const sent = new Fields(fields.bytes('command') ?? NO_BYTES, COMMAND, { field: 'command', faults });
  const parameters = new Map(entriesOf(fields, 'parameters', { type: PARAMETERS, field: '', faults }));
  const contentType = sent.text('content_type');
  const asked = { contentType: contentType === '' ? undefined : contentType, body: sent.bytes('bytes'), parameters };
  return { ...calledIn(fields), version: undefined, command: commandFrom(asked, { field: 'command', faults }), faults };
}

export function parseExecute(message: Uint8Array): ExecuteCall {
  const faults = new Faults();
  const fields = new Fields(message, EXECUTE, { field: '', faults });
  const lastSeen = fields.number('last_seen_revision');
  return {
    ...calledIn(fields),
    version: fields.number('version') ?? 0,
    command: requestIn(fields, faults),
    lastSeen: lastSeen === undefined ? undefined : toAskedRevision(lastSeen),
    faults,
  };
}

export function parseDecide(message: Uint8Array): DecideCall {
  const faults = new Faults();
  const fields = new Fields(message, DECIDE, { field: '', faults });
  const revision = fields.number('revision');
  return {
    ...calledIn(fields),
    version: fields.number('version'),
    command: requestIn(fields, faults),
    at: revision === undefined ? 'latest' : toAskedRevision(revision),
    faults,
  };
}

function calledIn(fields: Fields): Pick<CommandCall, 'databaseName' | 'name'> {
  return { databaseName: fields.text('database_name') ?? '', name: fields.text('state_change_name') ?? '' };
}

function requestIn(fields: Fields, faults: Faults): Command | undefined {
  const place = { field: 'request', faults };
  const sent = new Fields(fields.bytes('request') ?? NO_BYTES, COMMAND_REQUEST, place);
  const asked: AskedCommand = {
    method: unlessEmpty(sent.text('method')),
    path: unlessEmpty(sent.text('path')),
    queryParameters: pairsOf(sent, 'query_params', place),
    headers: pairsOf(sent, 'headers', place),
    body: sent.bytes('body'),
  };
  return commandFrom(asked, place);
}

/** What a field has that was not set. */
function unlessEmpty(text: string | undefined): string | undefined {
  return text === '' ? undefined : text;
}
