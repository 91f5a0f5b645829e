/**
 * Creates the server object of the MCP SDK for a session or a single request, and connects tools, resources and errors
 * to it. This file is loaded with the first request (TC4).
 */
import { ProtocolError, ResourceNotFoundError, Server, type ServerContext } from '@modelcontextprotocol/server';
import type { Span, Tracer } from '#observability';
import { type Api, ApiFailure } from './api.ts';
import { RequestFailed, type ToolCall } from './api-call.ts';
import { inCallSpan } from './call-traces.ts';
import { rawArguments } from './message-json.ts';
import { RESOURCES, readResource, TEMPLATES } from './resources.ts';
import { Arguments, WrongArguments } from './tool-arguments.ts';
import { TOOLS } from './tools.ts';

export interface EndpointOptions {
  readonly api: Api;
  readonly version: string;
  readonly docs: string;
  /** Absent: nothing is traced. */
  readonly tracer?: Tracer | undefined;
}

const INSTRUCTIONS =
  'Cairn stores CloudEvents in numbered revisions. Read service://guides/roles first; then fetch GET / and follow the links.';
const INTERNAL = -32_603;
const INVALID_PARAMS = -32_602;
const NOT_FOUND = 404;

/** A request acts with its own Authorization; `known`: that of its session, for requests without one. */
export function endpoint(options: EndpointOptions, known?: string): Server {
  const { api, version, docs, tracer } = options;
  const server = new Server(
    { name: 'cairn', title: 'Cairn, an event database', version },
    { capabilities: { tools: {}, resources: {} }, instructions: INSTRUCTIONS },
  );
  const callOf = ({ mcpReq, http }: ServerContext, span: Span | undefined): ToolCall => {
    const authorization = http?.req?.headers.get('authorization') ?? known;
    return { api, authorization, signal: mcpReq.signal, span };
  };
  server.setRequestHandler('tools/list', () => ({ tools: TOOLS.map(({ call: _call, ...tool }) => tool) }));
  server.setRequestHandler('tools/call', ({ params }, context) => {
    const tool = TOOLS.find(({ name }) => name === params.name)?.name;
    return inCallSpan(tracer, { context, tool }, (span) => callTool(params, callOf(context, span)));
  });
  server.setRequestHandler('resources/list', () => ({ resources: [...RESOURCES] }));
  server.setRequestHandler('resources/templates/list', () => ({ resourceTemplates: [...TEMPLATES] }));
  server.setRequestHandler('resources/read', async ({ params: { uri } }, context) => {
    const found = await inCallSpan(tracer, { context }, (span) =>
      spoken(() => readThere(uri, callOf(context, span), docs)),
    );
    return { contents: [{ uri, ...found }] };
  });
  return server;
}

/** Used for all revisions of the protocol: the library reports "not found" as in the latest one, -32602. */
async function readThere(uri: string, call: ToolCall, docs: string): Promise<{ mimeType: string; text: string }> {
  const found = await readResource(uri, call, docs).catch((error: unknown) => {
    if (error instanceof RequestFailed && error.status === NOT_FOUND)
      throw new ResourceNotFoundError(uri, error.message);
    throw error;
  });
  if (found !== undefined) return found;
  const known = [...RESOURCES.map((each) => each.uri), ...TEMPLATES.map((each) => each.uriTemplate)].join(', ');
  throw new ResourceNotFoundError(uri, `There is no resource ${uri}; there are ${known}`);
}

type CallParams = { readonly name: string; readonly arguments?: Readonly<Record<string, unknown>> | undefined };

async function callTool(
  { name, arguments: given }: CallParams,
  call: ToolCall,
): Promise<{ content: { type: 'text'; text: string }[] }> {
  const tool = TOOLS.find((each) => each.name === name);
  if (tool === undefined) {
    const known = TOOLS.map((each) => each.name).join(', ');
    throw new ProtocolError(INVALID_PARAMS, `There is no tool ${name}; there are ${known}`);
  }
  const text = await spoken(() => tool.call(new Arguments(rawArguments(given), tool.inputSchema), call));
  return { content: [{ type: 'text', text }] };
}

/** Converts errors for the caller to the protocol's form; any other error is a bug. */
async function spoken<Value>(work: () => Promise<Value>): Promise<Value> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof WrongArguments) throw new ProtocolError(INVALID_PARAMS, error.message);
    if (error instanceof RequestFailed || error instanceof ApiFailure) throw new ProtocolError(INTERNAL, error.message);
    throw error;
  }
}
