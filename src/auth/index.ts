/**
 * #auth: who asks.
 *
 * For: the chain of extractors that find out from the headers of a request, or the certificate of its connection, on
 * whose behalf it is made, the principals that they find, API keys, and tokens of identity providers. What a principal
 * may do is said by the grants that it has (#model) and by the one table of operations (#service, permissions.ts).
 *
 * Not here: HTTP, gRPC and MCP, which hand in headers and answer refusals in their own words; where keys are kept
 * (#database).
 *
 * Invariants:
 *   U1  A request is of one principal or is refused: the first extractor that finds a credential of its kind decides,
 *       and no other is asked behind a credential that is wrong.
 *   U2  A header that says who asks is sent once; twice is refused, whatever stands in it.
 *   U3  A refusal says that there is no credential, or that it is not valid, and nothing more.
 *   U4  No secret is kept but in the memory of whoever is identified by it, and no object that has one shows it when it
 *       is printed or written as JSON.
 *   U5  Nothing that a token says is believed before its signature is verified, by a key of whom the settings name and
 *       by an algorithm with two keys; where keys are is never for the token to say.
 */
export { issueKey } from './api-key.ts';
export { Authenticator, challenge } from './authenticator.ts';
export { basicExtractor } from './basic-extractor.ts';
export { type BootstrapKey, bootstrapExtractor, readBootstrapKey } from './bootstrap-key.ts';
export {
  type CertificateRule,
  CLIENT_CERT,
  certificateExtractor,
  clientCertOf,
} from './certificate-extractor.ts';
export { customExtractor } from './custom-extractor.ts';
export type { Credentials, Extractor, Found } from './extractor.ts';
export { type KnownKey, type KnownKeys, keyExtractor } from './key-extractor.ts';
export type { Principal } from './principal.ts';
export { readGrantsFile } from './tokens/grants-file.ts';
export { loadBalancerExtractor, signedHeaderExtractor } from './tokens/header-extractors.ts';
export type { GrantsOfRoles } from './tokens/identity.ts';
export type { KeySource, SourceParts } from './tokens/key-source.ts';
export { KeysByName } from './tokens/keys-by-name.ts';
export { oidcExtractor } from './tokens/oidc-extractor.ts';
export { readPemKey } from './tokens/pem-key.ts';
export { RemoteKeys } from './tokens/remote-keys.ts';
