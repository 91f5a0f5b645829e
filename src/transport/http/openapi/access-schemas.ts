/** Schemas of API keys and tokens. */
import { answer, count, list, ref, request, type Schema, TIME, text } from './schema.ts';

const ROLES = list(
  text(
    'A role, for some databases only with a pattern, such as reader:shop-*; an admin with a pattern may have a maximum of such databases, up to which it may create more, such as admin:shop-*:10.',
  ),
  { minItems: 1, maxItems: 32 },
);
const SECRETS = list(answer({ created_at: TIME }, { expires_at: TIME }), { minItems: 1, maxItems: 2 });
const SHOWN = { id: text(), name: text(), roles: ROLES, created_at: TIME, created_by: text() };
const KEY = { ...SHOWN, secrets: SECRETS };
const TOKEN = { ...SHOWN, expires_at: TIME };
const NAME = text('What people call it.', { maxLength: 128 });

export const ACCESS_SCHEMAS: Readonly<Record<string, Schema>> = {
  NewApiKey: request({ name: NAME, roles: ROLES }, { expires_at: TIME }),
  Rotation: request({}, { overlap_seconds: count('How long the secret of before counts on.') }),
  ApiKey: answer(KEY, { expires_at: TIME }),
  IssuedApiKey: answer({ key: text('With its secret, which no other answer has.'), ...KEY }, { expires_at: TIME }),
  ApiKeyList: answer({ keys: list(ref('ApiKey')) }),
  NewToken: request({ name: NAME, roles: ROLES }, { expires_in_seconds: count('1 to 3600; 900 without.') }),
  Token: answer(TOKEN),
  IssuedToken: answer({ token: text('With its secret, which no other answer has.'), ...TOKEN }),
  TokenList: answer({ tokens: list(ref('Token')) }),
};
