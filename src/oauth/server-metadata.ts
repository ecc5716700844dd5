/** Authorization server metadata (RFC 8414): the endpoints and capabilities that clients discover. */
import type { Config } from '../config.ts'
import type { Handler } from '../request-context.ts'
import { resourcePaths, resourceUrls } from './resources.ts'

const prefix = '/.well-known/oauth-authorization-server'

/** The paths of the document: at the root, and below the paths of the MCP endpoint, where older clients look. */
export const serverMetadataPaths = ['', ...resourcePaths].map((path) => `${prefix}${path}`)

/**
 * Serves the document, which is the same on every host and depends on the configuration only. `canFetchDocuments` says
 * whether to advertise client metadata documents: clients that see them advertised do not register.
 */
export function serverMetadata(
  config: Config,
  servedOrigins: readonly string[],
  canFetchDocuments: () => boolean,
): Handler {
  const [withoutDocuments, withDocuments] = [false, true].map((canFetch) =>
    JSON.stringify(metadata(config, servedOrigins, canFetch))
  )

  return function serverMetadata() {
    const document = canFetchDocuments() ? withDocuments : withoutDocuments
    return new Response(document, { headers: { 'Content-Type': 'application/json' } })
  }
}

function metadata({ appUrl: issuer, oauthDcr }: Config, servedOrigins: readonly string[], canFetchDocuments: boolean) {
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
    ...(canFetchDocuments && { client_id_metadata_document_supported: true }),
    protected_resources: resourceUrls(servedOrigins),
  }
}
