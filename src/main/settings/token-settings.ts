/** Settings of external authentication: OpenID providers, and proxies that identify the client in a signed header. */
import {
  type Each,
  listOf,
  optionalFile,
  plainText,
  type Setting,
  type SettingType,
  textType,
  wordOr,
} from './setting.ts';

export interface TokenSettings
  extends Each<string, 'oidcIssuer' | 'oidcJwksUrl' | 'oidcRolesClaim' | 'mcpUrl' | 'albKeysUrl' | 'albRolesClaim'>,
    Each<string, 'signedHeader' | 'signedHeaderKeys' | 'signedHeaderIssuer' | 'signedHeaderRolesClaim'>,
    Each<string, 'authGrantsFile' | 'authExtractorModule'>,
    Each<readonly string[], 'oidcAudience' | 'albSigner' | 'signedHeaderAudience'> {}

const URL_LENGTH_MAX = 2_048;

/** Not normalized: an issuer is compared exactly. */
const url: SettingType<string> = textType('a URL such as https://login.example/shop', isPlainUrl);

function isPlainUrl(text: string): boolean {
  const parsed = text.length <= URL_LENGTH_MAX && !/[\p{Cc}\s#]/u.test(text) ? URL.parse(text) : null;
  if (parsed === null || parsed.username !== '' || parsed.password !== '') return false;
  return parsed.protocol === 'https:' || parsed.protocol === 'http:';
}

/** Normalized, because clients compare it with the URL that they use. */
const clientUrl: SettingType<string> = {
  expects: 'a URL without a query such as https://shop.example/mcp',
  read: (text) => (isPlainUrl(text) && !text.includes('?') ? new URL(text).href : undefined),
  write: String,
};

const names: SettingType<readonly string[]> = listOf({
  expects: 'names separated by commas',
  max: 32,
  read: (text) => (text !== '' && !/\p{Cc}/u.test(text) ? text : undefined),
  write: String,
});

/** Headers that other authentication methods or the request itself use. */
const TAKEN: ReadonlySet<string> = new Set(['authorization', 'cookie', 'host', 'x-amzn-oidc-data', 'x-api-key']);

const headerName: SettingType<string> = textType(
  'the name of a header that nothing else uses, such as X-Goog-IAP-JWT-Assertion',
  (text) => /^[\da-z-]{1,64}$/i.test(text) && !TAKEN.has(text.toLowerCase()),
);

const keysPlace: SettingType<string> = {
  expects: 'a URL of JSON Web Keys, or a file with a public key as PEM',
  read: (text) => (/^https?:/i.test(text) ? url : plainText('a file', 4096)).read(text),
  write: String,
};

const rolesClaim = { type: plainText('a claim', 255), default: 'roles' } as const;

export const TOKEN_SETTINGS: { readonly [K in keyof TokenSettings]: Setting<TokenSettings[K]> } = {
  oidcIssuer: {
    type: wordOr('none', url),
    default: 'none',
    help: 'OpenID provider whose bearer tokens are accepted, exactly as in their claim iss. none: no OpenID tokens.',
  },
  oidcAudience: {
    type: names,
    default: [],
    help: 'Accepted audiences (aud) of tokens of oidc-issuer. A token for none of them is refused, even when it is valid elsewhere.',
  },
  oidcJwksUrl: {
    type: wordOr('discovery', url),
    default: 'discovery',
    help: 'URL of the signing keys of oidc-issuer. discovery: the jwks_uri in its /.well-known/openid-configuration.',
  },
  oidcRolesClaim: {
    ...rolesClaim,
    help: 'Claim of a token that contains roles, as a list or as text separated by spaces: grants such as reader:shop-*, or names defined in auth-grants-file. A nested claim is written with dots, such as realm_access.roles.',
  },
  mcpUrl: {
    type: wordOr('auto', clientUrl),
    default: 'auto',
    help: 'URL under which clients reach MCP. With oidc-issuer it is also the resource for which clients request their tokens. Behind a load balancer or a proxy, set the same URL on every node. auto: mcp-port at advertise-host.',
  },
  albSigner: {
    type: names,
    default: [],
    help: 'ARNs of AWS Application Load Balancers whose header X-Amzn-OIDC-Data identifies the client. none: the header is ignored.',
  },
  albKeysUrl: {
    type: wordOr('region', url),
    default: 'region',
    help: 'Base URL of the signing keys of alb-signer; a slash and the key ID are appended. region: the URL of AWS for the region of the load balancer.',
  },
  albRolesClaim: { ...rolesClaim, help: 'Like oidc-roles-claim, for tokens of alb-signer.' },
  signedHeader: {
    type: wordOr('none', headerName),
    default: 'none',
    help: 'Header in which a proxy identifies the client by a JSON Web Token, such as X-Goog-IAP-JWT-Assertion.',
  },
  signedHeaderKeys: {
    type: wordOr('none', keysPlace),
    default: 'none',
    help: 'Signing keys of signed-header, such as https://www.gstatic.com/iap/verify/public_key-jwk. A file is read at startup.',
  },
  signedHeaderIssuer: {
    type: wordOr('none', plainText('a name', 2048)),
    default: 'none',
    help: 'Required issuer (iss) of tokens in signed-header, compared exactly.',
  },
  signedHeaderAudience: {
    type: names,
    default: [],
    help: 'Accepted audiences (aud) of tokens in signed-header.',
  },
  signedHeaderRolesClaim: { ...rolesClaim, help: 'Like oidc-roles-claim, for tokens in signed-header.' },
  authGrantsFile: optionalFile(
    'JSON file that maps each role of an identity provider to grants, such as {"clerks": ["writer:shop-*"]}. Roles that are not in the file grant nothing. none: the roles are grants themselves. Read at startup.',
  ),
  authExtractorModule: optionalFile(
    'JavaScript module that identifies the client of a request in its own way; it exports createExtractor (docs/security.md). It runs inside the node with all rights of the node. Loaded at startup.',
  ),
};
