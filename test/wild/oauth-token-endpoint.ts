import { authorize, callback } from './oauth-addresses.ts'
import type { WildClient, WildRequest } from './wild.ts'

const register = (method: string): WildRequest => ({
  does: `registers with ${method}`,
  path: '/oauth/register',
  headers: { 'content-type': 'application/json' },
  body: { client_name: 'Client', redirect_uris: [callback], token_endpoint_auth_method: method },
  expect: {
    status: 201,
    keeps: method === 'none' ? { client: 'client_id' } : { client: 'client_id', secret: 'client_secret' },
  },
})
const signIn = { does: 'signs in', consent: authorize({}) }
const exchange = (does: string, basic: string, members: string, expected: WildRequest['expect']): WildRequest => ({
  does,
  path: '/oauth/token',
  headers: { 'content-type': 'application/x-www-form-urlencoded', authorization: `Basic ${basic}` },
  body: `grant_type=authorization_code&code=<code>&redirect_uri=${encodeURIComponent(callback)}&code_verifier=${
    'v'.repeat(64)
  }${members}`,
  expect: expected,
})
const token = { status: 200, body: { token_type: 'Bearer' } }

const client: WildClient = {
  client: 'credentials at the token endpoint, and a client that the grid does not know any more',
  seen: 'by hand',
  requests: [
    register('none'),
    signIn,
    exchange('a public client has an empty secret in its header', '<client>:', '', token),
    register('client_secret_basic'),
    signIn,
    exchange('a wrong secret does not burn the code', '<client>:wrong', '', {
      status: 401,
      body: { error: 'invalid_client' },
    }),
    exchange(
      'equal credentials are in the header and in the body',
      '<client>:<secret>',
      '&client_id=<client>&client_secret=<secret>',
      token,
    ),
    exchange('a client that was deleted', 'deleted:', '', { status: 401, body: { error: 'invalid_client' } }),
    {
      does: 'the page says what the person of a deleted client does',
      method: 'GET',
      path: authorize({ client_id: 'deleted' }),
      expect: { status: 400, body: 'In the program, sign out of this server, or remove it and add it again.' },
    },
  ],
}
export default client
