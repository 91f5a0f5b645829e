/** The settings by which others than this cluster say who asks: an identity provider, and proxies in front of it. */
import { plainText, type Setting, type SettingType, wordOr } from './setting.ts';

export interface TokenSettings {
  /** Exactly as it stands in tokens. */
  readonly oidcIssuer: string;
  readonly oidcAudience: readonly string[];
  readonly oidcJwksUrl: string;
  readonly oidcRolesClaim: string;
  /** `auto`, or in normal form. */
  readonly mcpUrl: string;
  readonly albSigner: readonly string[];
  readonly albKeysUrl: string;
  readonly albRolesClaim: string;
  readonly signedHeader: string;
  /** A URL or a file. */
  readonly signedHeaderKeys: string;
  readonly signedHeaderIssuer: string;
  readonly signedHeaderAudience: readonly string[];
  readonly signedHeaderRolesClaim: string;
  readonly authGrantsFile: string;
  readonly authExtractorModule: string;
}

const URL_LENGTH_MAX = 2_048;
const NAMES_MAX = 32;

/** Kept as it was written: an issuer is compared letter by letter. */
const url: SettingType<string> = {
  expects: 'a URL such as https://login.example/shop',
  read: (text) => (isPlainUrl(text) ? text : undefined),
  write: String,
};

function isPlainUrl(text: string): boolean {
  const parsed = text.length <= URL_LENGTH_MAX && !/[\p{Cc}\s#]/u.test(text) ? URL.parse(text) : null;
  if (parsed === null || parsed.username !== '' || parsed.password !== '') return false;
  return parsed.protocol === 'https:' || parsed.protocol === 'http:';
}

/** In the form in which clients compare it with the one that they use. */
const placeOfClients: SettingType<string> = {
  expects: 'a URL without a query such as https://shop.example/mcp',
  read: (text) => (isPlainUrl(text) && !text.includes('?') ? new URL(text).href : undefined),
  write: String,
};

const names: SettingType<readonly string[]> = {
  expects: 'none, or names separated by commas',
  read: (text) => {
    if (text === 'none') return [];
    const list = text.split(',').map((each) => each.trim());
    const isSound = list.length <= NAMES_MAX && list.every((each) => each !== '' && !/\p{Cc}/u.test(each));
    return isSound ? list : undefined;
  },
  write: (list) => (list.length === 0 ? 'none' : list.join(',')),
};

/** Of others that say who asks, and of those that a request has for itself. */
const TAKEN: ReadonlySet<string> = new Set(['authorization', 'cookie', 'host', 'x-amzn-oidc-data', 'x-api-key']);

const headerName: SettingType<string> = {
  expects: 'the name of a header that nothing else uses, such as X-Goog-IAP-JWT-Assertion',
  read: (text) => (/^[\da-z-]{1,64}$/i.test(text) && !TAKEN.has(text.toLowerCase()) ? text : undefined),
  write: String,
};

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
    help: 'The OpenID provider whose bearer tokens are taken, as they name it in iss. none: of nobody.',
  },
  oidcAudience: {
    type: names,
    default: [],
    help: 'What tokens of oidc-issuer must be for (aud): any of these. Others are refused, though they are valid elsewhere.',
  },
  oidcJwksUrl: {
    type: wordOr('discovery', url),
    default: 'discovery',
    help: 'Where oidc-issuer has its keys. discovery: where its /.well-known/openid-configuration says.',
  },
  oidcRolesClaim: {
    ...rolesClaim,
    help: 'The claim of tokens that has roles, a list or one text with blanks: grants such as reader:shop-*, or the names of auth-grants-file. One inside of others is written with dots, such as realm_access.roles.',
  },
  mcpUrl: {
    type: wordOr('auto', placeOfClients),
    default: 'auto',
    help: 'Where clients reach MCP. With oidc-issuer it is also the resource for which clients request their tokens. Behind a load balancer or a proxy, set the same URL on every node. auto: mcp-port at advertise-host.',
  },
  albSigner: {
    type: names,
    default: [],
    help: 'ARNs of the Application Load Balancers of AWS that say in X-Amzn-OIDC-Data who asks. none: the header is not looked at.',
  },
  albKeysUrl: {
    type: wordOr('region', url),
    default: 'region',
    help: 'Where the keys of alb-signer are; a slash and the name of a key are appended. region: where AWS has those of its region.',
  },
  albRolesClaim: { ...rolesClaim, help: 'As oidc-roles-claim, of what a load balancer of AWS passes on.' },
  signedHeader: {
    type: wordOr('none', headerName),
    default: 'none',
    help: 'A header in which a proxy says by a JSON Web Token who asks, such as X-Goog-IAP-JWT-Assertion.',
  },
  signedHeaderKeys: {
    type: wordOr('none', keysPlace),
    default: 'none',
    help: 'The keys that signed-header is signed with, such as https://www.gstatic.com/iap/verify/public_key-jwk. A file is read at the start.',
  },
  signedHeaderIssuer: {
    type: wordOr('none', plainText('a name', 2048)),
    default: 'none',
    help: 'What tokens of signed-header must name as iss, letter by letter.',
  },
  signedHeaderAudience: {
    type: names,
    default: [],
    help: 'What tokens of signed-header must be for (aud): any of these.',
  },
  signedHeaderRolesClaim: { ...rolesClaim, help: 'As oidc-roles-claim, of tokens of signed-header.' },
  authGrantsFile: {
    type: wordOr('none', plainText('a file', 4096)),
    default: 'none',
    help: 'A file with what each role of an identity provider may do, such as {"clerks": ["writer:shop-*"]}. Roles that do not stand there grant nothing then. none: roles are grants themselves. Read at the start.',
  },
  authExtractorModule: {
    type: wordOr('none', plainText('a file', 4096)),
    default: 'none',
    help: 'A module of JavaScript that finds out who asks in a way of its own; it exports createExtractor (docs/security.md). It runs in the node, and may do what that may. Loaded at the start.',
  },
};
