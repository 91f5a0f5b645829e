/** The methods that administer API keys. Callers may choose the secrets, so that they can repeat their requests. */
import { instantFromMs, instantToMs } from '#base';
import { type ApiKey, Faults, formatGrant, GRANT_RULE, type Grant, isKeyId, parseGrant } from '#model';
import type { ApiKeysRequest, IssueApiKeyRequest } from '#service';
import {
  FetchApiKeyReply,
  IssueApiKeyReply,
  ListApiKeysReply,
  RevokeApiKeyReply,
  RotateApiKeyReply,
  type ApiKey as SentKey,
} from '../../../proto/gen/cairn/v1/api_key.ts';
import type { Requests } from '../../../proto/gen/requests.ts';
import { authenticationOff } from '../access.ts';
import { sentInstant } from '../request-reader.ts';
import { tracedAs } from './call-traces.ts';
import type { GrpcContext } from './metadata.ts';
import { type Answer, shape, type UnaryShape, unary } from './unary.ts';
import type { Call } from './wire/call.ts';
import type { UnaryMethod } from './wire/method.ts';

const HASH_BYTES = 32;

type SentRequest = Requests['cairn.v1.IssueApiKeyRequest'];

export function apiKeyMethods({ service, isAuthenticated }: GrpcContext): readonly UnaryMethod[] {
  const method = <Request, Reply>(
    own: UnaryShape<Request, Reply>,
    answer: (request: Request, asked: ApiKeysRequest) => Promise<Reply>,
  ): UnaryMethod =>
    unary(own, async (request, call): Promise<Answer<Reply>> => {
      if (!isAuthenticated) throw authenticationOff();
      return { message: await answer(request, asked(call)) };
    });
  const traits = { mustAnswer: true };
  return [
    method(shape('IssueApiKey', IssueApiKeyReply, traits), async (request, common) => {
      const { key, text } = await service.issueApiKey({ ...issueOf(request), ...common });
      return { apiKey: messageOf(key), key: text };
    }),
    method(shape('ListApiKeys', ListApiKeysReply), async (_request, common) => ({
      apiKeys: (await service.listApiKeys(common)).map(messageOf),
    })),
    method(shape('FetchApiKey', FetchApiKeyReply), async ({ id }, common) => ({
      apiKey: messageOf(await service.findApiKey({ id, ...common })),
    })),
    method(shape('RotateApiKey', RotateApiKeyReply, traits), async ({ id, overlapSeconds, secretSha256 }, common) => {
      const faults = new Faults();
      const hash = hashOf(secretSha256, faults);
      faults.throwIfAny('The request is malformed');
      const { key, text } = await service.rotateApiKey({ id, overlapSeconds, hash, ...common });
      return { apiKey: messageOf(key), key: text };
    }),
    method(shape('RevokeApiKey', RevokeApiKeyReply, traits), async ({ id, expiresAt }, common) => {
      await service.revokeApiKey({ id, expiresAtMs: msOf(expiresAt), ...common });
      return {};
    }),
  ];
}

function asked(call: Call): ApiKeysRequest {
  return { signal: call.signal, ...tracedAs(call) };
}

function issueOf({ name, roles, expiresAt, id, secretSha256 }: SentRequest): Omit<IssueApiKeyRequest, 'signal'> {
  const faults = new Faults();
  const hash = hashOf(secretSha256, faults);
  if (id !== '' && !isKeyId(id)) faults.add('id', 'must be 16 lowercase hexadecimal digits', id);
  if ((id === '') !== (hash === undefined)) faults.add('id', 'must be set together with secret_sha256', id);
  const grants = roles.flatMap((role, at) => grantOf(role, `roles[${at}]`, faults));
  faults.throwIfAny('The API key is malformed');
  return { name, grants, expiresAtMs: msOf(expiresAt), made: hash && { id, hash } };
}

function grantOf(text: string, field: string, faults: Faults): readonly Grant[] {
  const grant = parseGrant(text);
  if (grant === undefined) faults.add(field, GRANT_RULE, text);
  return grant === undefined ? [] : [grant];
}

/** Undefined: absent. */
function hashOf(bytes: Uint8Array, faults: Faults): Uint8Array | undefined {
  if (bytes.length === 0) return undefined;
  if (bytes.length !== HASH_BYTES) faults.add('secret_sha256', `must have ${HASH_BYTES} bytes`, bytes.length);
  return bytes.slice();
}

/** Undefined: absent. */
function msOf(timestamp: SentRequest['expiresAt']): number | undefined {
  return timestamp && instantToMs(sentInstant(timestamp, 'expires_at'));
}

function messageOf({ id, name, grants, createdAtMs, createdBy, expiresAtMs, secrets }: ApiKey): SentKey {
  return {
    id,
    name,
    roles: grants.map(formatGrant),
    createdAt: instantFromMs(createdAtMs),
    createdBy,
    expiresAt: expiresAtMs === undefined ? undefined : instantFromMs(expiresAtMs),
    secrets: secrets.map((secret) => ({
      sha256: Buffer.from(secret.hash),
      createdAt: instantFromMs(secret.createdAtMs),
      expiresAt: secret.expiresAtMs === undefined ? undefined : instantFromMs(secret.expiresAtMs),
    })),
  };
}
