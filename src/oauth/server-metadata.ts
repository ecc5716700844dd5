/** Authorization server metadata (RFC 8414): what a client reads to learn where to sign in, and how. */
import type { Config } from '../config.ts'
import { corsHeaders, preflight } from '../lib/cors.ts'
import { resourcePaths, resourceUrls } from './resources.ts'

const prefix = '/.well-known/oauth-authorization-server'

/** Where the document is: at the root, and behind the paths of the endpoint, where older clients look. */
export const serverMetadataPaths = ['', ...resourcePaths].map((path) => `${prefix}${path}`)

/**
 * The document, the same on every host, from configuration alone. `areDocumentsRead` says whether clients may come
 * with the address of their own document: those that see it advertised use nothing else.
 */
export function serverMetadata(
  config: Config,
  servedOrigins: readonly string[],
  areDocumentsRead: () => boolean,
): (request: Request) => Response {
  const [without, withDocuments] = [false, true].map((read) => JSON.stringify(metadata(config, servedOrigins, read)))

  return function serverMetadata(request) {
    if (request.method === 'OPTIONS') return preflight('GET, OPTIONS')
    const document = areDocumentsRead() ? withDocuments : without
    return new Response(document, { headers: { 'Content-Type': 'application/json', ...corsHeaders } })
  }
}

function metadata({ appUrl: issuer, oauthDcr }: Config, servedOrigins: readonly string[], areDocumentsRead: boolean) {
  const authMethods = ['none', 'client_secret_post', 'client_secret_basic']
  return {
    issuer,
    authorization_endpoint: `${issuer}/oauth/authorize`,
    token_endpoint: `${issuer}/oauth/token`,
    ...(oauthDcr === 'on' && { registration_endpoint: `${issuer}/oauth/register` }),
    revocation_endpoint: `${issuer}/oauth/revoke`,
    response_types_supported: ['code'],
    response_modes_supported: ['query'],
    grant_types_supported: ['authorization_code', 'refresh_token'],
    code_challenge_methods_supported: ['S256'],
    token_endpoint_auth_methods_supported: authMethods,
    revocation_endpoint_auth_methods_supported: authMethods,
    scopes_supported: ['agent:use', 'admin', 'offline_access'],
    authorization_response_iss_parameter_supported: true,
    ...(areDocumentsRead && { client_id_metadata_document_supported: true }),
    protected_resources: resourceUrls(servedOrigins),
  }
}
