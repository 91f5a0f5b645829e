/** Reads the requests that run State Changes, and collects the faults of a command. */
import { toAskedRevision } from '#base';
import { type Command, commandFrom, Faults } from '#model';
import type { AskedDecision, ExecuteCommandRequest, ReadAt } from '#service';
import type { Requests } from '../../../proto/gen/requests.ts';
import { readRequest } from '../request-reader.ts';

export type CommandCall = Pick<ExecuteCommandRequest, keyof AskedDecision | 'lastSeen'>;

export function parseProcess(message: Uint8Array): CommandCall {
  const faults = new Faults();
  const sent = readRequest('cairn.v1.ProcessStateChangeRequest', message, faults);
  const { databaseName, stateChangeName: name, command, parameters } = sent;
  const asked = {
    contentType: command.contentType || undefined,
    body: command.bytes.length === 0 ? undefined : command.bytes,
    parameters: new Map(parameters.map(({ key, value }) => [key, value])),
  };
  return { databaseName, name, command: commandFrom(asked, { field: 'command', faults }), faults };
}

export function parseExecute(message: Uint8Array): CommandCall {
  const faults = new Faults();
  const sent = readRequest('cairn.v1.ExecuteStateChangeRequest', message, faults);
  const { databaseName, stateChangeName: name, version, lastSeenRevision, request } = sent;
  const lastSeen = lastSeenRevision === undefined ? undefined : toAskedRevision(lastSeenRevision);
  return { databaseName, name, version, command: commandIn(request, faults), lastSeen, faults };
}

export function parseDecide(message: Uint8Array): AskedDecision & { readonly at: ReadAt } {
  const faults = new Faults();
  const sent = readRequest('cairn.v1.DecideStateChangeRequest', message, faults);
  const { databaseName, stateChangeName: name, version, revision, request } = sent;
  const at = revision === undefined ? 'latest' : toAskedRevision(revision);
  return { databaseName, name, version, command: commandIn(request, faults), at, faults };
}

function commandIn(sent: Requests['cairn.v1.CommandRequest'], faults: Faults): Command | undefined {
  const { method, path, queryParams, headers, body } = sent;
  const asked = {
    method: method || undefined,
    path: path || undefined,
    queryParameters: queryParams.map(pairOf),
    headers: headers.map(pairOf),
    body,
  };
  return commandFrom(asked, { field: 'request', faults });
}

function pairOf({ name, value }: Requests['cairn.v1.NameValue']): readonly [name: string, value: string] {
  return [name, value];
}
